"""What GitLab knows against what the mirror holds, row for row.

The truth comes from the simulator as JSON, and is decoded here by hand: nothing of `loreline.gitlab` or
`loreline.store` is used, so that a fault there cannot hide itself.
"""

import contextlib
import hashlib
import json
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import apsw

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SHOWN = 12


class Truth:
    """What a token may see of some projects of one instance."""

    def __init__(self, base_url, states):
        self.base_url = base_url
        self.projects = {}
        for lines in states:
            project = {"users": {}, "labels": {}, "milestones": {}, "issues": {}, "merge_requests": {}}
            for line in lines:
                row = json.loads(line)
                table = row["table"]
                if table == "projects":
                    project["item"] = row["item"]
                elif table in ("issues", "merge_requests"):
                    project[table][row["iid"]] = row
                else:
                    project[table][row["item"]["id"]] = row["item"]
            self.projects[project["item"]["id"]] = project

    @property
    def origins(self):
        found = {_origin(self.base_url)}
        found.update(_origin(project["item"]["web_url"]) for project in self.projects.values())
        return found

    def kinds(self, project):
        return [kind for kind in ("issues", "merge_requests") if project["item"].get(f"{kind}_enabled", True)]


def differences(database, truth, *, labels_settled=True, queue_empty=True, references=True):
    """Everything in which the mirror is not the truth, as sentences; empty when they are equal."""
    with contextlib.closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        found = soundness(db, queue_empty=queue_empty)
        instance = _one(db, "SELECT id FROM instances WHERE base_url = ?", truth.base_url)
        if instance is None:
            return [*found, f"no instance {truth.base_url}"]
        seen_users = {}
        for number, project in truth.projects.items():
            local = _one(
                db, "SELECT id FROM projects WHERE instance_id = ? AND gitlab_project_id = ?", instance, number
            )
            if local is None:
                found.append(f"project {project['item']['path_with_namespace']} is not mirrored")
                continue
            found += _project(db, local, project)
            found += _catalog(db, local, project, labels_settled=labels_settled)
            for kind in truth.kinds(project):
                found += _entities(db, local, project, kind, seen_users)
            seen_users.update(project["users"])
        found += _users(db, instance, truth, seen_users)
        if references:
            found += _references(db, instance, truth)
        return found


def check(database, truth, **how):
    """Raise with the first differences, if there are any."""
    found = differences(database, truth, **how)
    if found:
        more = f"\n… and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        raise AssertionError("the mirror differs from GitLab:\n" + "\n".join(found[:_MOST_SHOWN]) + more)


# ── what must hold of any mirror ────────────────────────────────────────────────────────────────────────


def soundness(db, *, queue_empty=True):
    found = []
    integrity = [row[0] for row in db.execute("PRAGMA integrity_check")]
    if integrity != ["ok"]:
        found.append(f"integrity_check: {integrity[:3]}")
    found += [f"foreign_key_check: {row}" for row in db.execute("PRAGMA foreign_key_check")]
    for told, sql in _NEVER.items():
        rows = db.execute(sql).fetchall()
        if rows:
            found.append(f"{told}: {len(rows)}, such as {rows[0]}")
    if queue_empty:
        rows = db.execute(
            "SELECT entity_type, entity_iid, job_type, attempts, last_error FROM pending_dependent_fetches"
        ).fetchall()
        if rows:
            found.append(f"{len(rows)} jobs are still queued, such as {rows[0]}")
    return found


