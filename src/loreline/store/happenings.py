"""What happened to entities, from the tables of each kind of event."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec import Struct

from loreline.core.entities import Kind
from loreline.core.happenings import Event, Happened
from loreline.core.walk import Node
from loreline.store import listing
from loreline.store.arrays import bound
from loreline.store.entities import owner_column


class Named(Struct, frozen=True):
    """An entity as it is spoken of."""

    kind: Kind
    project: str
    iid: int
    title: str
    state: str
    author: str | None
    url: str | None
    confidential: bool

    @property
    def reference(self) -> str:
        return f"{self.project}{self.kind.sigil}{self.iid}"


def named(db: apsw.Connection, nodes: Sequence[Node]) -> dict[Node, Named]:
    """Those that are mirrored."""
    found: dict[Node, Named] = {}
    for kind in Kind:
        confidential = "e.confidential" if kind is Kind.ISSUE else "0"
        for id_, path, iid, title, state, author, url, hidden in db.execute(
            f"SELECT e.id, p.path_with_namespace, e.iid, e.title, e.state, e.author_username, e.web_url, {confidential}"
            f" FROM carray(?) c CROSS JOIN {kind.plural} e ON e.id = c.value JOIN projects p ON p.id = e.project_id",
            (_ids(nodes, kind),),
        ):
            found[Node(kind, id_)] = Named(kind, path, iid, title, state, author, url, bool(hidden))
    return found


def of_entities(db: apsw.Connection, nodes: Sequence[Node]) -> list[Event]:
    """Creations, merges, and all that GitLab keeps as events."""
    events: list[Event] = []
    for kind in Kind:
        ids = _ids(nodes, kind)
        merged = "e.merged_at, e.merged_by" if kind is Kind.MERGE_REQUEST else "NULL, NULL"
        for id_, created_at, author, merged_at, merger in db.execute(
            f"SELECT e.id, e.created_at, e.author_username, {merged}"
            f" FROM carray(?) c CROSS JOIN {kind.plural} e ON e.id = c.value",
            (ids,),
        ):
            node = Node(kind, id_)
            labels = tuple(listing.labels(db, kind, id_))
            events.append(Event(node=node, at=created_at, type=Happened.CREATED, actor=author, labels=labels))
            if merged_at is not None:
                events.append(Event(node=node, at=merged_at, type=Happened.MERGED, actor=merger))
        events += _states(db, kind, ids)
        events += _added_and_removed(
            db, kind, ids, "resource_label_events", "label_name", Happened.LABEL_ADDED, Happened.LABEL_REMOVED
        )
        events += _added_and_removed(
            db, kind, ids, "resource_milestone_events", "milestone_title", Happened.MILESTONE_SET,
            Happened.MILESTONE_REMOVED,
        )  # fmt: skip
    return events


def note(db: apsw.Connection, node: Node, note_id: int) -> tuple[Event, str] | None:
    """A comment on an entity by GitLab's id, with its whole text."""
    row = db.execute(
        "SELECT n.created_at, n.author_username, n.body, d.gitlab_discussion_id, coalesce(s.new_path, s.old_path),"
        f" coalesce(s.new_line, s.old_line) FROM {node.kind.plural} e"
        " JOIN notes n ON n.project_id = e.project_id AND n.gitlab_id = ?2"
        f" JOIN discussions d ON d.id = n.discussion_id AND d.{owner_column(node.kind)} = e.id"
        " LEFT JOIN note_positions s ON s.note_id = n.id WHERE e.id = ?1 AND NOT n.is_system",
        (node.id, note_id),
    ).fetchone()
    return (_note(node, note_id, *row[:2], *row[3:]), row[2]) if row is not None else None


def first_notes(db: apsw.Connection, node: Node, most: int) -> list[tuple[Event, str]]:
    """The comments on an entity that open its threads, the longest threads first."""
    rows = db.execute(
        "SELECT n.gitlab_id, n.created_at, n.author_username, d.gitlab_discussion_id,"
        " coalesce(s.new_path, s.old_path), coalesce(s.new_line, s.old_line), n.body FROM discussions d"
        " JOIN notes n ON n.discussion_id = d.id LEFT JOIN note_positions s ON s.note_id = n.id"
        f" WHERE d.{owner_column(node.kind)} = ? AND NOT n.is_system AND n.position ="
        " (SELECT min(o.position) FROM notes o WHERE o.discussion_id = d.id AND NOT o.is_system)"
        " ORDER BY (SELECT count(*) FROM notes o WHERE o.discussion_id = d.id) DESC, length(n.body) DESC, n.id LIMIT ?",
        (node.id, most),
    ).fetchall()
    return [(_note(node, *row[:-1]), row[-1]) for row in rows]


def _note(
    node: Node, note_id: int, at: int, author: str | None, thread: str, path: str | None, line: int | None
) -> Event:
    return Event(
        node=node, at=at, type=Happened.NOTE, actor=author, note_id=note_id, thread_id=thread, path=path, line=line
    )


def _states(db: apsw.Connection, kind: Kind, ids: apsw.carray) -> list[Event]:
    column = owner_column(kind)
    return [
        Event(
            node=Node(kind, id_),
            at=at,
            type=Happened.STATE,
            actor=actor,
            what=state,
            cause=Node(Kind.MERGE_REQUEST, cause) if cause is not None else None,
            commit=commit,
        )
        for id_, at, actor, state, cause, commit in db.execute(
            # The causing merge request is named by GitLab's id, which is the same in all projects of an instance.
            f"SELECT v.{column}, v.created_at, v.actor_username, v.state,"
            " (SELECT m.id FROM merge_requests m JOIN projects q ON q.id = m.project_id"
            "   WHERE m.gitlab_id = v.source_merge_request_id AND q.instance_id = p.instance_id), v.source_commit"
            f" FROM carray(?) c CROSS JOIN resource_state_events v ON v.{column} = c.value"
            " JOIN projects p ON p.id = v.project_id",
            (ids,),
        )
    ]


def _added_and_removed(
    db: apsw.Connection, kind: Kind, ids: apsw.carray, table: str, name: str, added: Happened, removed: Happened
) -> list[Event]:
    column = owner_column(kind)
    return [
        Event(node=Node(kind, id_), at=at, type=added if action == "add" else removed, actor=actor, what=what)
        for id_, at, actor, action, what in db.execute(
            f"SELECT v.{column}, v.created_at, v.actor_username, v.action, v.{name}"
            f" FROM carray(?) c CROSS JOIN {table} v ON v.{column} = c.value",
            (ids,),
        )
    ]


def _ids(nodes: Sequence[Node], kind: Kind) -> apsw.carray:
    return bound(node.id for node in nodes if node.kind is kind)
