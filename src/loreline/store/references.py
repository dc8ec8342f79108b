"""References: edges between entities, each once, with everything that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import apsw
from msgspec import Struct

from loreline.core.entities import Kind
from loreline.core.references import ReferenceType, SourceMethod


class End(Struct, frozen=True):
    """One end of an edge: a local entity, or where it would be found."""

    kind: Kind
    id: int | None = None
    project_path: str | None = None
    iid: int | None = None
    external: str | None = None


class Sighting(Struct, frozen=True):
    """An edge as one source shows it."""

    source: End
    target: End
    reference_type: ReferenceType
    relation: str
    origin_id: int
    seen_at: int | None
    changed_at: int | None = None
    """When the text took its present form, if that is later."""


def replace_sightings(
    db: apsw.Connection,
    instance_id: int,
    observer: tuple[Kind, int],
    methods: Iterable[SourceMethod],
    sightings: Iterable[tuple[SourceMethod, Sighting]],
) -> list[Sighting]:
    """Make these the sightings an entity's data gives by these methods; returns those that are new.

    What was seen before and no longer is goes, and an edge without any sighting left goes with it.
    """
    kind, local_id = observer
    before: set[tuple[str, int, int]] = set()
    for method in methods:
        before.update(
            db.execute(
                "SELECT source_method, origin_id, reference_id FROM reference_sources"
                " WHERE observer_type = ? AND observer_id = ? AND source_method = ?",
                (kind.value, local_id, method.value),
            ).fetchall()
        )
    fresh: list[Sighting] = []
    rows: list[tuple[object, ...]] = []
    now: set[tuple[str, int, int]] = set()
    for method, sighting in sightings:
        reference_id = _edge(db, instance_id, sighting)
        key = (method.value, sighting.origin_id, reference_id)
        if key in now:
            continue
        now.add(key)
        if key not in before:
            fresh.append(sighting)
            rows.append((kind.value, local_id, *key, sighting.relation, sighting.seen_at))
    db.executemany(
        "INSERT INTO reference_sources (observer_type, observer_id, source_method, origin_id, reference_id, relation,"
        " seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    stale = before - now
    if stale:
        db.executemany(
            "DELETE FROM reference_sources WHERE observer_type = ? AND observer_id = ? AND source_method = ?"
            " AND origin_id = ? AND reference_id = ?",
            [(kind.value, local_id, *key) for key in stale],
        )
        left = {key[2] for key in stale}
        _drop_unseen(db, left)
        _date_anew(db, left)
    return fresh


def _edge(db: apsw.Connection, instance_id: int, sighting: Sighting) -> int:
    source, target = sighting.source, sighting.target
    ends = (
        source.kind.value,
        source.id,
        None if source.id else source.project_path,
        None if source.id else source.iid,
        target.kind.value,
        target.id,
        None if target.id else target.project_path,
        None if target.id else target.iid,
        target.external,
        sighting.reference_type.value,
        instance_id,
    )
    row = db.execute(_FIND_EDGE, ends).fetchone()
    if row is None:
        db.execute(_NEW_EDGE, (*ends, sighting.seen_at))
        return cast(int, db.last_insert_rowid())
    if sighting.seen_at is not None and (row[1] is None or sighting.seen_at < row[1]):
        db.execute("UPDATE entity_references SET created_at = ? WHERE id = ?", (sighting.seen_at, row[0]))
    return cast(int, row[0])


# The columns and expressions of the unique index, so that it is used.
_FIND_EDGE = (
    "SELECT id, created_at FROM entity_references WHERE source_entity_type = ?1"
    " AND COALESCE(source_entity_id, -1) = COALESCE(?2, -1)"
    " AND lower(COALESCE(source_project_path, '')) = lower(COALESCE(?3, ''))"
    " AND COALESCE(source_entity_iid, -1) = COALESCE(?4, -1)"
    " AND target_entity_type = ?5 AND COALESCE(target_entity_id, -1) = COALESCE(?6, -1)"
    " AND lower(COALESCE(target_project_path, '')) = lower(COALESCE(?7, ''))"
    " AND COALESCE(target_entity_iid, -1) = COALESCE(?8, -1)"
    " AND COALESCE(external_key, '') = COALESCE(?9, '') AND reference_type = ?10 AND instance_id = ?11"
)
_NEW_EDGE = (
    "INSERT INTO entity_references (source_entity_type, source_entity_id, source_project_path, source_entity_iid,"
    " target_entity_type, target_entity_id, target_project_path, target_entity_iid, external_key, reference_type,"
    " instance_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _drop_unseen(db: apsw.Connection, reference_ids: Iterable[int]) -> None:
    db.executemany(
        "DELETE FROM entity_references WHERE id = ?"
        " AND NOT EXISTS (SELECT 1 FROM reference_sources WHERE reference_id = entity_references.id)",
        [(reference_id,) for reference_id in reference_ids],
    )


def _date_anew(db: apsw.Connection, reference_ids: Iterable[int]) -> None:
    """Edges that lost a source are as old as the oldest one left."""
    db.executemany(
        "UPDATE entity_references SET created_at = (SELECT min(seen_at) FROM reference_sources"
        " WHERE reference_id = entity_references.id) WHERE id = ?",
        [(reference_id,) for reference_id in reference_ids],
    )


def drop_unseen(db: apsw.Connection) -> None:
    """Forget edges that nothing shows, and what entities that are gone once showed."""
    for kind in Kind:
        db.execute(
            "DELETE FROM reference_sources WHERE observer_type = ?"
            f" AND NOT EXISTS (SELECT 1 FROM {kind.plural} e WHERE e.id = observer_id)",
            (kind.value,),
        )
    db.execute(
        "DELETE FROM entity_references"
        " WHERE NOT EXISTS (SELECT 1 FROM reference_sources WHERE reference_id = entity_references.id)"
    )


def entity_arrived(
    db: apsw.Connection, instance_id: int, kind: Kind, local_id: int, paths: Iterable[str], iid: int
) -> None:
    """Fill in the id of an end that edges have been waiting for, under whichever of the project's paths."""
    for path in paths:
        for end in ("source", "target"):
            waiting = db.execute(
                f"SELECT id FROM entity_references WHERE {end}_project_path = ? AND {end}_entity_iid = ?"
                f" AND {end}_entity_id IS NULL AND {end}_entity_type = ? AND instance_id = ?",
                (path, iid, kind.value, instance_id),
            ).fetchall()
            for (reference_id,) in waiting:
                _resolve(db, reference_id, end, local_id)