_PAYLOAD_OF = {
    kind: f"SELECT p.resource_type, p.gitlab_id FROM raw_payloads p WHERE p.resource_type GLOB '{kind}*'"
    f" AND NOT EXISTS (SELECT 1 FROM {kind}s e WHERE e.project_id = p.project_id AND e.gitlab_id = p.gitlab_id)"
    for kind in ("issue", "merge_request")
}
_NEVER = {
    "raw bodies nobody uses": "SELECT id FROM raw_bodies WHERE id NOT IN (SELECT body_id FROM raw_payloads)",
    "payloads of issues that are gone": _PAYLOAD_OF["issue"],
    "payloads of merge requests that are gone": _PAYLOAD_OF["merge_request"],
    "issues without payload": "SELECT iid FROM issues WHERE raw_payload_id IS NULL OR raw_payload_id NOT IN"
    " (SELECT id FROM raw_payloads)",
    "merge requests without payload": "SELECT iid FROM merge_requests WHERE raw_payload_id IS NULL OR raw_payload_id"
    " NOT IN (SELECT id FROM raw_payloads)",
    "notes without payload": "SELECT gitlab_id FROM notes WHERE raw_payload_id IS NULL OR raw_payload_id NOT IN"
    " (SELECT id FROM raw_payloads)",
    "references without source": "SELECT * FROM entity_references WHERE id NOT IN"
    " (SELECT reference_id FROM reference_sources)",
    "sources whose observer is gone": "SELECT observer_type, observer_id FROM reference_sources WHERE"
    " (observer_type = 'issue' AND observer_id NOT IN (SELECT id FROM issues)) OR"
    " (observer_type = 'merge_request' AND observer_id NOT IN (SELECT id FROM merge_requests))",
    "references to ids that are gone": " UNION ALL ".join(
        f"SELECT id, {end}_entity_id FROM entity_references WHERE {end}_entity_type = '{kind}' AND {end}_entity_id"
        f" IS NOT NULL AND {end}_entity_id NOT IN (SELECT id FROM {kind}s)"
        for end in ("source", "target")
        for kind in ("issue", "merge_request")
    ),
    "jobs of entities that are gone": "SELECT * FROM pending_dependent_fetches WHERE"
    " (entity_type = 'issue' AND entity_local_id NOT IN (SELECT id FROM issues)) OR"
    " (entity_type = 'merge_request' AND entity_local_id NOT IN (SELECT id FROM merge_requests))",
    "threads without notes": "SELECT gitlab_discussion_id FROM discussions WHERE id NOT IN"
    " (SELECT discussion_id FROM notes)",
    "tombstones of the living": "SELECT * FROM tombstones t WHERE"
    " (entity_type = 'issue' AND EXISTS (SELECT 1 FROM issues e WHERE (e.project_id, e.gitlab_id) ="
    " (t.project_id, t.gitlab_id))) OR (entity_type = 'merge_request' AND EXISTS (SELECT 1 FROM merge_requests e"
    " WHERE (e.project_id, e.gitlab_id) = (t.project_id, t.gitlab_id)))",
    "entities the change feed does not tell of": "SELECT 'issue', id FROM issues WHERE NOT EXISTS (SELECT 1 FROM"
    " changes WHERE entity_type = 'issue' AND entity_id = issues.id AND operation = 'upsert') UNION ALL"
    " SELECT 'merge_request', id FROM merge_requests WHERE NOT EXISTS (SELECT 1 FROM changes WHERE"
    " entity_type = 'merge_request' AND entity_id = merge_requests.id AND operation = 'upsert')",
    "the dead alive in the change feed": "SELECT entity_type, entity_id FROM changes WHERE operation = 'upsert' AND"
    " entity_id NOT IN (SELECT id FROM issues UNION ALL SELECT id FROM merge_requests)",
    "a lease nobody gave back": "SELECT owner, pid FROM sync_lease",
    "runs that never ended": "SELECT id FROM sync_runs WHERE status = 'running'",
}


# ── projects and what they list ─────────────────────────────────────────────────────────────────────────


def _project(db, local, project):
    item = project["item"]
    wanted = {
        "path_with_namespace": item["path_with_namespace"],
        "name": item["name"],
        "description": item.get("description"),
        "default_branch": item.get("default_branch"),
        "web_url": item["web_url"],
        "visibility": item.get("visibility"),
        "archived": int(item.get("archived") or False),
        "issues_enabled": int(item.get("issues_enabled", True)),
        "merge_requests_enabled": int(item.get("merge_requests_enabled", True)),
        "created_at": _ms(item.get("created_at")),
        "updated_at": _ms(item.get("last_activity_at")),
    }
    stored = _row(db, f"SELECT {', '.join(wanted)} FROM projects WHERE id = ?", local)
    found = _fields(f"project {item['path_with_namespace']}", wanted, dict(zip(wanted, stored, strict=True)))
    paths = {row[0] for row in db.execute("SELECT path FROM project_paths WHERE project_id = ?", (local,))}
    if item["path_with_namespace"] not in paths:
        found.append(f"the path {item['path_with_namespace']} leads nowhere")
    return found


def _catalog(db, local, project, *, labels_settled):
    name = project["item"]["path_with_namespace"]
    wanted = {
        label["name"]: (label["id"], label.get("color"), label.get("description"))
        for label in project["labels"].values()
    }
    stored = {
        row[0]: row[1:]
        for row in db.execute("SELECT name, gitlab_id, color, description FROM labels WHERE project_id = ?", (local,))
    }
    found = _same(f"{name} label", wanted, stored) if labels_settled else []
    wanted = {
        one["id"]: (
            one.get("iid"),
            one.get("group_id"),
            one["title"],
            one.get("description"),
            one.get("state"),
            _ms(one.get("created_at")),
            _ms(one.get("updated_at")),
            one.get("start_date"),
            one.get("due_date"),
            one.get("web_url"),
        )
        for one in project["milestones"].values()
    }
    stored = {
        row[0]: row[1:]
        for row in db.execute(
            "SELECT gitlab_id, iid, group_id, title, description, state, created_at, updated_at, start_date, due_date,"
            " web_url FROM milestones WHERE project_id = ?",
            (local,),
        )
    }
    if labels_settled:
        found += _same(f"{name} milestone", wanted, stored)
    return found


