"""What people do on a GitLab, each with the traces GitLab leaves of it.

Every edit is a function of a world; `apply_edit` runs one by its name.
"""

from __future__ import annotations

from loreline.simulator.edits.lifecycle import (
    assign,
    close,
    create_issue,
    create_merge_request,
    delete,
    edit_text,
    hide,
    move_issue,
    reopen,
    set_confidential,
)
from loreline.simulator.edits.merge_requests import (
    merge,
    push,
    rebase,
    set_closes,
    set_diffs,
    set_reviewers,
)
from loreline.simulator.edits.notes import add_note, delete_note, edit_note, hide_note, resolve_thread
from loreline.simulator.edits.operation import OPERATIONS, apply_edit
from loreline.simulator.edits.planning import (
    add_label,
    create_label,
    create_milestone,
    delete_label,
    delete_milestone,
    edit_label,
    edit_milestone,
    edit_user,
    remove_label,
    set_milestone,
)
from loreline.simulator.edits.projects import (
    archive_project,
    create_project,
    delete_project,
    hide_project,
    rename_project,
    set_feature,
)

__all__ = [
    "OPERATIONS",
    "add_label",
    "add_note",
    "apply_edit",
    "archive_project",
    "assign",
    "close",
    "create_issue",
    "create_label",
    "create_merge_request",
    "create_milestone",
    "create_project",
    "delete",
    "delete_label",
    "delete_milestone",
    "delete_note",
    "delete_project",
    "edit_label",
    "edit_milestone",
    "edit_note",
    "edit_text",
    "edit_user",
    "hide",
    "hide_note",
    "hide_project",
    "merge",
    "move_issue",
    "push",
    "rebase",
    "remove_label",
    "rename_project",
    "reopen",
    "resolve_thread",
    "set_closes",
    "set_confidential",
    "set_diffs",
    "set_feature",
    "set_milestone",
    "set_reviewers",
]
