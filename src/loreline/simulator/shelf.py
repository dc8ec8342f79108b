"""All issues or all merge requests of a project: stored ones below, edited and new ones above."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from loreline.simulator.copies import ID_STRIDE, Copy
from loreline.simulator.corpus import Corpus, Entity, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loreline.simulator.live import Live

_SELECTIONS_KEPT = 16


class Shelf:
    """Rows 0 to copies x stored are the corpus's, copy by copy; later rows were created here."""

    def __init__(self, corpus: Corpus, kind: Kind, copies: int, iid_stride: int) -> None:
        self.corpus = corpus
        self.kind = kind
        self.stored = corpus.entities[kind]
        self.copies = [Copy(number, iid_stride) for number in range(copies)]
        self.iid_stride = iid_stride
        self.live: dict[int, Live] = {}
        self.gone: set[int] = set()
        self.version = 0
        self._base_row = {entity.iid: row for row, entity in enumerate(self.stored)}
        self._created_row: dict[int, int] = {}
        self._rows = len(self.stored) * copies
        self._selections: dict[object, tuple[int, list[int]]] = {}

    def changed(self) -> None:
        """Let lists notice that a row came, went or has other columns."""
        self.version += 1

    def __len__(self) -> int:
        return self._rows - len(self.gone)

    def add(self, live: Live) -> int:
        row = self._rows
        self._rows += 1
        self.live[row] = live
        self._created_row[live.iid] = row
        self.changed()
        return row

    def row(self, iid: int) -> int | None:
        """Where an iid stands, unless it is gone or never was."""
        row = self._created_row.get(iid)
        if row is None:
            base = self._base_row.get(iid)
            number = 0
            if base is None and len(self.copies) > 1:
                number, rest = divmod(iid, self.iid_stride)
                if number < len(self.copies):
                    base = self._base_row.get(rest)
            if base is None:
                return None
            row = number * len(self.stored) + base
        return None if row in self.gone else row

    def origin(self, row: int) -> tuple[Entity, Copy]:
        """The stored entity a row comes from, and which copy of it the row is."""
        number, base = divmod(row, len(self.stored))
        return self.stored[base], self.copies[number]

    def is_created_here(self, row: int) -> bool:
        return row >= len(self.stored) * len(self.copies)

    def id(self, row: int) -> int:
        live = self.live.get(row)
        if live is not None:
            return live.id
        entity, copy = self.origin(row)
        return entity.id + copy.id_shift

    def iid(self, row: int) -> int:
        live = self.live.get(row)
        if live is not None:
            return live.iid
        entity, copy = self.origin(row)
        return entity.iid + copy.iid_shift

    def columns(self, row: int) -> Entity:
        """What to filter and order a row by; ids and iid are right only through `id` and `iid`."""
        live = self.live.get(row)
        return live.columns() if live is not None else self.stored[row % len(self.stored)]

    def bytes_of(self, row: int, *, listed: bool) -> bytes:
        """The stored JSON of a row that has not been edited."""
        entity, copy = self.origin(row)
        data = self.corpus.read(*(entity.listed if listed else entity.single))
        return copy.entity(data, entity.id, entity.iid) if copy.number else data

    def top_iid(self) -> int:
        tops = [live.iid for live in self.live.values()]
        if self.stored:
            tops.append(max(self._base_row) + self.iid_stride * (len(self.copies) - 1))
        return max(tops, default=0)

    def top_id(self) -> int:
        tops = [live.id for live in self.live.values()]
        if self.stored:
            tops.append(max(entity.id for entity in self.stored) + ID_STRIDE * (len(self.copies) - 1))
        return max(tops, default=0)

    def rows(self) -> Iterator[int]:
        """Every row that is there, by rising id."""
        return iter(self.selection("id", lambda entity: entity.id, ("all",), None))

    def selection(
        self,
        order: str,
        key: Callable[[Entity], Any],
        name: object,
        admits: Callable[[Entity, int], bool] | None,
    ) -> list[int]:
        """Rows that a filter admits, rising by key and then id; kept until something changes."""
        cached = self._selections.get((order, name))
        if cached is not None and cached[0] == self.version:
            return cached[1]
        if admits is None:
            rows = self._ordered(order, key)
        else:
            rows = [row for row in self.selection(order, key, ("all",), None) if admits(self.columns(row), row)]
        self._selections.pop((order, name), None)
        while len(self._selections) >= _SELECTIONS_KEPT:
            self._selections.pop(next(iter(self._selections)))
        self._selections[(order, name)] = (self.version, rows)
        return rows

    def _ordered(self, order: str, key: Callable[[Entity], Any]) -> list[int]:
        stored = sorted(range(len(self.stored)), key=lambda row: self.stored[row].id)
        rows = [copy.number * len(self.stored) + row for copy in self.copies for row in stored]
        rows.extend(range(len(self.stored) * len(self.copies), self._rows))
        if order != "id":
            keys = [key(entity) for entity in self.stored] * len(self.copies)
            keys.extend([None] * (self._rows - len(keys)))
            for row, live in self.live.items():
                keys[row] = key(live.columns())
            # Sorting is stable, so equal keys stay in the order of their ids.
            rows.sort(key=keys.__getitem__)
        if self.gone:
            rows = [row for row in rows if row not in self.gone]
        return rows

    def position_after(self, rows: list[int], order: str, key: Callable[[Entity], Any], bound: Any) -> int:
        """How many rows of a selection are not beyond a (key, id) bound."""
        if order == "id":
            return bisect_right(rows, bound, key=lambda row: (self.id(row), self.id(row)))
        return bisect_right(rows, bound, key=lambda row: (key(self.columns(row)), self.id(row)))