def _users(db, instance, truth, listed):
    stored = {
        row[0]: row[1:]
        for row in db.execute(
            "SELECT gitlab_id, username, name, state, web_url FROM users WHERE instance_id = ?", (instance,)
        )
    }
    wanted = {
        number: (user["username"], user.get("name") or user["username"], user.get("state"), user.get("web_url"))
        for number, user in listed.items()
    }
    found = [f"user {number}: {wanted[number]} is missing" for number in wanted.keys() - stored.keys()]
    found += [
        f"user {number}: {stored[number]} instead of {wanted[number]}"
        for number in wanted.keys() & stored.keys()
        if stored[number] != wanted[number]
    ]
    spoken = set()
    for project in truth.projects.values():
        for kind in truth.kinds(project):
            for row in project[kind].values():
                spoken |= _people(row)
    found += [f"user {number} stands in texts but not in the mirror" for number in spoken - stored.keys()]
    return found


def _people(row):
    entity = row["entity"]
    people = [entity.get("author"), *(entity.get("assignees") or ()), *(entity.get("reviewers") or ())]
    people += [note.get("author") for thread in row["discussions"] for note in thread["notes"]]
    for name in ("resource_state_events", "resource_label_events", "resource_milestone_events"):
        people += [event.get("user") for event in row[name]]
    return {person["id"] for person in people if person}


# ── entities ────────────────────────────────────────────────────────────────────────────────────────────

_WORD = {"issues": "issue", "merge_requests": "merge_request"}
_SIGN = {"issues": "#", "merge_requests": "!"}
_OWNER = {"issues": "issue_id", "merge_requests": "merge_request_id"}


def _entities(db, local, project, kind, seen_users):
    path = project["item"]["path_with_namespace"]
    found = []
    rows = project[kind]
    stored = dict(db.execute(f"SELECT iid, id FROM {kind} WHERE project_id = ?", (local,)).fetchall())
    found += [f"{path}{_SIGN[kind]}{iid} is missing" for iid in sorted(rows.keys() - stored.keys())]
    extra = sorted(stored.keys() - rows.keys())
    found += [f"{path}{_SIGN[kind]}{iid} is mirrored though GitLab does not show it" for iid in extra]
    count = _one(db, f"SELECT count(*) FROM {kind} WHERE project_id = ?", local)
    if count != len(stored):
        found.append(f"{path}: {count} rows for {len(stored)} {kind}")
    for iid in sorted(rows.keys() & stored.keys()):
        found += _entity(db, f"{path}{_SIGN[kind]}{iid}", kind, stored[iid], rows[iid])
    return found


def _entity(db, name, kind, local, row):
    entity = row["entity"]
    wanted = _wanted_columns(kind, entity)
    stored = _row(db, f"SELECT {', '.join(wanted)} FROM {kind} WHERE id = ?", local)
    found = _fields(name, wanted, dict(zip(wanted, stored, strict=True)))
    owner = _OWNER[kind]
    prefix = "issue" if kind == "issues" else "mr"
    labels = sorted(
        row[0]
        for row in db.execute(
            f"SELECT l.name FROM {prefix}_labels x JOIN labels l ON l.id = x.label_id WHERE x.{owner} = ?", (local,)
        )
    )
    found += _fields(name, {"labels": sorted(set(entity["labels"]))}, {"labels": labels})
    found += _persons(db, name, f"{prefix}_assignees", owner, local, entity.get("assignees"))
    if kind == "merge_requests":
        found += _persons(db, name, "mr_reviewers", owner, local, entity.get("reviewers"))
    milestone = _row(
        db, f"SELECT m.gitlab_id FROM {kind} e LEFT JOIN milestones m ON m.id = e.milestone_id WHERE e.id = ?", local
    )
    wanted_milestone = entity["milestone"]["id"] if entity.get("milestone") else None
    found += _fields(name, {"milestone": wanted_milestone}, {"milestone": milestone[0]})
    found += _threads(db, name, owner, local, row["discussions"])
    found += _events(db, name, owner, local, row)
    if kind == "merge_requests":
        found += _code(db, name, local, row)
    return found


