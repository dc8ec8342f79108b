"""Discussions, their notes and where in a diff these stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import apsw
from msgspec import Struct

from loreline.core.entities import Kind, Note, NotePosition, Thread
from loreline.store import users
from loreline.store.entities import EntityKey, owner_column

_NOTEABLE = {Kind.ISSUE: "Issue", Kind.MERGE_REQUEST: "MergeRequest"}
_DISCUSSION = (
    "INSERT INTO discussions (id, gitlab_discussion_id, project_id, issue_id, merge_request_id, noteable_type,"
    " individual_note, position, first_note_at, last_note_at, resolvable, resolved, content_hash)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_DISCUSSION = (
    " ON CONFLICT (id) DO UPDATE SET"
    " issue_id = excluded.issue_id, merge_request_id = excluded.merge_request_id,"
    " noteable_type = excluded.noteable_type, individual_note = excluded.individual_note,"
    " position = excluded.position, first_note_at = excluded.first_note_at, last_note_at = excluded.last_note_at,"
    " resolvable = excluded.resolvable, resolved = excluded.resolved, content_hash = excluded.content_hash"
)
_NOTE = (
    "INSERT INTO notes (gitlab_id, discussion_id, project_id, type, author_gitlab_id, author_username, body,"
    " created_at, updated_at, position, is_system, internal, resolvable, resolved, resolved_by, resolved_at,"
    " commit_id, raw_payload_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (project_id, gitlab_id) DO UPDATE SET discussion_id = excluded.discussion_id,"
    " type = excluded.type, author_gitlab_id = excluded.author_gitlab_id,"
    " author_username = excluded.author_username, body = excluded.body, created_at = excluded.created_at,"
    " updated_at = excluded.updated_at, position = excluded.position, is_system = excluded.is_system,"
    " internal = excluded.internal, resolvable = excluded.resolvable, resolved = excluded.resolved,"
    " resolved_by = excluded.resolved_by, resolved_at = excluded.resolved_at, commit_id = excluded.commit_id,"
    " raw_payload_id = excluded.raw_payload_id"
)
_POSITION = (
    "INSERT OR REPLACE INTO note_positions (note_id, position_type, base_sha, start_sha, head_sha, old_path,"
    " new_path, old_line, new_line, start_old_line, start_new_line)"
    " SELECT id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 FROM notes WHERE project_id = ?1 AND gitlab_id = ?2"
)


class ThreadRow(Struct, frozen=True):
    """A thread to write, with its place in the entity and the hash of its JSON."""

    thread: Thread
    position: int
    content_hash: bytes
    raw_payload_id: int


class Stored(Struct, frozen=True):
    """A thread as it was written last."""

    id: int
    content_hash: bytes
    position: int


def stored(db: apsw.Connection, entity: EntityKey) -> dict[str, Stored]:
    """An entity's threads by GitLab's id."""
    rows = db.execute(
        "SELECT gitlab_discussion_id, id, content_hash, position FROM discussions"
        f" WHERE {owner_column(entity.kind)} = ?",
        (entity.id,),
    )
    return {row[0]: Stored(row[1], row[2], row[3]) for row in rows}


def write(
    db: apsw.Connection, entity: EntityKey, rows: list[ThreadRow], before: Mapping[str, Stored], gone: list[int]
) -> int:
    """Insert or replace these threads of an entity and remove those that are gone; the number of notes written.

    `before` is what `stored` told.
    """
    # One writer at a time: the next free ids are ours, and all threads go in with one statement.
    next_id = db.execute("SELECT coalesce(max(id), 0) + 1 FROM discussions").fetchone()[0]
    thread_values, note_values, positions = [], [], []
    for row in rows:
        known = before.get(row.thread.gitlab_id)
        thread_id = known.id if known else next_id
        next_id += known is None
        thread_values.append(_thread_values(entity, thread_id, row))
        for place, note in enumerate(row.thread.notes):
            note_values.append(_note_values(entity, thread_id, place, note, row.raw_payload_id))
            if note.position is not None:
                positions.append((entity.project_id, note.gitlab_id, *_position_values(note.position)))
    db.executemany(_DISCUSSION + (_UPDATE_DISCUSSION if before else ""), thread_values)
    _drop_old_notes(db, rows, before)
    db.executemany(_NOTE, note_values)
    db.executemany(_POSITION, positions)
    if gone:
        # A note that went on to another thread has been moved by now, so no living note falls with its old one.
        db.executemany("DELETE FROM discussions WHERE id = ?", [(thread_id,) for thread_id in gone])
    users.upsert(db, entity.instance_id, (note.author for row in rows for note in row.thread.notes))
    return len(note_values)


def move(db: apsw.Connection, positions: Iterable[tuple[int, int]]) -> None:
    """(thread id, new position): unchanged threads among which others came or went."""
    db.executemany("UPDATE discussions SET position = ?2 WHERE id = ?1", list(positions))


def told_by(db: apsw.Connection, thread_id: int, payload_id: int) -> None:
    """The answer in which an unchanged thread stands now."""
    db.execute(
        "UPDATE notes SET raw_payload_id = ?2 WHERE discussion_id = ?1 AND raw_payload_id IS NOT ?2",
        (thread_id, payload_id),
    )


Text = tuple[int, bool, str, int, int]
"""GitLab's id of a note, whether GitLab wrote it, its body, when, and when it was last changed."""


