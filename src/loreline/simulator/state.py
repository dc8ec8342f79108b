"""The true state of a project as a token may see it, for tests to compare a mirror with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from loreline.errors import InvalidValue
from loreline.simulator.api.exchange import Question
from loreline.simulator.api.subjects import all_threads, closing_issues, visible_threads
from loreline.simulator.corpus import KINDS, Kind
from loreline.simulator.tokens import DEFAULT_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loreline.simulator.place import Place
    from loreline.simulator.world import World

_EVENTS = ("resource_state_events", "resource_label_events", "resource_milestone_events")


def state_lines(world: World, project: str, token: str | None = None) -> Iterator[bytes]:
    """JSON lines `{"table": …, …}`: project, users, labels, milestones, then every visible entity.

    An entity's line has `kind`, `iid`, `entity` (the single GET's form), `discussions`, the three event
    lists and, for merge requests, `closes_issues`, `mr_diffs` and `mr_commits`. Raises InvalidValue.
    """
    with world.lock:
        place = world.place(project)
        seeing = world.tokens.get(token or DEFAULT_TOKEN)
    if seeing is None:
        raise InvalidValue("The simulator has no such token.")
    question = Question(world, seeing, "", "", [], "")
    return _lines(question, place)


def _lines(question: Question, place: Place) -> Iterator[bytes]:
    lock = question.world.lock
    with lock:
        small: list[dict[str, Any]] = [{"table": "projects", "item": place.fields}]
        for name in ("users", "labels", "milestones"):
            small.extend({"table": name, "item": item} for item in getattr(place, name).values())
        lines = [_line(item) for item in small]
    yield b"".join(lines)
    for kind in KINDS:
        with lock:
            rows = list(place.shelves[kind].rows()) if place.feature_enabled(kind) else []
        for row in rows:
            with lock:
                gone = row in place.shelves[kind].gone or not place.visible(kind, row, question.token)
                line = b"" if gone else _line(entity_state(question, place, kind, row))
            if line:
                yield line


def entity_state(question: Question, place: Place, kind: Kind, row: int) -> dict[str, Any]:
    shelf = place.shelves[kind]
    live = shelf.live.get(row)
    threads = all_threads(place, kind, row)
    state: dict[str, Any] = {
        "table": kind,
        "kind": kind,
        "iid": shelf.iid(row),
        "entity": msgspec.Raw(place.single(kind, row)),
        "discussions": visible_threads(question, place, kind, row, threads),
    }
    lists = _EVENTS if kind == "issues" else (*_EVENTS, "mr_diffs", "mr_commits")
    for name in lists:
        stored = live.items(name) if live else msgspec.Raw(place.stored_items(kind, row, name)[0])
        state[name] = stored
    if kind == "merge_requests":
        state["closes_issues"] = closing_issues(question, place, row)
    return state


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"