def _wanted_columns(kind, entity):
    def username(name):
        return (entity.get(name) or {}).get("username")

    milestone = entity.get("milestone") or {}
    author = entity.get("author") or {}
    wanted = {
        "gitlab_id": entity["id"],
        "title": _text(entity["title"]),
        "description": None if entity.get("description") is None else _text(entity["description"]),
        "state": entity["state"],
        "author_gitlab_id": author.get("id"),
        "author_username": author.get("username"),
        "created_at": _ms(entity["created_at"]),
        "updated_at": _ms(entity["updated_at"]),
        "closed_at": _ms(entity.get("closed_at")),
        "closed_by": username("closed_by"),
        "web_url": entity.get("web_url"),
        "milestone_title": milestone.get("title"),
        "user_notes_count": entity.get("user_notes_count") or 0,
        "upvotes": entity.get("upvotes") or 0,
        "downvotes": entity.get("downvotes") or 0,
        "discussion_locked": int(bool(entity.get("discussion_locked"))),
    }
    if kind == "issues":
        return wanted | {
            "confidential": int(bool(entity.get("confidential"))),
            "issue_type": entity.get("issue_type"),
            "severity": entity.get("severity"),
            "weight": entity.get("weight"),
            "due_date": entity.get("due_date"),
            "moved_to_id": entity.get("moved_to_id"),
        }
    refs = entity.get("diff_refs") or {}
    return wanted | {
        "draft": int(bool(entity.get("draft"))),
        "source_branch": entity["source_branch"],
        "target_branch": entity["target_branch"],
        "source_project_id": entity.get("source_project_id"),
        "merged_at": _ms(entity.get("merged_at")),
        "merged_by": username("merge_user") or username("merged_by"),
        "squash": int(bool(entity.get("squash"))),
        "head_sha": entity.get("sha"),
        "merge_commit_sha": entity.get("merge_commit_sha"),
        "squash_commit_sha": entity.get("squash_commit_sha"),
        "diff_base_sha": refs.get("base_sha"),
        "diff_start_sha": refs.get("start_sha"),
        "diff_head_sha": refs.get("head_sha"),
        "changes_count": entity.get("changes_count"),
    }


def _persons(db, name, table, owner, local, people):
    wanted = sorted((person["id"], person["username"]) for person in people or ())
    stored = sorted(db.execute(f"SELECT gitlab_user_id, username FROM {table} WHERE {owner} = ?", (local,)).fetchall())
    return _fields(name, {table: sorted(set(wanted))}, {table: stored})


def _threads(db, name, owner, local, threads):
    wanted = []
    for place, thread in enumerate(threads):
        notes = thread["notes"]
        times = [_ms(note["created_at"]) for note in notes]
        resolvable = [note for note in notes if note["resolvable"]]
        flags = (
            int(thread["individual_note"]),
            min(times),
            max(times),
            int(bool(resolvable)),
            int(bool(resolvable) and all(note["resolved"] for note in resolvable)),
        )
        wanted.append((thread["id"], place, *flags, [_note(note, at) for at, note in enumerate(notes)]))
    stored = []
    for row in db.execute(
        "SELECT id, gitlab_discussion_id, position, individual_note, first_note_at, last_note_at, resolvable, resolved"
        f" FROM discussions WHERE {owner} = ? ORDER BY position, id",
        (local,),
    ).fetchall():
        notes = db.execute(
            "SELECT n.gitlab_id, n.position, n.type, n.author_gitlab_id, n.author_username, n.body, n.created_at,"
            " n.updated_at, n.is_system, n.internal, n.resolvable, n.resolved, n.resolved_by, n.resolved_at,"
            " n.commit_id, p.position_type, p.base_sha, p.start_sha, p.head_sha, p.old_path, p.new_path, p.old_line,"
            " p.new_line, p.start_old_line, p.start_new_line FROM notes n LEFT JOIN note_positions p"
            " ON p.note_id = n.id WHERE n.discussion_id = ? ORDER BY n.position, n.id",
            (row[0],),
        ).fetchall()
        stored.append((*row[1:], notes))
    if wanted == stored:
        return []
    return _lists(f"{name} threads", wanted, stored)


def _note(note, place):
    position = note.get("position") or {}
    start = (position.get("line_range") or {}).get("start") or {}
    resolver = note.get("resolved_by")
    author = note.get("author") or {}
    return (
        note["id"],
        place,
        note.get("type"),
        author.get("id"),
        author.get("username"),
        _text(note["body"]),
        _ms(note["created_at"]),
        _ms(note["updated_at"]),
        int(note["system"]),
        int(bool(note.get("internal") or note.get("confidential"))),
        int(bool(note["resolvable"])),
        int(bool(note.get("resolved"))),
        resolver["username"] if isinstance(resolver, dict) else resolver,
        _ms(note.get("resolved_at")),
        note.get("commit_id"),
        position.get("position_type"),
        *(position.get(key) for key in ("base_sha", "start_sha", "head_sha", "old_path", "new_path")),
        *(position.get(key) for key in ("old_line", "new_line")),
        start.get("old_line"),
        start.get("new_line"),
    )


