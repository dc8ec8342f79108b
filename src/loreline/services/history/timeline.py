"""The timeline: from a question or one entity to everything that happened with it, in order."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec import Struct, structs

from loreline.core import happenings, snippets, walk
from loreline.core.documents import SourceType
from loreline.core.entities import Kind
from loreline.core.happenings import Event
from loreline.core.query import Filters
from loreline.core.references import EntityRef, ReferenceType, parse_reference
from loreline.core.walk import Node, Step
from loreline.errors import Ambiguous, InvalidValue, NotFound
from loreline.services.mirror import browse
from loreline.services.search import asking
from loreline.services.search import request as searching
from loreline.services.search.request import Hit
from loreline.services.search.session import Session
from loreline.store import graph
from loreline.store import happenings as stored
from loreline.store import hits as stored_hits
from loreline.store.happenings import Named

DEEPEST = 3
MOST_EVENTS = 1_000
_SEEDS = 10
_EVIDENCE = 10
_WORTH = 0.4
"""A seed says at least this part of what the best one says."""

_MOST_NODES = 300
"""So many entities are told of; what is nearest to the seeds comes first."""


class Request(Struct, frozen=True, kw_only=True):
    text: str
    projects: tuple[str, ...] = ()
    source_type: SourceType | None = None
    """Where to begin: with issues, or with merge requests."""
    depth: int = 1
    mentions: bool = False
    """Follow mentions, too."""
    since: int | None = None
    until: int | None = None
    limit: int = 100


class Timeline(Struct, frozen=True, kw_only=True):
    query: str
    mode: str
    """How the seeds were found: `hybrid`, `lexical`, or `reference`."""
    seeds: list[Node]
    steps: list[Step]
    """How the others were reached."""
    unresolved: list[walk.Edge]
    events: list[Event]
    names: dict[Node, Named]
    left_out: int
    """Events older than the first that is told."""
    warnings: list[str]


def timeline(session: Session, request: Request, now: int) -> Timeline:
    """What happened with what was asked for, oldest first."""
    if not 0 <= request.depth <= DEEPEST:
        raise InvalidValue(f"a depth of {request.depth} is out of range", hint=f"use 0 to {DEEPEST}")
    if not 1 <= request.limit <= MOST_EVENTS:
        raise InvalidValue(f"a limit of {request.limit} is out of range", hint=f"use 1 to {MOST_EVENTS}")
    ref = parse_reference(request.text)
    if ref is not None and (ref.kind is not None or request.text.strip().isdigit()):
        with session.reading(with_vectors=False) as reading:
            seed = _named(reading.db, ref, request)
            evidence = stored.first_notes(reading.db, seed, _EVIDENCE)
            return _told(reading.db, request, "reference", [seed], evidence, [])
    answer = asking.search(session, _question(request), now)
    hits = [hit for hit in answer.results if hit.exact or hit.score >= _WORTH * answer.results[0].score][:_SEEDS]
    with session.reading(with_vectors=False) as reading:
        entities = stored_hits.entities(reading.db, [hit.document_id for hit in hits])
        found = [
            (hit, Node(Kind(one.source_type.value), one.local_id))
            for hit in hits
            if (one := entities.get(hit.document_id)) is not None
        ]
        evidence = _evidence(reading.db, found)
        seeds = [node for _, node in found]
        return _told(reading.db, request, answer.mode.value, seeds, evidence, answer.warnings)


def _question(request: Request) -> searching.Request:
    filters = Filters(projects=request.projects, source_type=request.source_type)
    if request.source_type is SourceType.DISCUSSION:
        raise InvalidValue("a timeline begins with issues or merge requests", hint="--type issue, or --type mr")
    return searching.Request(text=request.text, filters=filters, limit=2 * _SEEDS, group=True)


def _named(db: apsw.Connection, ref: EntityRef, request: Request) -> Node:
    """The one entity a reference means."""
    wanted = browse.project_ids(db, request.projects)
    keys = [key for key in browse.meant(db, ref) if wanted is None or key.project_id in wanted]
    if not keys:
        raise NotFound(f"{request.text.strip()} is not mirrored", hint="run lore sync if it is new")
    nodes = [Node(key.kind, key.id) for key in keys]
    if len(nodes) > 1:
        paths = [name.reference for name in stored.named(db, nodes).values()]
        raise Ambiguous(
            f"{request.text.strip()} may be {', '.join(paths[:5])}", hint=f"name one: {paths[0]}", candidates=paths
        )
    return nodes[0]


def _evidence(db: apsw.Connection, found: Sequence[tuple[Hit, Node]]) -> list[tuple[Event, str]]:
    """The comments that say what was asked, best first."""
    wanted = dict.fromkeys(
        (node, snippet.note_id, snippet.text)
        for hit, node in found
        for snippet in (hit.snippet, *(thread.snippet for thread in hit.threads))
        if snippet.note_id is not None
    )
    told: dict[tuple[Node, int | None], tuple[Event, str]] = {}
    for node, note_id, text in wanted:
        known = stored.note(db, node, note_id) if note_id is not None else None
        if known is not None:
            told.setdefault((node, note_id), (known[0], text))
    return list(told.values())[:_EVIDENCE]


def _told(
    db: apsw.Connection,
    request: Request,
    mode: str,
    seeds: list[Node],
    evidence: Sequence[tuple[Event, str]],
    warnings: list[str],
) -> Timeline:
    types = [ReferenceType.CLOSES, ReferenceType.RELATED, *([ReferenceType.MENTIONED] if request.mentions else [])]
    walked = walk.expand(seeds, lambda nodes: graph.edges_of(db, nodes, types), request.depth)
    steps = walked.steps[: _MOST_NODES - len(seeds)]
    if len(steps) < len(walked.steps):
        warnings = [*warnings, f"{len(walked.steps) - len(steps)} more are linked, and left out: use a smaller --depth"]
    nodes = [*seeds, *(step.node for step in steps)]
    events = stored.of_entities(db, nodes)
    events += [structs.replace(event, what=snippets.cut(text, lambda _line: []).text) for event, text in evidence]
    ordered = happenings.interleave(events, request.since, request.until)
    shown = ordered[-request.limit :]
    spoken_of = {*nodes, *(event.cause for event in shown if event.cause is not None)}
    return Timeline(
        query=request.text,
        mode=mode,
        seeds=seeds,
        steps=steps,
        unresolved=walked.unresolved,
        events=shown,
        names=stored.named(db, sorted(spoken_of, key=lambda node: (node.kind.value, node.id))),
        left_out=len(ordered) - len(shown),
        warnings=warnings,
    )
