"""Small corpora, written the way the real ones are."""

import json

import zstandard

AUTHOR = {
    "id": 7,
    "username": "ada",
    "name": "Ada",
    "state": "active",
    "locked": False,
    "avatar_url": "https://gitlab.example.com/ada.png",
    "web_url": "https://gitlab.example.com/ada",
}
BUG = {
    "id": 1,
    "name": "bug",
    "description": None,
    "description_html": "",
    "text_color": "#FFFFFF",
    "color": "#FF0000",
    "archived": False,
}


def project(number=1, path="team/app"):
    above, _, name = path.rpartition("/")
    return {
        "id": number,
        "description": None,
        "name": name,
        "name_with_namespace": path.replace("/", " / "),
        "path": name,
        "path_with_namespace": path,
        "created_at": "2024-01-01T00:00:00.000Z",
        "default_branch": "main",
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": f"git@gitlab.example.com:{path}.git",
        "http_url_to_repo": f"https://gitlab.example.com/{path}.git",
        "web_url": f"https://gitlab.example.com/{path}",
        "star_count": 0,
        "forks_count": 0,
        "last_activity_at": "2024-01-01T00:00:00.000Z",
        "visibility": "private",
        "namespace": {"id": 10 * number, "name": above, "path": above, "kind": "group", "full_path": above},
        "archived": False,
        "issues_enabled": True,
        "merge_requests_enabled": True,
    }


def issue(iid, *, day=1, **fields):
    moment = f"2024-03-{day:02d}T10:00:00.000Z"
    return {
        "id": 1000 + iid,
        "iid": iid,
        "project_id": 1,
        "title": f"Issue {iid}",
        "description": "",
        "created_at": moment,
        "updated_at": moment,
        "state": "opened",
        "closed_at": None,
        "labels": ["bug"] if iid % 2 else [],
        "milestone": None,
        "assignees": [],
        "author": AUTHOR,
        "assignee": None,
        "user_notes_count": 0,
        "upvotes": 0,
        "downvotes": 0,
        "due_date": None,
        "confidential": False,
        "web_url": f"https://gitlab.example.com/team/app/-/issues/{iid}",
        "references": {"short": f"#{iid}", "relative": f"#{iid}", "full": f"team/app#{iid}"},
        **fields,
    }


def note(number, iid, body="Hello", *, kind="Issue", **fields):
    return {
        "id": number,
        "type": None,
        "body": body,
        "attachment": None,
        "author": AUTHOR,
        "created_at": "2024-03-01T11:00:00.000Z",
        "updated_at": "2024-03-01T11:00:00.000Z",
        "system": False,
        "noteable_id": 1000 + iid,
        "noteable_type": kind,
        "project_id": 1,
        "resolvable": False,
        "confidential": False,
        "internal": False,
        "noteable_iid": iid,
        "commands_changes": {},
        **fields,
    }


def thread(number, iid, **fields):
    return {"id": f"{number:040x}", "individual_note": True, "notes": [note(number, iid, **fields)]}


def write(folder, *, compressed=True, **tables):
    """Write tables as files of JSON lines; a project is added where none is given."""
    folder.mkdir(parents=True, exist_ok=True)
    tables.setdefault("project", [project()])
    for name, rows in tables.items():
        data = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode()
        if compressed:
            (folder / f"{name}.jsonl.zst").write_bytes(zstandard.compress(data))
        else:
            (folder / f"{name}.jsonl").write_bytes(data)
    return folder


def small(folder, issues=5, **tables):
    """Five issues, one with three threads and a label event; the user ada and the label bug."""
    event = {
        "id": 50,
        "user": AUTHOR,
        "created_at": "2024-03-01T10:30:00.000Z",
        "resource_type": "Issue",
        "resource_id": 1001,
        "label": BUG,
        "action": "add",
    }
    rows = {
        "users": [AUTHOR],
        "labels": [BUG],
        "issues": [issue(iid, day=1 + iid % 28) for iid in range(1, issues + 1)],
        "discussions": [{"kind": "issues", "iid": 1, "items": [thread(n, 1) for n in (101, 102, 103)]}],
        "resource_label_events": [{"kind": "issues", "iid": 1, "items": [event]}],
        **tables,
    }
    return write(folder, **rows)