def _events(db, name, owner, local, row):
    def common(event):
        user = event.get("user") or {}
        return (event["id"], user.get("id"), user.get("username"), _ms(event["created_at"]))

    head = "gitlab_id, actor_gitlab_id, actor_username, created_at"
    found = []
    for table, columns, own in (
        (
            "resource_state_events",
            "state, source_merge_request_id, source_commit",
            lambda event: (event["state"], event.get("source_merge_request_id"), event.get("source_commit")),
        ),
        (
            "resource_label_events",
            "label_name, action",
            lambda event: ((event["label"] or {}).get("name"), event["action"]),
        ),
        (
            "resource_milestone_events",
            "milestone_title, milestone_id, action",
            lambda event: (
                (event["milestone"] or {}).get("title"),
                (event["milestone"] or {}).get("id"),
                event["action"],
            ),
        ),
    ):
        wanted = sorted(((*common(event), *own(event)) for event in row[table]), key=lambda one: one[0])
        stored = db.execute(
            f"SELECT {head}, {columns} FROM {table} WHERE {owner} = ? ORDER BY gitlab_id", (local,)
        ).fetchall()
        if wanted != stored:
            found += _lists(f"{name} {table}", wanted, stored)
    return found


def _code(db, name, local, row):
    wanted = [_diff(diff, place) for place, diff in enumerate(row["mr_diffs"])]
    stored = db.execute(
        "SELECT position, old_path, new_path, change_type, a_mode, b_mode, added_lines, removed_lines, too_large,"
        " generated FROM mr_file_changes WHERE merge_request_id = ? ORDER BY position",
        (local,),
    ).fetchall()
    found = _lists(f"{name} file changes", wanted, stored) if wanted != stored else []
    wanted = [
        (
            place,
            commit["id"],
            commit["title"],
            commit.get("message"),
            commit.get("author_name"),
            commit.get("author_email"),
            _ms(commit.get("authored_date")),
            _ms(commit.get("committed_date")),
            " ".join(commit.get("parent_ids") or ()),
        )
        for place, commit in enumerate(row["mr_commits"])
    ]
    stored = db.execute(
        "SELECT position, sha, title, message, author_name, author_email, authored_at, committed_at, parents"
        " FROM mr_commits WHERE merge_request_id = ? ORDER BY position",
        (local,),
    ).fetchall()
    return found + (_lists(f"{name} commits", wanted, stored) if wanted != stored else [])


def _diff(diff, place):
    new, gone, renamed = diff.get("new_file"), diff.get("deleted_file"), diff.get("renamed_file")
    change = "added" if new else "deleted" if gone else "renamed" if renamed else "modified"
    text = diff.get("diff") or ""
    lines = text.split("\n")
    return (
        place,
        None if new else diff["old_path"],
        diff["new_path"],
        change,
        diff.get("a_mode"),
        diff.get("b_mode"),
        sum(line.startswith("+") for line in lines) if text else None,
        sum(line.startswith("-") for line in lines) if text else None,
        int(bool(diff.get("too_large") or diff.get("collapsed"))),
        int(bool(diff.get("generated_file"))),
    )


# ── references ──────────────────────────────────────────────────────────────────────────────────────────


def _references(db, instance, truth):
    paths = {
        path.lower(): number
        for path, number in db.execute(
            "SELECT x.path, p.gitlab_project_id FROM project_paths x JOIN projects p ON p.id = x.project_id"
            " WHERE x.instance_id = ?",
            (instance,),
        )
    }
    present = _present(db, instance)
    wanted = _wanted_edges(truth, paths, present)
    stored = defaultdict(int)
    found = []
    for row in db.execute(_EDGES, (instance,)):
        reference_type, external, open_ends = row[0], row[9], []
        ends = []
        for local, word, number, iid, path, path_iid in (
            (row[1], row[10], row[2], row[3], row[4], row[5]),
            (row[6], row[11], row[7], row[8], row[12], row[13]),
        ):
            if local is not None:
                ends.append((word, number, iid))
            elif external is not None and word == "issue" and path is None:
                ends.append(("external", external))
            else:
                end = (word, paths.get((path or "").lower(), (path or "").lower()), path_iid)
                ends.append(end)
                open_ends.append(end)
        found += [f"{reference_type} {ends}: {end} is mirrored and not linked" for end in open_ends if end in present]
        stored[reference_type, *ends] += 1
        if (reference_type, *ends) not in wanted and not (reference_type == "closes" and open_ends):
            found.append(f"reference {reference_type} {ends} stands for nothing")
    found += [f"reference {edge} is missing" for edge in sorted(wanted - stored.keys(), key=str)]
    found += [f"reference {edge} stands {count} times" for edge, count in stored.items() if count > 1]
    return found


