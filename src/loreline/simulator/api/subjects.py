"""What belongs to one issue or merge request: threads, notes, events, commits, diffs, closed issues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from loreline.simulator.api.entities import find
from loreline.simulator.api.exchange import Answer, Question, answer, not_found
from loreline.simulator.api.paging import (
    page_headers,
    page_of,
    refuse_keyset,
    stored_page,
    value_page,
)
from loreline.simulator.moments import parse_moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from loreline.simulator.corpus import Kind
    from loreline.simulator.place import Place


def _plain(subject: str, kind: Kind) -> Callable[[Question], Answer]:
    """A handler for a list that is served as it is stored."""

    def handler(question: Question) -> Answer:
        place, row = find(question, kind)
        refuse_keyset(question)
        live = place.shelves[kind].live.get(row)
        if live is not None:
            return value_page(question, live.items(subject))
        return stored_page(question, *place.stored_items(kind, row, subject))

    return handler


def _discussions(kind: Kind) -> Callable[[Question], Answer]:
    def handler(question: Question) -> Answer:
        place, row = find(question, kind)
        refuse_keyset(question)
        live = place.shelves[kind].live.get(row)
        if live is None and question.token.insider:
            return stored_page(question, *place.stored_items(kind, row, "discussions"))
        threads = all_threads(place, kind, row)
        # The page is cut first and notes are hidden afterwards, so it may come out short or empty.
        page = page_of(question)
        shown = visible_threads(question, place, kind, row, threads[page.start : page.end])
        return answer(shown, page_headers(question, page, len(threads)))

    return handler


def _discussion(kind: Kind) -> Callable[[Question], Answer]:
    def handler(question: Question) -> Answer:
        place, row = find(question, kind)
        wanted = question.segments[5]
        threads = visible_threads(question, place, kind, row, all_threads(place, kind, row))
        for thread in threads:
            if thread["id"] == wanted:
                return answer(thread)
        raise not_found("Discussion")

    return handler


def _notes(kind: Kind) -> Callable[[Question], Answer]:
    def handler(question: Question) -> Answer:
        place, row = find(question, kind)
        refuse_keyset(question)
        order = question.choice("order_by", ("created_at", "updated_at"), "created_at")
        descending = question.choice("sort", ("asc", "desc"), "desc") == "desc"
        shown = question.choice("activity_filter", ("all_notes", "only_comments", "only_activity"), "all_notes")
        notes = [note for thread in all_threads(place, kind, row) for note in thread["notes"]]
        if shown != "all_notes":
            notes = [note for note in notes if note["system"] == (shown == "only_activity")]
        notes.sort(key=lambda note: (parse_moment(note[order]), note["id"]), reverse=descending)
        page = page_of(question)
        may_see = _note_test(question, place, kind, row)
        body = [note for note in notes[page.start : page.end] if may_see(note)]
        return answer(body, page_headers(question, page, len(notes)))

    return handler


def _note(kind: Kind) -> Callable[[Question], Answer]:
    def handler(question: Question) -> Answer:
        place, row = find(question, kind)
        may_see = _note_test(question, place, kind, row)
        for thread in all_threads(place, kind, row):
            for note in thread["notes"]:
                if str(note["id"]) == question.segments[5] and may_see(note):
                    return answer(note)
        raise not_found("Note")

    return handler


def all_threads(place: Place, kind: Kind, row: int) -> list[dict[str, Any]]:
    live = place.shelves[kind].live.get(row)
    if live is not None:
        return live.discussions
    threads: list[dict[str, Any]] = msgspec.json.decode(place.stored_items(kind, row, "discussions")[0])
    return threads


def visible_threads(
    question: Question, place: Place, kind: Kind, row: int, threads: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    may_see = _note_test(question, place, kind, row)
    shown = ({**thread, "notes": [note for note in thread["notes"] if may_see(note)]} for thread in threads)
    return [thread for thread in shown if thread["notes"]]


def _note_test(question: Question, place: Place, kind: Kind, row: int) -> Callable[[dict[str, Any]], bool]:
    live = place.shelves[kind].live.get(row)
    hidden = live.hidden_notes if live is not None else set()
    insider = question.token.insider
    return lambda note: note["id"] not in hidden and (insider or not note.get("internal"))


def closes_issues(question: Question) -> Answer:
    place, row = find(question, "merge_requests")
    return value_page(question, closing_issues(question, place, row))


def closing_issues(question: Question, place: Place, row: int) -> list[Any]:
    """The issues a merge request closes that the token may see, as IssueBasic or ExternalIssue."""
    found: list[Any] = []
    shelf = place.shelves["issues"]
    for issue in place.closes_of(row):
        if isinstance(issue, dict):
            found.append(issue)
            continue
        issue_row = shelf.row(issue)
        if issue_row is None or not place.visible("issues", issue_row, question.token):
            continue
        fields: dict[str, msgspec.Raw] = msgspec.json.decode(
            place.listed("issues", issue_row), type=dict[str, msgspec.Raw]
        )
        found.append({name: value for name, value in fields.items() if name not in _BEYOND_BASIC})
    return found


# API::Entities::Issue adds these to IssueBasic, which closes_issues answers with.
_BEYOND_BASIC = frozenset(
    (
        "_links",
        "references",
        "severity",
        "subscribed",
        "moved_to_id",
        "service_desk_reply_to",
        "has_tasks",
        "task_status",
        "imported",
        "imported_from",
    )
)


def versions(question: Question) -> Answer:
    place, row = find(question, "merge_requests")
    live = place.shelves["merge_requests"].live.get(row)
    if live is not None and live.versions:
        return value_page(question, live.versions[::-1])
    fields = msgspec.json.decode(place.single("merge_requests", row))
    refs = fields.get("diff_refs")
    return value_page(question, [first_version(fields)] if refs else [])


def first_version(fields: dict[str, Any]) -> dict[str, Any]:
    """The only diff version of a merge request that nobody pushed to here."""
    refs = fields["diff_refs"]
    return {
        "id": fields["id"],
        "head_commit_sha": refs["head_sha"],
        "base_commit_sha": refs["base_sha"],
        "start_commit_sha": refs["start_sha"],
        "created_at": fields["created_at"],
        "merge_request_id": fields["id"],
        "state": "collected",
        "real_size": fields.get("changes_count") or "0",
        "patch_id_sha": None,
    }


_ISSUES = "projects/:/issues/:"
_MERGE_REQUESTS = "projects/:/merge_requests/:"
_EVENTS = ("resource_state_events", "resource_label_events", "resource_milestone_events")

ROUTES = {
    **{f"{_ISSUES}/{name}": _plain(name, "issues") for name in _EVENTS},
    **{f"{_MERGE_REQUESTS}/{name}": _plain(name, "merge_requests") for name in _EVENTS},
    f"{_ISSUES}/discussions": _discussions("issues"),
    f"{_ISSUES}/discussions/:": _discussion("issues"),
    f"{_ISSUES}/notes": _notes("issues"),
    f"{_ISSUES}/notes/:": _note("issues"),
    f"{_MERGE_REQUESTS}/discussions": _discussions("merge_requests"),
    f"{_MERGE_REQUESTS}/discussions/:": _discussion("merge_requests"),
    f"{_MERGE_REQUESTS}/notes": _notes("merge_requests"),
    f"{_MERGE_REQUESTS}/notes/:": _note("merge_requests"),
    f"{_MERGE_REQUESTS}/closes_issues": closes_issues,
    f"{_MERGE_REQUESTS}/commits": _plain("mr_commits", "merge_requests"),
    f"{_MERGE_REQUESTS}/diffs": _plain("mr_diffs", "merge_requests"),
    f"{_MERGE_REQUESTS}/versions": versions,
}
