"""One project of a simulated GitLab: its corpus below, what has been edited above."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import msgspec

from loreline.simulator.copies import ID_STRIDE
from loreline.simulator.corpus import KINDS, SUBJECTS, Corpus, Kind
from loreline.simulator.live import Live
from loreline.simulator.patches import Patches
from loreline.simulator.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loreline.simulator.tokens import Token


class _Numbered(msgspec.Struct):
    id: int


class _Thread(msgspec.Struct):
    notes: list[_Numbered]


class Place:
    """A project as the world keeps it. All of it is guarded by the world's lock."""

    def __init__(self, corpus: Corpus, copies: int = 1) -> None:
        self.corpus = corpus
        # A copy, because a corpus may serve more than one world.
        self.fields = copy.deepcopy(corpus.project)
        self.copies = copies
        self.hidden = False
        self.old_paths: list[str] = []
        self.users = {user["id"]: user for user in corpus.users}
        self.labels = {label["id"]: label for label in corpus.labels}
        self.milestones = {milestone["id"]: milestone for milestone in corpus.milestones}
        self.patches = Patches()
        top = max((entity.iid for kind in KINDS for entity in corpus.entities[kind]), default=0)
        # A round stride keeps the numbers of copies readable: 1_000_012 is #12 of copy 1.
        stride = 10 ** len(str(top))
        self.shelves: dict[Kind, Shelf] = {kind: Shelf(corpus, kind, copies, stride) for kind in KINDS}
        self.closes: dict[int, list[int | dict[str, Any]]] = {}

    @property
    def id(self) -> int:
        value: int = self.fields["id"]
        return value

    @property
    def path(self) -> str:
        value: str = self.fields["path_with_namespace"]
        return value

    @property
    def web_url(self) -> str:
        value: str = self.fields["web_url"]
        return value

    def feature_enabled(self, kind: Kind) -> bool:
        return bool(self.fields.get(f"{kind}_enabled", True))

    def visible(self, kind: Kind, row: int, token: Token) -> bool:
        """Whether a token may see the entity in a row that is there."""
        shelf = self.shelves[kind]
        live = shelf.live.get(row)
        if live is not None and live.hidden:
            return False
        return token.insider or not shelf.columns(row).confidential

    def single(self, kind: Kind, row: int) -> bytes:
        """The entity as GET of it alone returns it."""
        shelf = self.shelves[kind]
        live = shelf.live.get(row)
        if live is not None:
            return msgspec.json.encode(live.fields)
        return self._patched(shelf.bytes_of(row, listed=False))

    def listed(self, kind: Kind, row: int) -> bytes:
        """The entity as an element of a list."""
        shelf = self.shelves[kind]
        live = shelf.live.get(row)
        if live is not None:
            return msgspec.json.encode(live.listed())
        return self._patched(shelf.bytes_of(row, listed=True))

    def stored_items(self, kind: Kind, row: int, subject: str) -> tuple[bytes, int]:
        """A stored list of an entity that has not been edited, and how many items it has."""
        entity, copy = self.shelves[kind].origin(row)
        span = self.corpus.subjects[subject][kind].get(entity.iid)
        if span is None:
            return b"[]", 0
        data = self.corpus.read(span[0], span[1])
        if copy.number:
            data = copy.items(data, entity.iid)
        return self._patched(data), span[2]

    def closes_of(self, row: int) -> list[int | dict[str, Any]]:
        """Iids of the issues a merge request closes, and external issues as they are."""
        shelf = self.shelves["merge_requests"]
        live = shelf.live.get(row)
        if live is not None:
            return live.closes
        entity, copy = shelf.origin(row)
        return [iid + copy.iid_shift for iid in self.corpus.closes.get(entity.iid, ())]

    def thaw(self, kind: Kind, row: int) -> Live:
        """The entity in a form that can be edited."""
        shelf = self.shelves[kind]
        live = shelf.live.get(row)
        if live is not None:
            return live
        columns = shelf.columns(row)
        lists = {subject: msgspec.json.decode(self.stored_items(kind, row, subject)[0]) for subject in SUBJECTS}
        live = Live(
            kind=kind,
            fields=msgspec.json.decode(self.single(kind, row)),
            created=columns.created,
            updated=columns.updated,
            discussions=lists["discussions"],
            state_events=lists["resource_state_events"],
            label_events=lists["resource_label_events"],
            milestone_events=lists["resource_milestone_events"],
            commits=lists["mr_commits"],
            diffs=lists["mr_diffs"],
            closes=self.closes_of(row) if kind == "merge_requests" else [],
        )
        shelf.live[row] = live
        shelf.changed()
        return live

    def lay(self, patch: Patches) -> None:
        """Apply one new patch to everything that is held in memory."""
        for shelf in self.shelves.values():
            for live in shelf.live.values():
                live.fields = patch.apply(live.fields)
                live.discussions = patch.apply(live.discussions)
                live.state_events = patch.apply(live.state_events)
                live.label_events = patch.apply(live.label_events)
                live.milestone_events = patch.apply(live.milestone_events)
                live.forget_columns()
            shelf.changed()

    def top_ids(self, subject: str) -> int:
        """The highest id among the stored items of a subject, copies included."""
        thread_decoder = msgspec.json.Decoder(list[_Thread])
        item_decoder = msgspec.json.Decoder(list[_Numbered])
        top = 0
        for table in self.corpus.subjects[subject].values():
            for offset, length, _ in table.values():
                data = self.corpus.read(offset, length)
                items: Iterable[_Numbered] = (
                    (note for thread in thread_decoder.decode(data) for note in thread.notes)
                    if subject == "discussions"
                    else item_decoder.decode(data)
                )
                top = max(top, max((item.id for item in items), default=0))
        return top + ID_STRIDE * (self.copies - 1) if top else 0

    def _patched(self, data: bytes) -> bytes:
        if not self.patches:
            return data
        return msgspec.json.encode(self.patches.apply(msgspec.json.decode(data)))