def texts(db: apsw.Connection, entity: EntityKey) -> Iterator[Text]:
    """Every note that may name an entity, oldest first."""
    yield from db.execute(
        "SELECT n.gitlab_id, n.is_system, n.body, n.created_at, n.updated_at"
        " FROM discussions d JOIN notes n ON n.discussion_id = d.id"
        f" WHERE d.{owner_column(entity.kind)} = ? AND (instr(n.body, '#') OR instr(n.body, '!')"
        " OR instr(n.body, ':') OR instr(n.body, 'GL-')) ORDER BY n.created_at, n.gitlab_id",
        (entity.id,),
    ).fetchall()


def _drop_old_notes(db: apsw.Connection, rows: list[ThreadRow], before: Mapping[str, Stored]) -> None:
    """Of threads that are written again: notes they no longer have, and the places of those that may have moved."""
    for row in rows:
        thread = before.get(row.thread.gitlab_id)
        if thread is None:
            continue
        keep = {note.gitlab_id for note in row.thread.notes}
        notes = db.execute("SELECT id, gitlab_id FROM notes WHERE discussion_id = ?", (thread.id,)).fetchall()
        db.executemany("DELETE FROM note_positions WHERE note_id = ?", [(note_id,) for note_id, _ in notes])
        db.executemany("DELETE FROM notes WHERE id = ?", [(note_id,) for note_id, known in notes if known not in keep])


def _thread_values(entity: EntityKey, thread_id: int, row: ThreadRow) -> tuple[object, ...]:
    thread = row.thread
    resolvable = [note for note in thread.notes if note.resolvable]
    return (
        thread_id,
        thread.gitlab_id,
        entity.project_id,
        entity.id if entity.kind is Kind.ISSUE else None,
        entity.id if entity.kind is Kind.MERGE_REQUEST else None,
        _NOTEABLE[entity.kind],
        thread.individual_note,
        row.position,
        min(note.created_at for note in thread.notes),
        max(note.created_at for note in thread.notes),
        bool(resolvable),
        bool(resolvable) and all(note.resolved for note in resolvable),
        row.content_hash,
    )


def _note_values(entity: EntityKey, thread_id: int, place: int, note: Note, raw_payload_id: int) -> tuple[object, ...]:
    return (
        note.gitlab_id,
        thread_id,
        entity.project_id,
        note.type,
        note.author.gitlab_id if note.author else None,
        note.author.username if note.author else None,
        note.body,
        note.created_at,
        note.updated_at,
        place,
        note.is_system,
        note.internal,
        note.resolvable,
        note.resolved,
        note.resolved_by,
        note.resolved_at,
        note.commit_id,
        raw_payload_id,
    )


def _position_values(position: NotePosition) -> tuple[object, ...]:
    return (
        position.position_type,
        position.base_sha,
        position.start_sha,
        position.head_sha,
        position.old_path,
        position.new_path,
        position.old_line,
        position.new_line,
        position.start_old_line,
        position.start_new_line,
    )
