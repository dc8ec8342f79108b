"""State, label and milestone events: replaced together, entity by entity."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from loreline.core.entities import LabelEvent, MilestoneEvent, StateEvent
from loreline.store import users
from loreline.store.entities import EntityKey, owner_column

_COMMON = "gitlab_id, project_id, actor_gitlab_id, actor_username, created_at"


def replace_state(db: apsw.Connection, entity: EntityKey, events: list[StateEvent]) -> None:
    owned = [(event.state, event.source_merge_request_id, event.source_commit) for event in events]
    _replace(
        db,
        entity,
        "resource_state_events",
        ("state", "source_merge_request_id", "source_commit"),
        events,
        owned,
    )


def replace_label(db: apsw.Connection, entity: EntityKey, events: list[LabelEvent]) -> None:
    owned = [(event.label_name, event.action) for event in events]
    _replace(db, entity, "resource_label_events", ("label_name", "action"), events, owned)


def replace_milestone(db: apsw.Connection, entity: EntityKey, events: list[MilestoneEvent]) -> None:
    owned = [(event.milestone_title, event.milestone_id, event.action) for event in events]
    _replace(db, entity, "resource_milestone_events", ("milestone_title", "milestone_id", "action"), events, owned)


def _replace(
    db: apsw.Connection,
    entity: EntityKey,
    table: str,
    own_columns: tuple[str, ...],
    events: Sequence[StateEvent | LabelEvent | MilestoneEvent],
    own_values: Sequence[tuple[object, ...]],
) -> None:
    owner = owner_column(entity.kind)
    db.execute(f"DELETE FROM {table} WHERE {owner} = ?", (entity.id,))
    columns = f"{owner}, {_COMMON}, {', '.join(own_columns)}"
    db.executemany(
        f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({', '.join('?' * (6 + len(own_columns)))})",
        [
            (
                entity.id,
                event.gitlab_id,
                entity.project_id,
                event.actor.gitlab_id if event.actor else None,
                event.actor.username if event.actor else None,
                event.created_at,
                *values,
            )
            for event, values in zip(events, own_values, strict=True)
        ],
    )
    users.upsert(db, entity.instance_id, (event.actor for event in events))