_EDGES = """
SELECT r.reference_type,
  r.source_entity_id, sp.gitlab_project_id, coalesce(si.iid, sm.iid), r.source_project_path, r.source_entity_iid,
  r.target_entity_id, tp.gitlab_project_id, coalesce(ti.iid, tm.iid),
  r.external_key, r.source_entity_type, r.target_entity_type, r.target_project_path, r.target_entity_iid
FROM entity_references r
LEFT JOIN issues si ON r.source_entity_type = 'issue' AND si.id = r.source_entity_id
LEFT JOIN merge_requests sm ON r.source_entity_type = 'merge_request' AND sm.id = r.source_entity_id
LEFT JOIN projects sp ON sp.id = coalesce(si.project_id, sm.project_id)
LEFT JOIN issues ti ON r.target_entity_type = 'issue' AND ti.id = r.target_entity_id
LEFT JOIN merge_requests tm ON r.target_entity_type = 'merge_request' AND tm.id = r.target_entity_id
LEFT JOIN projects tp ON tp.id = coalesce(ti.project_id, tm.project_id)
WHERE r.instance_id = ?
"""


def _present(db, instance):
    found = set()
    for kind, word in _WORD.items():
        found.update(
            (word, *row)
            for row in db.execute(
                f"SELECT p.gitlab_project_id, e.iid FROM {kind} e JOIN projects p ON p.id = e.project_id"
                " WHERE p.instance_id = ?",
                (instance,),
            )
        )
    return found


def _wanted_edges(truth, paths, present):
    requests = {}
    for number, project in truth.projects.items():
        for row in project["merge_requests"].values():
            requests[row["entity"]["id"]] = ("merge_request", number, row["iid"])
    edges = set()
    for number, project in truth.projects.items():
        for kind in truth.kinds(project):
            for iid, row in project[kind].items():
                me = (_WORD[kind], number, iid)
                edges |= _edges_of(row, me, truth, paths, project["item"]["path_with_namespace"], requests)
    return edges


def _edges_of(row, me, truth, paths, home, requests):
    edges = set()

    def end(mention):
        sign, path, iid = mention
        return ("issue" if sign == "#" else "merge_request", paths.get(path.lower(), path.lower()), iid)

    entity = row["entity"]
    texts = [f"{entity['title']}\n\n{entity.get('description') or ''}"]
    texts += [note["body"] for thread in row["discussions"] for note in thread["notes"] if not note["system"]]
    for text in texts:
        edges.update(("mentioned", me, end(one)) for one in mentions(text, home, truth.origins))
    for thread in row["discussions"]:
        for note in thread["notes"]:
            if not note["system"]:
                continue
            body = note["body"]
            for start, kind, inward in _SYSTEM:
                if body.lower().startswith(start):
                    line = body.split("\n", 1)[0]
                    ends = [end(one) for one in mentions(line, home, truth.origins)]
                    edges.update((kind, one, me) if inward else (kind, me, one) for one in ends)
                    break
    for event in row["resource_state_events"]:
        source = requests.get(event.get("source_merge_request_id"))
        if event["state"] == "closed" and source:
            edges.add(("closes", source, me))
    for issue in row.get("closes_issues", ()):
        if issue.get("iid") is None:
            edges.add(("closes", me, ("external", str(issue["id"]))))
        else:
            edges.add(("closes", me, ("issue", issue["project_id"], issue["iid"])))
    return {edge for edge in edges if edge[1] != edge[2]}


