"""GitLab's JSON as it comes, by the entities of its source; only what we read, new fields pass by.

Everything that some release leaves out has a default. `datetime` fields are checked while decoding.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Id(Struct, frozen=True):
    id: int


class Number(Struct, frozen=True):
    iid: int


class User(Struct, frozen=True):
    id: int
    username: str
    name: str = ""
    state: str | None = None
    web_url: str | None = None
    bot: bool | None = None


class Label(Struct, frozen=True):
    name: str
    id: int | None = None
    color: str | None = None
    description: str | None = None


class Milestone(Struct, frozen=True):
    id: int
    title: str
    iid: int | None = None
    group_id: int | None = None
    description: str | None = None
    state: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    start_date: str | None = None
    due_date: str | None = None
    web_url: str | None = None


class Project(Struct, frozen=True):
    id: int
    path_with_namespace: str
    name: str = ""
    web_url: str | None = None
    description: str | None = None
    default_branch: str | None = None
    visibility: str | None = None
    archived: bool = False
    issues_enabled: bool | None = None
    merge_requests_enabled: bool | None = None
    issues_access_level: str | None = None
    merge_requests_access_level: str | None = None
    created_at: datetime | None = None
    last_activity_at: datetime | None = None


class Entity(Struct, frozen=True, kw_only=True):
    id: int
    iid: int
    title: str | None = None
    description: str | None = None
    state: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    closed_by: User | None = None
    author: User | None = None
    web_url: str | None = None
    labels: list[str | Label] = []
    milestone: Milestone | None = None
    assignee: User | None = None
    assignees: list[User | None] | None = None
    user_notes_count: int | None = None
    upvotes: int | None = None
    downvotes: int | None = None
    discussion_locked: bool | None = None


class Issue(Entity, frozen=True, kw_only=True):
    confidential: bool | None = None
    issue_type: str | None = None
    severity: str | None = None
    weight: int | None = None
    due_date: str | None = None
    moved_to_id: int | None = None


class DiffRefs(Struct, frozen=True):
    base_sha: str | None = None
    start_sha: str | None = None
    head_sha: str | None = None


class MergeRequest(Entity, frozen=True, kw_only=True):
    draft: bool | None = None
    work_in_progress: bool | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    source_project_id: int | None = None
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_user: User | None = None
    squash: bool | None = None
    sha: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    prepared_at: datetime | None = None
    reviewers: list[User] | None = None


class MergeRequestDetails(Struct, frozen=True):
    id: int
    iid: int
    diff_refs: DiffRefs | None = None
    changes_count: str | None = None


class LinePoint(Struct, frozen=True):
    old_line: int | None = None
    new_line: int | None = None


class LineRange(Struct, frozen=True):
    start: LinePoint | None = None
    end: LinePoint | None = None


class Position(Struct, frozen=True):
    position_type: str = "text"
    base_sha: str | None = None
    start_sha: str | None = None
    head_sha: str | None = None
    old_path: str | None = None
    new_path: str | None = None
    old_line: int | None = None
    new_line: int | None = None
    line_range: LineRange | None = None


class Note(Struct, frozen=True):
    id: int
    created_at: datetime
    body: str | None = None
    type: str | None = None
    author: User | None = None
    updated_at: datetime | None = None
    system: bool = False
    resolvable: bool | None = None
    resolved: bool | None = None
    resolved_by: User | str | None = None
    resolved_at: datetime | None = None
    confidential: bool | None = None
    internal: bool | None = None
    commit_id: str | None = None
    position: Position | None = None


class DiscussionId(Struct, frozen=True):
    id: str


class Discussion(Struct, frozen=True):
    id: str
    individual_note: bool = False
    notes: list[Note] = []


class StateEvent(Struct, frozen=True):
    id: int
    state: str
    created_at: datetime
    user: User | None = None
    source_commit: str | None = None
    source_merge_request_id: int | None = None


class LabelEvent(Struct, frozen=True):
    id: int
    action: str
    created_at: datetime
    user: User | None = None
    label: Label | None = None


class MilestoneEvent(Struct, frozen=True):
    id: int
    action: str
    created_at: datetime
    user: User | None = None
    milestone: Milestone | None = None


class Diff(Struct, frozen=True):
    new_path: str
    old_path: str | None = None
    diff: str | None = None
    a_mode: str | None = None
    b_mode: str | None = None
    new_file: bool = False
    renamed_file: bool = False
    deleted_file: bool = False
    collapsed: bool | None = None
    too_large: bool | None = None
    generated_file: bool | None = None


class Commit(Struct, frozen=True):
    id: str
    title: str | None = None
    message: str | None = None
    author_name: str | None = None
    author_email: str | None = None
    authored_date: datetime | None = None
    committed_date: datetime | None = None
    parent_ids: list[str] | None = None


class IssueReferences(Struct, frozen=True):
    full: str | None = None


class ClosedIssue(Struct, frozen=True):
    id: int | str
    iid: int | None = None
    project_id: int | None = None
    references: IssueReferences | None = None


class Token(Struct, frozen=True):
    name: str | None = None
    scopes: list[str] = []
    expires_at: str | None = None
    active: bool | None = None
    revoked: bool | None = None


class Version(Struct, frozen=True):
    version: str
