"""References as edges between entities, read in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from loreline.core.entities import Kind
from loreline.core.references import ReferenceType, SourceMethod
from loreline.core.walk import Edge, Node, Place
from loreline.store.arrays import bound

_METHODS = list(SourceMethod)


def edges_of(db: apsw.Connection, nodes: Sequence[Node], types: Sequence[ReferenceType]) -> list[Edge]:
    """All edges of these types at these entities: first those of the type that is named first."""
    order = [one.value for one in types]
    found: dict[int, Edge] = {}
    for kind in Kind:
        ids = [node.id for node in nodes if node.kind is kind]
        if not ids:
            continue
        for end in ("source", "target"):
            for row in db.execute(
                "SELECT r.id, r.reference_type, r.source_entity_type, r.source_entity_id, r.source_project_path,"
                " r.source_entity_iid, r.target_entity_type, r.target_entity_id, r.target_project_path,"
                " r.target_entity_iid, r.external_key,"
                " (SELECT group_concat(DISTINCT s.source_method) FROM reference_sources s WHERE s.reference_id = r.id)"
                f" FROM carray(?) c CROSS JOIN entity_references r ON r.{end}_entity_id = c.value"
                f" WHERE r.{end}_entity_type = ?",
                (bound(ids), kind.value),
            ):
                if row[1] in order:
                    found[row[0]] = _edge(row[1:])
    return [found[id_] for id_ in sorted(found, key=lambda id_: (order.index(found[id_].type.value), id_))]


def _edge(row: Sequence[Any]) -> Edge:
    type_, source_kind, source, source_path, source_iid, target_kind, target, target_path, target_iid, key, shown = row
    methods = sorted((SourceMethod(one) for one in shown.split(",")), key=_METHODS.index)
    return Edge(
        _end(source_kind, source, source_path, source_iid, None),
        _end(target_kind, target, target_path, target_iid, key),
        ReferenceType(type_),
        methods[0],
    )


def _end(kind: str, id_: int | None, path: str | None, iid: int | None, key: str | None) -> Node | Place:
    return Node(Kind(kind), id_) if id_ is not None else Place(Kind(kind), path, iid, key)
