"""How much of everything the mirror holds."""

from __future__ import annotations

import apsw

_BREAKDOWNS = {
    "issues": "SELECT state, count(*) FROM issues WHERE {} GROUP BY 1",
    "mrs": "SELECT state, count(*) FROM merge_requests WHERE {} GROUP BY 1",
    "discussions": (
        "SELECT CASE noteable_type WHEN 'Issue' THEN 'on_issues' ELSE 'on_merge_requests' END, count(*)"
        " FROM discussions WHERE {} GROUP BY 1"
    ),
    "notes": (
        "SELECT CASE WHEN is_system THEN 'by_gitlab' WHEN type = 'DiffNote' THEN 'on_diffs' ELSE 'comments' END,"
        " count(*) FROM notes WHERE {} GROUP BY 1"
    ),
    "events": (
        "SELECT 'state', count(*) FROM resource_state_events WHERE {0}"
        " UNION ALL SELECT 'label', count(*) FROM resource_label_events WHERE {0}"
        " UNION ALL SELECT 'milestone', count(*) FROM resource_milestone_events WHERE {0}"
    ),
    "references": (
        "SELECT r.reference_type || CASE WHEN r.source_entity_id IS NULL OR r.target_entity_id IS NULL"
        " THEN '_outside' ELSE '' END, count(*) FROM entity_references r WHERE {} GROUP BY 1"
    ),
}

THINGS = tuple(_BREAKDOWNS)

_REFERENCE_OF_PROJECT = (
    "(EXISTS (SELECT 1 FROM issues e WHERE e.project_id IN ({0}) AND ("
    "(r.source_entity_type = 'issue' AND r.source_entity_id = e.id)"
    " OR (r.target_entity_type = 'issue' AND r.target_entity_id = e.id)))"
    " OR EXISTS (SELECT 1 FROM merge_requests e WHERE e.project_id IN ({0}) AND ("
    "(r.source_entity_type = 'merge_request' AND r.source_entity_id = e.id)"
    " OR (r.target_entity_type = 'merge_request' AND r.target_entity_id = e.id))))"
)


def breakdown(db: apsw.Connection, thing: str, project_ids: tuple[int, ...] | None) -> dict[str, int]:
    """The count of each part, the largest first; together they are the whole."""
    condition = "1"
    if project_ids is not None:
        ids = ", ".join(str(int(project_id)) for project_id in project_ids)
        condition = _REFERENCE_OF_PROJECT.format(ids) if thing == "references" else f"project_id IN ({ids})"
    rows = db.execute(_BREAKDOWNS[thing].format(condition)).fetchall()
    return dict(sorted(((row[0], row[1]) for row in rows), key=lambda part: -part[1]))