_SYSTEM = (
    ("mentioned in commit", "none", True),
    ("mentioned in ", "mentioned", True),
    ("moved to ", "related", False),
    ("moved from ", "related", True),
    ("marked this issue as a duplicate of ", "related", False),
    ("marked this issue as related to ", "related", False),
    ("closed via merge request ", "closes", True),
    ("created merge request ", "related", True),
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_ADDRESS = re.compile(
    r"(https?://[^/\s]+)/([\w.-]+(?:/[\w.-]+)+?)/(?:-/)?(issues|work_items|merge_requests)/([1-9]\d*)\b"
)
_SHORT = re.compile(r"((?<![\w/&@.#!-])(?:\w[\w.-]*/)*\w[\w.-]*|(?<![\w&@#!.-]))([#!])([1-9]\d{0,9})(?!\w)", re.ASCII)


def mentions(text, home, origins):
    """(sigil, path, number) of every entity a text names; plain rules, written anew."""
    if "#" not in text and "!" not in text and "://" not in text:
        return set()
    prose = _SPAN.sub(" ", _without_fences(_COMMENT.sub(" ", text)))
    found = set()
    for origin, path, word, iid in _ADDRESS.findall(prose):
        if origin.lower() in origins:
            found.add(("!" if word == "merge_requests" else "#", path, int(iid)))
    namespace = home.rpartition("/")[0]
    for path, sign, iid in _SHORT.findall(re.sub(r"https?://\S+", " ", prose)):
        whole = path or home
        if "/" not in whole and namespace:
            whole = f"{namespace}/{whole}"
        found.add((sign, whole, int(iid)))
    return found


def _without_fences(text):
    """Fenced blocks go; one that is never closed takes all that follows."""
    kept, fence = [], None
    for line in text.split("\n"):
        start = line.lstrip(" ") if len(line) - len(line.lstrip(" ")) < 4 else ""
        mark = start[:3] if start.startswith(("```", "~~~")) else None
        if fence is None and mark:
            fence = start[: len(start) - len(start.lstrip(mark[0]))]
        elif fence is None:
            kept.append(line)
        elif start.startswith(fence) and not start.strip().strip(fence[0]):
            fence = None
    return "\n".join(kept)


# ── two mirrors ─────────────────────────────────────────────────────────────────────────────────────────

_ENTITY_OF = """
(SELECT p.gitlab_project_id || '#' || e.iid FROM issues e JOIN projects p ON p.id = e.project_id WHERE e.id = {0})
"""
_REQUEST_OF = """
(SELECT p.gitlab_project_id || '!' || e.iid FROM merge_requests e JOIN projects p ON p.id = e.project_id
 WHERE e.id = {0})
"""


def contents(database):
    """All that a mirror holds, by natural keys: table → sorted rows, without local ids and local times."""
    with contextlib.closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        return {name: sorted(db.execute(sql).fetchall(), key=repr) for name, sql in _CONTENTS.items()}


def _observed(kind, local):
    return f"CASE {kind} WHEN 'issue' THEN {_ENTITY_OF.format(local)} ELSE {_REQUEST_OF.format(local)} END"


_OF = f"coalesce({_ENTITY_OF.format('x.issue_id')}, {_REQUEST_OF.format('x.merge_request_id')})"
_PROJECT = "(SELECT gitlab_project_id FROM projects WHERE id = x.project_id)"
_SHARED = (
    "x.gitlab_id, x.iid, title, description, state, author_gitlab_id, author_username, created_at, updated_at,"
    " closed_at, closed_by, web_url, milestone_title, user_notes_count, upvotes, downvotes, discussion_locked,"
    " activity_key, (SELECT hex(b.hash) FROM raw_payloads p JOIN raw_bodies b ON b.id = p.body_id"
    " WHERE p.id = x.raw_payload_id), (SELECT m.gitlab_id FROM milestones m WHERE m.id = x.milestone_id)"
)
_CONTENTS = {
    "projects": "SELECT gitlab_project_id, path_with_namespace, name, description, default_branch, web_url, archived,"
    " visibility, issues_enabled, merge_requests_enabled, created_at, updated_at FROM projects",
    "users": "SELECT gitlab_id, username, name, state, web_url, bot FROM users",
    "labels": f"SELECT {_PROJECT}, name, gitlab_id, color, description FROM labels x",
    "milestones": f"SELECT {_PROJECT}, gitlab_id, iid, group_id, title, description, state, created_at, updated_at,"
    " start_date, due_date, web_url FROM milestones x",
    "issues": f"SELECT {_PROJECT}, {_SHARED}, confidential, issue_type, severity, weight, due_date, moved_to_id"
    " FROM issues x",
    "merge_requests": f"SELECT {_PROJECT}, {_SHARED}, draft, source_branch, target_branch, source_project_id,"
    " merged_at, merged_by, squash, head_sha, merge_commit_sha, squash_commit_sha, diff_base_sha, diff_start_sha,"
    " diff_head_sha, changes_count, code_key FROM merge_requests x",
    "issue_labels": f"SELECT {_ENTITY_OF.format('x.issue_id')}, l.name FROM issue_labels x JOIN labels l"
    " ON l.id = x.label_id",
    "mr_labels": f"SELECT {_REQUEST_OF.format('x.merge_request_id')}, l.name FROM mr_labels x JOIN labels l"
    " ON l.id = x.label_id",
    "issue_assignees": f"SELECT {_ENTITY_OF.format('x.issue_id')}, username, gitlab_user_id FROM issue_assignees x",
    "mr_assignees": f"SELECT {_REQUEST_OF.format('x.merge_request_id')}, username, gitlab_user_id FROM mr_assignees x",
    "mr_reviewers": f"SELECT {_REQUEST_OF.format('x.merge_request_id')}, username, gitlab_user_id FROM mr_reviewers x",
    "discussions": f"SELECT {_OF}, gitlab_discussion_id, noteable_type, individual_note, position, first_note_at,"
    " last_note_at, resolvable, resolved, content_hash FROM discussions x",
    "notes": f"SELECT {_PROJECT}, x.gitlab_id, d.gitlab_discussion_id, type, author_gitlab_id, author_username, body,"
    " created_at, updated_at, x.position, is_system, internal, x.resolvable, x.resolved, resolved_by, resolved_at,"
    " commit_id, (SELECT p.resource_type || p.gitlab_id || '/' || p.page FROM raw_payloads p WHERE"
    " p.id = x.raw_payload_id) FROM notes x JOIN discussions d ON d.id = x.discussion_id",
    "note_positions": "SELECT n.gitlab_id, position_type, base_sha, start_sha, head_sha, old_path, new_path, old_line,"
    " new_line, start_old_line, start_new_line FROM note_positions x JOIN notes n ON n.id = x.note_id",
    "resource_state_events": f"SELECT {_OF}, gitlab_id, state, actor_gitlab_id, actor_username, created_at,"
    " source_merge_request_id, source_commit FROM resource_state_events x",
    "resource_label_events": f"SELECT {_OF}, gitlab_id, label_name, action, actor_gitlab_id, actor_username,"
    " created_at FROM resource_label_events x",
    "resource_milestone_events": f"SELECT {_OF}, gitlab_id, milestone_title, milestone_id, action, actor_gitlab_id,"
    " actor_username, created_at FROM resource_milestone_events x",
    "mr_file_changes": f"SELECT {_REQUEST_OF.format('x.merge_request_id')}, position, old_path, new_path, change_type,"
    " a_mode, b_mode, added_lines, removed_lines, too_large, generated FROM mr_file_changes x",
    "mr_commits": f"SELECT {_REQUEST_OF.format('x.merge_request_id')}, position, sha, title, message, author_name,"
    " author_email, authored_at, committed_at, parents FROM mr_commits x",
    "entity_references": "SELECT source_entity_type,"
    f" {_observed('x.source_entity_type', 'x.source_entity_id')}, source_project_path, source_entity_iid,"
    f" target_entity_type, {_observed('x.target_entity_type', 'x.target_entity_id')}, target_project_path,"
    " target_entity_iid, external_key, reference_type, created_at FROM entity_references x",
    "reference_sources": f"SELECT {_observed('x.observer_type', 'x.observer_id')}, source_method, origin_id, relation,"
    f" seen_at, r.reference_type, {_observed('r.source_entity_type', 'r.source_entity_id')},"
    f" {_observed('r.target_entity_type', 'r.target_entity_id')} FROM reference_sources x JOIN entity_references r"
    " ON r.id = x.reference_id",
    "raw": f"SELECT {_PROJECT}, resource_type, gitlab_id, page, hex(b.hash), b.size, b.body FROM raw_payloads x JOIN"
    " raw_bodies b ON b.id = x.body_id",
    "cursors": f"SELECT {_PROJECT}, resource_type, updated_at_cursor, tie_breaker_id FROM sync_cursors x",
    "tombstones": f"SELECT {_PROJECT}, entity_type, gitlab_id, iid FROM tombstones x",
}


def fingerprint(database):
    """A hash of every mirrored row with its local ids; audit, lease and the times of looking are left out."""
    left_out = {
        "swept_at",
        "issues_swept_at",
        "merge_requests_swept_at",
        "catalog_fetched_at",
        "discussions_fetched_at",
        "fetched_at",
    }
    digest = hashlib.blake2b()
    with contextlib.closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        for table in tables:
            if table.startswith(("sqlite_", "sync_runs", "sync_failures", "sync_lease")):
                continue
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] not in left_out]
            for row in db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {', '.join(columns)}"):
                digest.update(repr((table, row)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


# ── small help ──────────────────────────────────────────────────────────────────────────────────────────


def _ms(text):
    if text is None:
        return None
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def _text(body):
    """Lone surrogates are no Unicode text and are kept as the replacement character."""
    return re.sub("[\ud800-\udfff]", "\ufffd", body or "")


def _origin(url):
    return "/".join(url.split("/")[:3]).lower()


def _row(db, sql, *values):
    return db.execute(sql, values).fetchone()


def _one(db, sql, *values):
    row = _row(db, sql, *values)
    return row[0] if row else None


def _fields(name, wanted, stored):
    return [
        f"{name}: {key} is {_short(stored[key])} instead of {_short(wanted[key])}"
        for key in wanted
        if stored[key] != wanted[key]
    ]


def _same(name, wanted, stored):
    found = [f"{name} {key!r} is missing" for key in wanted.keys() - stored.keys()]
    found += [f"{name} {key!r} is too many" for key in stored.keys() - wanted.keys()]
    for key in wanted.keys() & stored.keys():
        if wanted[key] != stored[key]:
            found.append(f"{name} {key!r} is {_short(stored[key])} instead of {_short(wanted[key])}")
    return found


def _lists(name, wanted, stored):
    if len(wanted) != len(stored):
        return [f"{name}: {len(stored)} instead of {len(wanted)}"]
    pairs = zip(wanted, stored, strict=True)
    return [f"{name}: {_short(have)} instead of {_short(want)}" for want, have in pairs if want != have][:3]


def _short(value):
    shown = repr(value)
    return shown if len(shown) < 300 else f"{shown[:150]} … {shown[-140:]}"
