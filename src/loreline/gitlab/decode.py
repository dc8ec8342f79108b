"""GitLab's bytes to our structs: decoding and nothing else. The same functions serve sync and replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from loreline.core import entities as core
from loreline.core.times import from_datetime
from loreline.core.untrusted import without_surrogates
from loreline.gitlab import wire

T = TypeVar("T")


class Undecodable(ValueError):
    """The body is not the JSON that GitLab's documentation promises."""


def check_list(body: bytes) -> int:
    """The number of items in what must be a list."""
    return len(_items(body))


def split_items(body: bytes) -> list[bytes]:
    """The JSON of each item of a list, byte for byte."""
    return [bytes(raw) for raw in _items(body)]


def _items(body: bytes) -> list[msgspec.Raw]:
    try:
        str(body, "utf-8")  # the items are not looked into here, but will be by whoever decodes them
        return _ITEMS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Undecodable(str(error)) from error


def repaired(body: bytes) -> bytes:
    """The body with its lone surrogates replaced, which no decoder of Unicode text accepts."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return without_surrogates(value)
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {without_surrogates(key): clean(item) for key, item in value.items()}
        return value

    try:
        return msgspec.json.encode(clean(json.loads(body.decode("utf-8", "surrogatepass"))))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Undecodable(str(error)) from error


def anything(body: bytes) -> object:
    return _decode(_ANYTHING, body)


def entity_id(body: bytes) -> int:
    """The global id of whatever object this is."""
    return _decode(_ID, body).id


def project(body: bytes) -> core.Project:
    item = _decode(_PROJECT, body)
    return core.Project(
        gitlab_id=item.id,
        path=item.path_with_namespace,
        name=item.name or item.path_with_namespace.rpartition("/")[2],
        web_url=item.web_url,
        description=item.description,
        default_branch=item.default_branch,
        visibility=item.visibility,
        archived=item.archived,
        issues_enabled=_enabled(item.issues_enabled, item.issues_access_level),
        merge_requests_enabled=_enabled(item.merge_requests_enabled, item.merge_requests_access_level),
        created_at=_ms(item.created_at),
        last_activity_at=_ms(item.last_activity_at),
    )


def issue(body: bytes) -> core.Issue:
    item = _decode(_ISSUE, body)
    return core.Issue(
        **_shared(item),
        confidential=bool(item.confidential),
        issue_type=item.issue_type,
        severity=item.severity,
        weight=item.weight,
        due_date=item.due_date,
        moved_to_id=item.moved_to_id,
    )


def merge_request(body: bytes) -> core.MergeRequest:
    item = _decode(_MERGE_REQUEST, body)
    merger = item.merge_user or item.merged_by
    return core.MergeRequest(
        **_shared(item),
        draft=bool(item.draft if item.draft is not None else item.work_in_progress),
        source_branch=item.source_branch or "",
        target_branch=item.target_branch or "",
        source_project_id=item.source_project_id,
        merged_at=_ms(item.merged_at),
        merged_by=merger.username if merger else None,
        squash=bool(item.squash),
        head_sha=item.sha,
        merge_commit_sha=item.merge_commit_sha,
        squash_commit_sha=item.squash_commit_sha,
        prepared_at=_ms(item.prepared_at),
        reviewers=tuple(_user(reviewer) for reviewer in item.reviewers or ()),
    )


def entity(kind: core.Kind, body: bytes) -> core.Issue | core.MergeRequest:
    return issue(body) if kind is core.Kind.ISSUE else merge_request(body)


class Listed(Struct, frozen=True):
    """A page of entities, each with its own JSON, and why others on it could not be read."""

    entities: list[tuple[core.Issue | core.MergeRequest, bytes]]
    broken: list[tuple[int, str]]
    """By number."""


def entities(kind: core.Kind, body: bytes) -> Listed:
    """The entities of a list. One that is not as GitLab documents it does not hide the others."""
    listed = Listed([], [])
    for item in split_items(body):
        try:
            listed.entities.append((entity(kind, item), item))
        except Undecodable as error:
            listed.broken.append((_decode(_NUMBER, item).iid, str(error)))
    return listed


class Patience:
    """Reads a list of entities, and takes unreadable ones for what GitLab means only when they come again and again."""

    _TRIES = 2

    def __init__(self, kind: core.Kind) -> None:
        self._kind = kind
        self._tried = 0

    def __call__(self, body: bytes) -> Listed:
        listed = entities(self._kind, body)
        if listed.broken and self._tried < self._TRIES:
            self._tried += 1
            raise Undecodable(listed.broken[0][1])
        self._tried = 0
        return listed


def merge_request_details(body: bytes) -> core.MergeRequestDetails:
    item = _decode(_DETAILS, body)
    refs = item.diff_refs or wire.DiffRefs()
    return core.MergeRequestDetails(refs.base_sha, refs.start_sha, refs.head_sha, item.changes_count)


def thread(body: bytes) -> core.Thread:
    item = _decode(_DISCUSSION, body)
    return core.Thread(item.id, item.individual_note, tuple(_note(note) for note in item.notes))


def thread_id(body: bytes) -> str:
    return _decode(_THREAD_ID, body).id


def state_events(body: bytes) -> list[core.StateEvent]:
    return [
        core.StateEvent(
            gitlab_id=item.id,
            state=item.state,
            actor=_user_or_none(item.user),
            created_at=from_datetime(item.created_at),
            source_commit=item.source_commit,
            source_merge_request_id=item.source_merge_request_id,
        )
        for item in _decode(_STATE_EVENTS, body)
    ]


def label_events(body: bytes) -> list[core.LabelEvent]:
    return [
        core.LabelEvent(
            gitlab_id=item.id,
            action=item.action,
            label_name=item.label.name if item.label else None,
            actor=_user_or_none(item.user),
            created_at=from_datetime(item.created_at),
        )
        for item in _decode(_LABEL_EVENTS, body)
    ]


def milestone_events(body: bytes) -> list[core.MilestoneEvent]:
    return [
        core.MilestoneEvent(
            gitlab_id=item.id,
            action=item.action,
            milestone_id=item.milestone.id if item.milestone else None,
            milestone_title=item.milestone.title if item.milestone else None,
            actor=_user_or_none(item.user),
            created_at=from_datetime(item.created_at),
        )
        for item in _decode(_MILESTONE_EVENTS, body)
    ]


def file_changes(body: bytes) -> list[core.FileChange]:
    return [_file_change(item) for item in _decode(_DIFFS, body)]


def commits(body: bytes) -> list[core.Commit]:
    return [
        core.Commit(
            sha=item.id,
            title=item.title or (item.message or "").split("\n", 1)[0],
            message=item.message,
            author_name=item.author_name,
            author_email=item.author_email,
            authored_at=_ms(item.authored_date),
            committed_at=_ms(item.committed_date),
            parents=tuple(item.parent_ids or ()),
        )
        for item in _decode(_COMMITS, body)
    ]


def closed_issues(body: bytes) -> list[core.ClosedIssue]:
    return [_closed_issue(item) for item in _decode(_CLOSED_ISSUES, body)]


def labels(body: bytes) -> list[core.Label]:
    return [_label(item) for item in _decode(_LABELS, body)]


def milestones(body: bytes) -> list[core.Milestone]:
    return [_milestone(item) for item in _decode(_MILESTONES, body)]


def users(body: bytes) -> list[core.User]:
    return [_user(item) for item in _decode(_USERS, body)]


def user(body: bytes) -> core.User:
    return _user(_decode(_USER, body))


def projects(body: bytes) -> list[core.Project]:
    return [project(item) for item in split_items(body)]


def token(body: bytes) -> wire.Token:
    return _decode(_TOKEN, body)


def version(body: bytes) -> str:
    return _decode(_VERSION, body).version


# The decoders are built once: building one costs more than using it.
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_ANYTHING = msgspec.json.Decoder()
_ID = msgspec.json.Decoder(wire.Id)
_NUMBER = msgspec.json.Decoder(wire.Number)
_PROJECT = msgspec.json.Decoder(wire.Project)
_ISSUE = msgspec.json.Decoder(wire.Issue)
_MERGE_REQUEST = msgspec.json.Decoder(wire.MergeRequest)
_DETAILS = msgspec.json.Decoder(wire.MergeRequestDetails)
_DISCUSSION = msgspec.json.Decoder(wire.Discussion)
_THREAD_ID = msgspec.json.Decoder(wire.DiscussionId)
_STATE_EVENTS = msgspec.json.Decoder(list[wire.StateEvent])
_LABEL_EVENTS = msgspec.json.Decoder(list[wire.LabelEvent])
_MILESTONE_EVENTS = msgspec.json.Decoder(list[wire.MilestoneEvent])
_DIFFS = msgspec.json.Decoder(list[wire.Diff])
_COMMITS = msgspec.json.Decoder(list[wire.Commit])
_CLOSED_ISSUES = msgspec.json.Decoder(list[wire.ClosedIssue])
_LABELS = msgspec.json.Decoder(list[wire.Label])
_MILESTONES = msgspec.json.Decoder(list[wire.Milestone])
_USERS = msgspec.json.Decoder(list[wire.User])
_USER = msgspec.json.Decoder(wire.User)
_TOKEN = msgspec.json.Decoder(wire.Token)
_VERSION = msgspec.json.Decoder(wire.Version)


def _decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # ValidationError is one too
        raise Undecodable(str(error)) from error


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else from_datetime(moment)


def _enabled(flag: bool | None, access_level: str | None) -> bool:
    """Old releases have only the flag, the level is the newer word."""
    if access_level is not None:
        return access_level != "disabled"
    return flag is not False


def _shared(item: wire.Entity) -> dict[str, Any]:
    assignees: Sequence[wire.User | None]
    assignees = item.assignees if item.assignees is not None else ([item.assignee] if item.assignee else [])
    return {
        "gitlab_id": item.id,
        "iid": item.iid,
        "title": item.title or "",
        "description": item.description,
        "state": item.state,
        "author": _user_or_none(item.author),
        "created_at": from_datetime(item.created_at),
        "updated_at": from_datetime(item.updated_at),
        "closed_at": _ms(item.closed_at),
        "closed_by": item.closed_by.username if item.closed_by else None,
        "web_url": item.web_url,
        "labels": tuple(dict.fromkeys(label if isinstance(label, str) else label.name for label in item.labels)),
        "milestone": _milestone(item.milestone) if item.milestone else None,
        "assignees": tuple(_user(assignee) for assignee in assignees if assignee),
        "user_notes_count": item.user_notes_count or 0,
        "upvotes": item.upvotes or 0,
        "downvotes": item.downvotes or 0,
        "discussion_locked": bool(item.discussion_locked),
    }


def _note(item: wire.Note) -> core.Note:
    resolver = item.resolved_by
    created_at = from_datetime(item.created_at)
    return core.Note(
        gitlab_id=item.id,
        type=item.type,
        body=item.body or "",
        author=_user_or_none(item.author),
        created_at=created_at,
        updated_at=from_datetime(item.updated_at) if item.updated_at else created_at,
        is_system=item.system,
        internal=bool(item.internal or item.confidential),
        resolvable=bool(item.resolvable),
        resolved=bool(item.resolved),
        resolved_by=resolver.username if isinstance(resolver, wire.User) else resolver,
        resolved_at=_ms(item.resolved_at),
        commit_id=item.commit_id,
        position=_position(item.position) if item.position else None,
    )


def _position(item: wire.Position) -> core.NotePosition:
    start = item.line_range.start if item.line_range else None
    return core.NotePosition(
        position_type=item.position_type,
        base_sha=item.base_sha,
        start_sha=item.start_sha,
        head_sha=item.head_sha,
        old_path=item.old_path,
        new_path=item.new_path,
        old_line=item.old_line,
        new_line=item.new_line,
        start_old_line=start.old_line if start else None,
        start_new_line=start.new_line if start else None,
    )


def _file_change(item: wire.Diff) -> core.FileChange:
    change_type = "modified"
    for flag, name in (
        (item.new_file, "added"),
        (item.deleted_file, "deleted"),
        (item.renamed_file, "renamed"),
    ):
        if flag:
            change_type = name
            break
    added = removed = None
    if item.diff:
        added = item.diff.count("\n+") + item.diff.startswith("+")
        removed = item.diff.count("\n-") + item.diff.startswith("-")
    return core.FileChange(
        old_path=None if item.new_file else item.old_path,
        new_path=item.new_path,
        change_type=change_type,
        a_mode=item.a_mode,
        b_mode=item.b_mode,
        added_lines=added,
        removed_lines=removed,
        too_large=bool(item.too_large or item.collapsed),
        generated=bool(item.generated_file),
    )


def _closed_issue(item: wire.ClosedIssue) -> core.ClosedIssue:
    if isinstance(item.id, str) or item.iid is None:
        return core.ClosedIssue(external=str(item.id))
    full = item.references.full if item.references else None
    path = full.rpartition("#")[0] if full else None
    return core.ClosedIssue(item.project_id, path or None, item.iid)


def _label(item: wire.Label) -> core.Label:
    return core.Label(item.name, item.id, item.color, item.description)


def _milestone(item: wire.Milestone) -> core.Milestone:
    return core.Milestone(
        gitlab_id=item.id,
        title=item.title,
        iid=item.iid,
        group_id=item.group_id,
        description=item.description,
        state=item.state,
        created_at=_ms(item.created_at),
        updated_at=_ms(item.updated_at),
        start_date=item.start_date,
        due_date=item.due_date,
        web_url=item.web_url,
    )


def _user(item: wire.User) -> core.User:
    return core.User(item.id, item.username, item.name or item.username, item.state, item.web_url, item.bot)


def _user_or_none(item: wire.User | None) -> core.User | None:
    return _user(item) if item else None
