"""What a GitLab project is made of, as Loreline sees it: one frozen struct per concept.

Times are milliseconds since the epoch, UTC. Ids called `gitlab_id` are GitLab's global ones.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """The two kinds of entity; the value is what the database and robots call them."""

    ISSUE = "issue"
    MERGE_REQUEST = "merge_request"

    @property
    def plural(self) -> str:
        """The word GitLab's paths use."""
        return f"{self.value}s"

    @property
    def sigil(self) -> str:
        return "#" if self is Kind.ISSUE else "!"

    @property
    def noun(self) -> str:
        """The words people read."""
        return "issue" if self is Kind.ISSUE else "merge request"


class User(Struct, frozen=True):
    gitlab_id: int
    username: str
    name: str
    state: str | None = None
    web_url: str | None = None
    bot: bool | None = None


class Label(Struct, frozen=True):
    name: str
    gitlab_id: int | None = None
    color: str | None = None
    description: str | None = None


class Milestone(Struct, frozen=True):
    gitlab_id: int
    title: str
    iid: int | None = None
    group_id: int | None = None
    description: str | None = None
    state: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    start_date: str | None = None
    due_date: str | None = None
    web_url: str | None = None


class Project(Struct, frozen=True):
    gitlab_id: int
    path: str
    name: str
    web_url: str | None = None
    description: str | None = None
    default_branch: str | None = None
    visibility: str | None = None
    archived: bool = False
    issues_enabled: bool = True
    merge_requests_enabled: bool = True
    created_at: int | None = None
    last_activity_at: int | None = None


class Entity(Struct, frozen=True, kw_only=True):
    """What issues and merge requests share."""

    gitlab_id: int
    iid: int
    title: str
    description: str | None
    state: str
    author: User | None
    created_at: int
    updated_at: int
    closed_at: int | None
    closed_by: str | None
    web_url: str | None
    labels: tuple[str, ...]
    milestone: Milestone | None
    assignees: tuple[User, ...]
    user_notes_count: int
    upvotes: int
    downvotes: int
    discussion_locked: bool


class Issue(Entity, frozen=True, kw_only=True):
    confidential: bool
    issue_type: str | None
    severity: str | None
    weight: int | None
    due_date: str | None
    moved_to_id: int | None


class MergeRequest(Entity, frozen=True, kw_only=True):
    draft: bool
    source_branch: str
    target_branch: str
    source_project_id: int | None
    merged_at: int | None
    merged_by: str | None
    squash: bool
    head_sha: str | None
    merge_commit_sha: str | None
    squash_commit_sha: str | None
    prepared_at: int | None
    """When GitLab had worked out its diff, which happens some time after the push."""
    reviewers: tuple[User, ...]


class MergeRequestDetails(Struct, frozen=True):
    """What only the single GET of a merge request tells."""

    diff_base_sha: str | None
    diff_start_sha: str | None
    diff_head_sha: str | None
    changes_count: str | None


class NotePosition(Struct, frozen=True):
    """Where in a diff a note stands."""

    position_type: str
    base_sha: str | None
    start_sha: str | None
    head_sha: str | None
    old_path: str | None
    new_path: str | None
    old_line: int | None
    new_line: int | None
    start_old_line: int | None
    start_new_line: int | None


class Note(Struct, frozen=True):
    gitlab_id: int
    type: str | None
    body: str
    author: User | None
    created_at: int
    updated_at: int
    is_system: bool
    internal: bool
    resolvable: bool
    resolved: bool
    resolved_by: str | None
    resolved_at: int | None
    commit_id: str | None
    position: NotePosition | None


class Thread(Struct, frozen=True):
    """A GitLab discussion: one note, or a conversation."""

    gitlab_id: str
    individual_note: bool
    notes: tuple[Note, ...]


class StateEvent(Struct, frozen=True):
    gitlab_id: int
    state: str
    actor: User | None
    created_at: int
    source_commit: str | None
    source_merge_request_id: int | None
    """GitLab's global id of the merge request that caused the change, not its number."""


class LabelEvent(Struct, frozen=True):
    gitlab_id: int
    action: str
    label_name: str | None
    """None when the label has been deleted since."""
    actor: User | None
    created_at: int


class MilestoneEvent(Struct, frozen=True):
    gitlab_id: int
    action: str
    milestone_id: int | None
    milestone_title: str | None
    actor: User | None
    created_at: int


class FileChange(Struct, frozen=True):
    """A file a merge request touches; the text of the diff stays in the raw payload."""

    old_path: str | None
    new_path: str
    change_type: str
    a_mode: str | None
    b_mode: str | None
    added_lines: int | None
    removed_lines: int | None
    """Both None when GitLab withheld the text (too large, collapsed, binary)."""
    too_large: bool
    generated: bool


class Commit(Struct, frozen=True):
    sha: str
    title: str
    message: str | None
    author_name: str | None
    author_email: str | None
    authored_at: int | None
    committed_at: int | None
    parents: tuple[str, ...]


class ClosedIssue(Struct, frozen=True):
    """An issue that merging a merge request closes; `external` names one in another tracker."""

    gitlab_project_id: int | None = None
    project_path: str | None = None
    iid: int | None = None
    external: str | None = None
