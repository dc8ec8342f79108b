"""A timeline as robots get it, in the words of its seed document."""

from __future__ import annotations

from typing import Any

from loreline.core.happenings import Event, Happened
from loreline.core.times import to_iso
from loreline.core.walk import Edge, Node, Place
from loreline.services.history.timeline import Request, Timeline
from loreline.store.happenings import Named


def data(told: Timeline) -> dict[str, Any]:
    seeds = set(told.seeds)
    return {
        "query": told.query,
        "event_count": len(told.events),
        "seed_entities": [_entity(told.names[node]) for node in told.seeds],
        "expanded_entities": [
            _entity(told.names[step.node])
            | {
                "depth": step.depth,
                "via": {
                    "from": _entity(told.names[step.origin]),
                    "direction": "out" if step.edge.source == step.origin else "in",
                    "reference_type": step.edge.type.value,
                    "source_method": step.edge.method.value,
                },
            }
            for step in told.steps
        ],
        "unresolved_references": [_unresolved(edge, told.names) for edge in told.unresolved],
        "events": [_event(event, told.names, is_seed=event.node in seeds) for event in told.events],
    }


def meta(told: Timeline, request: Request) -> dict[str, Any]:
    return {
        "search_mode": told.mode,
        "expansion_depth": request.depth,
        "expand_mentions": request.mentions,
        "total_entities": len(told.seeds) + len(told.steps),
        "total_events": len(told.events) + told.left_out,
        "evidence_notes_included": sum(event.type is Happened.NOTE for event in told.events),
        "unresolved_references": len(told.unresolved),
        "truncated": told.left_out > 0,
    }


def _entity(name: Named) -> dict[str, Any]:
    return {"type": name.kind.value, "iid": name.iid, "project": name.project}


def _event(event: Event, names: dict[Node, Named], *, is_seed: bool) -> dict[str, Any]:
    name = names[event.node]
    told: dict[str, Any] = {
        "timestamp": to_iso(event.at),
        "entity_type": name.kind.value,
        "entity_iid": name.iid,
        "project": name.project,
        "event_type": event.type.value,
        "summary": summary(event, names),
        "actor": event.actor,
        "url": f"{name.url}#note_{event.note_id}" if name.url and event.note_id is not None else name.url,
        "is_seed": is_seed,
        "confidential": name.confidential,
    }
    details = _details(event, names)
    return told | ({"details": details} if details else {})


def _details(event: Event, names: dict[Node, Named]) -> dict[str, Any]:
    if event.type is Happened.CREATED:
        return {"labels": list(event.labels)} if event.labels else {}
    if event.type is Happened.NOTE:
        told = {"note_id": event.note_id, "snippet": event.what, "discussion_id": event.thread_id}
        return told | ({"path": event.path, "line": event.line} if event.path else {})
    if event.type is Happened.STATE:
        by = {"by": _entity(names[event.cause])} if event.cause in names else {}
        return {"state": event.what} | by | ({"commit": event.commit} if event.commit else {})
    if event.type in (Happened.LABEL_ADDED, Happened.LABEL_REMOVED):
        return {"label": event.what}
    if event.type in (Happened.MILESTONE_SET, Happened.MILESTONE_REMOVED):
        return {"milestone": event.what}
    return {}


def summary(event: Event, names: dict[Node, Named]) -> str:
    """One line of words."""
    name = names[event.node]
    match event.type:
        case Happened.CREATED | Happened.MERGED:
            return name.title
        case Happened.NOTE:
            return event.what or ""
        case Happened.LABEL_ADDED:
            return f"added ~{event.what or '(a deleted label)'}"
        case Happened.LABEL_REMOVED:
            return f"removed ~{event.what or '(a deleted label)'}"
        case Happened.MILESTONE_SET:
            return f"milestone %{event.what or '(a deleted one)'}"
        case Happened.MILESTONE_REMOVED:
            return f"milestone %{event.what or '(a deleted one)'} removed"
        case Happened.STATE:
            if event.cause in names:
                cause = names[event.cause]
                return f"{event.what} by {short(cause, name.project)}"
            return f"{event.what} by commit {event.commit[:12]}" if event.commit else f"{event.what}: {name.title}"


def short(name: Named, project: str) -> str:
    """As one says it within a project."""
    return name.reference.removeprefix(project) if name.project == project else name.reference


def _unresolved(edge: Edge, names: dict[Node, Named]) -> dict[str, Any]:
    """An edge of which one end is not mirrored: `source` and `target` as it points."""
    told: dict[str, Any] = {}
    for end, of in (("source", edge.source), ("target", edge.target)):
        if isinstance(of, Place):
            told |= {f"{end}_project": of.project, f"{end}_type": of.kind.value, f"{end}_iid": of.iid}
            told |= {"external_key": of.external} if of.external else {}
        else:
            told[end] = _entity(names[of]) if of in names else None
    return told | {"reference_type": edge.type.value, "source_method": edge.method.value}
