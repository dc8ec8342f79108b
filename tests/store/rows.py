"""Entities as a listing brings them, written straight into a database."""

from loreline.core.entities import Issue, Kind, MergeRequest, Project
from loreline.core.plans import activity_key, code_key
from loreline.store import entities, payloads, projects
from loreline.store.connection import transaction
from loreline.store.entities import EntityKey

NOW = 1_700_000_000_000


def add_project(db, instance, gitlab_id=1, path="team/app"):
    return projects.upsert(db, instance, Project(gitlab_id=gitlab_id, path=path, name=path.rpartition("/")[2]))


_SHARED = {
    "description": None,
    "state": "opened",
    "author": None,
    "created_at": NOW,
    "updated_at": NOW,
    "closed_at": None,
    "closed_by": None,
    "web_url": None,
    "labels": (),
    "milestone": None,
    "assignees": (),
    "user_notes_count": 0,
    "upvotes": 0,
    "downvotes": 0,
    "discussion_locked": False,
}


def issue(iid, **fields):
    own = {
        "confidential": False,
        "issue_type": None,
        "severity": None,
        "weight": None,
        "due_date": None,
        "moved_to_id": None,
    }
    return Issue(**{**_SHARED, **own, "gitlab_id": 1000 + iid, "iid": iid, "title": f"Issue {iid}", **fields})


def request(iid, **fields):
    own = {
        "draft": False,
        "source_branch": "topic",
        "target_branch": "main",
        "source_project_id": 1,
        "merged_at": None,
        "merged_by": None,
        "squash": False,
        "head_sha": "aa",
        "merge_commit_sha": None,
        "squash_commit_sha": None,
        "prepared_at": None,
        "reviewers": (),
    }
    return MergeRequest(**{**_SHARED, **own, "gitlab_id": 2000 + iid, "iid": iid, "title": f"Request {iid}", **fields})


def add(db, project, entity) -> EntityKey:
    """Write an entity as a listing does."""
    kind = Kind.MERGE_REQUEST if isinstance(entity, MergeRequest) else Kind.ISSUE
    with transaction(db):
        kept = payloads.put(db, project.id, kind.value, entity.gitlab_id, entity.title.encode() * 20, fetched_at=NOW)
        before = entities.by_gitlab_id(db, project.id, kind, entity.gitlab_id)
        entities.upsert(
            db,
            project,
            kind,
            entity,
            raw_payload_id=kept.id,
            activity_key=activity_key(entity),
            code_key=code_key(entity),
            seen_at=NOW,
            known=before is not None,
        )
    found = entities.by_gitlab_id(db, project.id, kind, entity.gitlab_id)
    assert found is not None
    return found
