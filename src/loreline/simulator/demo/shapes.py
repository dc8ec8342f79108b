"""The JSON of GitLab's REST API, version 4."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any

from loreline.simulator.demo.diffs import FileDiff
from loreline.simulator.demo.people import BY_USERNAME, PEOPLE, Goal, LabelKind, Person, Project
from loreline.simulator.demo.records import NoteRecord, Place
from loreline.simulator.demo.repository import Built
from loreline.simulator.demo.story import Target
from loreline.simulator.mentions import WEB

Json = dict[str, Any]

# Before this moment milestones are due in the future: the day the demo's history was read.
READ_ON = "2025-01-02"


def timestamp(at: int) -> str:
    seconds, milliseconds = divmod(at, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def user(username: str) -> Json:
    person = BY_USERNAME[username]
    return {
        "id": PEOPLE.index(person) + 2,
        "username": username,
        "public_email": "",
        "name": person.name,
        "state": "active",
        "locked": False,
        "avatar_url": f"{WEB}/uploads/-/system/user/avatar/{username}.png",
        "web_url": f"{WEB}/{username}",
    }


def project_shape(project: Project, number: int, created: int, active: int, open_issues: int) -> Json:
    group, path = project.path.split("/")
    return {
        "id": number,
        "description": project.description,
        "name": project.name,
        "name_with_namespace": f"Northwind / {project.name}",
        "path": path,
        "path_with_namespace": project.path,
        "created_at": timestamp(created),
        "default_branch": "main",
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": f"git@gitlab.example.com:{project.path}.git",
        "http_url_to_repo": f"{WEB}/{project.path}.git",
        "web_url": f"{WEB}/{project.path}",
        "readme_url": f"{WEB}/{project.path}/-/blob/main/README.md",
        "avatar_url": None,
        "star_count": 0,
        "forks_count": 0,
        "last_activity_at": timestamp(active),
        "visibility": "private",
        "namespace": {
            "id": 1,
            "name": "Northwind",
            "path": group,
            "kind": "group",
            "full_path": group,
            "parent_id": None,
        },
        "archived": False,
        "issues_enabled": True,
        "merge_requests_enabled": True,
        "issues_access_level": "enabled",
        "merge_requests_access_level": "enabled",
        "open_issues_count": open_issues,
    }  # fmt: skip


def label_in_event(label: LabelKind, number: int) -> Json:
    return {
        "id": number,
        "name": label.name,
        "description": label.description,
        "description_html": label.description,
        "text_color": "#FFFFFF",
        "color": label.color,
        "archived": False,
    }


def label_shape(label: LabelKind, number: int, open_issues: int, closed_issues: int, open_requests: int) -> Json:
    return label_in_event(label, number) | {
        "subscribed": False,
        "priority": None,
        "is_project_label": True,
        "open_issues_count": open_issues,
        "closed_issues_count": closed_issues,
        "open_merge_requests_count": open_requests,
    }


def milestone_shape(goal: Goal, number: int, project: int, created: int, updated: int) -> Json:
    return {
        "id": number,
        "iid": goal.iid,
        "project_id": project,
        "title": goal.title,
        "description": goal.description,
        "state": goal.state,
        "created_at": timestamp(created),
        "updated_at": timestamp(updated),
        "due_date": goal.due,
        "start_date": goal.start,
        "expired": goal.due < READ_ON,
        "web_url": f"{WEB}/{goal.project}/-/milestones/{goal.iid}",
    }


def common_shape(target: Target, number: int, project: int, text: str) -> Json:
    """What issues and merge requests share and nobody in the stories changes."""
    short = target.reference_from(target.project)
    boxes = re.findall(r"^\s*- \[([ x])\] ", text, re.MULTILINE)
    return {
        "id": number,
        "iid": target.iid,
        "project_id": project,
        "downvotes": 0,
        "discussion_locked": None,
        "time_stats": {
            "time_estimate": 0,
            "total_time_spent": 0,
            "human_time_estimate": None,
            "human_total_time_spent": None,
        },
        "task_completion_status": {"count": len(boxes), "completed_count": boxes.count("x")},
        "imported": False,
        "imported_from": "none",
        "web_url": f"{WEB}/{target.project}/-/{target.kind}/{target.iid}",
        "references": {"short": short, "relative": short, "full": f"{target.project}{short}"},
    }


def issue_links(target: Target, project: int, duplicate_of: int | None) -> Json:
    api = f"{WEB}/api/v4/projects/{project}"
    own = f"{api}/issues/{target.iid}"
    return {
        "self": own,
        "notes": f"{own}/notes",
        "award_emoji": f"{own}/award_emoji",
        "project": api,
        "closed_as_duplicate_of": None if duplicate_of is None else f"{api}/issues/{duplicate_of}",
    }


def note_shape(record: NoteRecord, number: int, noteable: int, project: int, body: str) -> Json:
    request = record.target.kind == "merge_requests"
    resolvable = request and record.kind is not None and not record.system
    note: Json = {
        "id": number,
        "type": record.kind,
        "body": body,
        "attachment": None,
        "author": user(record.by),
        "created_at": timestamp(record.at),
        "updated_at": timestamp(record.at),
        "system": record.system,
        "noteable_id": noteable,
        "noteable_type": "MergeRequest" if request else "Issue",
        "project_id": project,
        "resolvable": resolvable,
        "confidential": record.internal,
        "internal": record.internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": record.target.iid,
        "commands_changes": {},
    }
    if record.place is not None:
        note |= {"commit_id": None, "position": _position(record.place)}
    if resolvable:
        by, at = record.resolved or (None, None)
        note |= {
            "resolved": by is not None,
            "resolved_by": None if by is None else user(by),
            "resolved_at": None if at is None else timestamp(at),
        }
    return note


def _position(place: Place) -> Json:
    line = place.line
    end = {
        "line_code": line.line_code,
        "type": "new" if line.old_line is None else "old" if line.new_line is None else None,
        "old_line": line.old_line,
        "new_line": line.new_line,
    }
    return {
        "base_sha": place.base,
        "start_sha": place.start,
        "head_sha": place.head,
        "old_path": line.old_path,
        "new_path": line.new_path,
        "position_type": "text",
        "old_line": line.old_line,
        "new_line": line.new_line,
        "line_range": {"start": end, "end": end},
    }


def discussion_id(target: Target, thread: str) -> str:
    return hashlib.sha1(f"{target.project} {target.kind} {target.iid} {thread}".encode()).hexdigest()


def commit_shape(built: Built, parents: list[str], project: str) -> Json:
    person: Person = BY_USERNAME[built.author]
    at = timestamp(built.at).replace("Z", "+00:00")
    return {
        "id": built.sha,
        "short_id": built.sha[:8],
        "created_at": at,
        "parent_ids": parents,
        "title": built.message.splitlines()[0],
        "message": built.message + "\n",
        "author_name": person.name,
        "author_email": person.email,
        "authored_date": at,
        "committer_name": person.name,
        "committer_email": person.email,
        "committed_date": at,
        "trailers": {},
        "extended_trailers": {},
        "web_url": f"{WEB}/{project}/-/commit/{built.sha}",
    }


def diff_shape(diff: FileDiff) -> Json:
    return {
        "diff": diff.text,
        "new_path": diff.new_path,
        "old_path": diff.old_path,
        "a_mode": "0" if diff.new_file else diff.mode,
        "b_mode": "0" if diff.deleted_file else diff.mode,
        "new_file": diff.new_file,
        "renamed_file": diff.renamed_file,
        "deleted_file": diff.deleted_file,
        "generated_file": False,
        "collapsed": False,
        "too_large": False,
    }