def path_arrived(db: apsw.Connection, instance_id: int, path: str, project_id: int) -> list[tuple[Kind, int, int]]:
    """The same for a path that only now is known to lead to a project; (kind, id, seen at) of what was mentioned."""
    mentioned = []
    for end, other in (("source", "target"), ("target", "source")):
        for kind in Kind:
            waiting = db.execute(
                f"SELECT r.id, e.id, r.created_at, r.{other}_entity_id IS e.id AND r.{other}_entity_type = ?1"
                f" FROM entity_references r JOIN {kind.plural} e ON e.project_id = ?2 AND e.iid = r.{end}_entity_iid"
                f" WHERE r.{end}_project_path = ?3 AND r.{end}_entity_id IS NULL AND r.{end}_entity_type = ?1"
                " AND r.instance_id = ?4",
                (kind.value, project_id, path, instance_id),
            ).fetchall()
            for reference_id, local_id, seen_at, itself in waiting:
                if itself:
                    db.execute("DELETE FROM entity_references WHERE id = ?", (reference_id,))
                    continue
                _resolve(db, reference_id, end, local_id)
                if end == "target" and seen_at is not None:
                    mentioned.append((kind, local_id, seen_at))
    return mentioned


def path_changed(db: apsw.Connection, instance_id: int, old_paths: Iterable[str], path: str) -> None:
    """Ends that are not mirrored stand under their project's present path, so that one relationship is one edge."""
    for end in ("source", "target"):
        for old in old_paths:
            waiting = db.execute(
                f"SELECT id FROM entity_references WHERE {end}_project_path = ? AND {end}_entity_id IS NULL"
                " AND instance_id = ?",
                (old, instance_id),
            ).fetchall()
            for (reference_id,) in waiting:
                _relocate(db, reference_id, end, path)


def _relocate(db: apsw.Connection, reference_id: int, end: str, path: str) -> None:
    relocated = f"UPDATE OR IGNORE entity_references SET {end}_project_path = ? WHERE id = ? RETURNING id"
    if db.execute(relocated, (path, reference_id)).fetchall():
        return
    other = "target" if end == "source" else "source"
    twin = db.execute(
        f"SELECT t.id FROM entity_references w JOIN entity_references t ON t.id <> w.id"
        f" AND t.{end}_entity_type = w.{end}_entity_type AND t.{end}_entity_id IS NULL AND t.{end}_project_path = ?"
        f" AND t.{end}_entity_iid = w.{end}_entity_iid AND t.{other}_entity_type = w.{other}_entity_type"
        f" AND t.{other}_entity_id IS w.{other}_entity_id AND t.{other}_project_path IS w.{other}_project_path"
        f" AND t.{other}_entity_iid IS w.{other}_entity_iid AND t.reference_type = w.reference_type"
        " AND t.instance_id = w.instance_id WHERE w.id = ?",
        (path, reference_id),
    ).fetchone()
    if twin is not None:
        _join(db, reference_id, twin[0])


def _join(db: apsw.Connection, reference_id: int, twin_id: int) -> None:
    """The sightings of an edge join those of its twin, and it goes."""
    db.execute(
        "UPDATE OR IGNORE reference_sources SET reference_id = ? WHERE reference_id = ?", (twin_id, reference_id)
    )
    db.execute(
        "UPDATE entity_references SET created_at = w.created_at FROM entity_references w"
        " WHERE entity_references.id = ? AND w.id = ?"
        " AND w.created_at < coalesce(entity_references.created_at, w.created_at + 1)",
        (twin_id, reference_id),
    )
    db.execute("DELETE FROM entity_references WHERE id = ?", (reference_id,))


def _resolve(db: apsw.Connection, reference_id: int, end: str, local_id: int) -> None:
    resolved = (
        f"UPDATE OR IGNORE entity_references SET {end}_entity_id = ?, {end}_project_path = NULL,"
        f" {end}_entity_iid = NULL WHERE id = ? RETURNING id"
    )
    if db.execute(resolved, (local_id, reference_id)).fetchall():
        return
    # The same edge is known by the id already (through another path of the project): its sightings join it.
    other = "target" if end == "source" else "source"
    twin = db.execute(
        f"SELECT t.id FROM entity_references w JOIN entity_references t ON t.{end}_entity_type = w.{end}_entity_type"
        f" AND t.{end}_entity_id = ? AND t.{other}_entity_type = w.{other}_entity_type"
        f" AND t.{other}_entity_id IS w.{other}_entity_id AND t.{other}_project_path IS w.{other}_project_path"
        f" AND t.{other}_entity_iid IS w.{other}_entity_iid AND t.reference_type = w.reference_type"
        " WHERE w.id = ?",
        (local_id, reference_id),
    ).fetchone()
    if twin is not None:
        _join(db, reference_id, twin[0])


def entity_deleted(db: apsw.Connection, kind: Kind, local_id: int, path: str, iid: int) -> None:
    """Forget what the entity itself showed; edges that others show keep its path and number instead of its id."""
    shown = db.execute(
        "DELETE FROM reference_sources WHERE observer_type = ? AND observer_id = ? RETURNING reference_id",
        (kind.value, local_id),
    ).fetchall()
    _drop_unseen(db, {row[0] for row in shown})
    for end, other in (("source", "target"), ("target", "source")):
        edges = db.execute(
            f"SELECT id, {other}_entity_id IS NULL FROM entity_references"
            f" WHERE {end}_entity_type = ? AND {end}_entity_id = ?",
            (kind.value, local_id),
        ).fetchall()
        for reference_id, nothing_local_left in edges:
            if nothing_local_left:
                db.execute("DELETE FROM entity_references WHERE id = ?", (reference_id,))
                continue
            changed = db.execute(
                f"UPDATE OR IGNORE entity_references SET {end}_entity_id = NULL, {end}_project_path = ?,"
                f" {end}_entity_iid = ? WHERE id = ? RETURNING id",
                (path, iid, reference_id),
            ).fetchall()
            if not changed:
                db.execute("DELETE FROM entity_references WHERE id = ?", (reference_id,))


def neighbours(db: apsw.Connection, kind: Kind, local_id: int) -> dict[tuple[Kind, int], str]:
    """The mirrored entities it is linked with, and by what: `closes` and `closed by`, `mentions`, `mentioned by`, …"""
    rows = db.execute(
        "SELECT target_entity_type, target_entity_id, reference_type, 0 FROM entity_references"
        " WHERE source_entity_type = ?1 AND source_entity_id = ?2 AND target_entity_id IS NOT NULL"
        " UNION ALL"
        " SELECT source_entity_type, source_entity_id, reference_type, 1 FROM entity_references"
        " WHERE target_entity_type = ?1 AND target_entity_id = ?2 AND source_entity_id IS NOT NULL",
        (kind.value, local_id),
    ).fetchall()
    found: dict[tuple[Kind, int], str] = {}
    for other, other_id, reference_type, inward in sorted(rows, key=lambda row: (_STRENGTH.index(row[2]), row[3])):
        found.setdefault((Kind(other), other_id), _SAID[reference_type][inward])
    return found


_STRENGTH = ("closes", "related", "mentioned")
_SAID = {
    "closes": ("closes", "closed by"),
    "related": ("related", "related"),
    "mentioned": ("mentions", "mentioned by"),
}
