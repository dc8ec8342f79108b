"""The addresses of GitLab's REST API that Loreline reads: paths and queries, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from loreline.core.entities import Kind
from loreline.core.times import to_iso
from loreline.gitlab.client import target

PAGE = 100
"""The most GitLab gives on a page."""


def version() -> str:
    return "version"


def current_user() -> str:
    return "user"


def own_token() -> str:
    return "personal_access_tokens/self"


def project(path_or_id: str | int) -> str:
    return f"projects/{quote(str(path_or_id), safe='')}"


def group_projects(path: str, *, archived: bool) -> str:
    return target(
        f"groups/{quote(path, safe='')}/projects",
        include_subgroups="true",
        with_shared="false",
        archived=None if archived else "false",
        order_by="id",
        sort="asc",
        pagination="keyset",
        per_page=PAGE,
    )


def labels(project_id: int) -> str:
    return target(f"projects/{project_id}/labels", per_page=PAGE)


def milestones(project_id: int) -> str:
    # Both words for the same thing: older releases know the first, newer ones the second.
    return target(
        f"projects/{project_id}/milestones",
        include_parent_milestones="true",
        include_ancestors="true",
        per_page=PAGE,
    )


def users(project_id: int) -> str:
    return target(f"projects/{project_id}/users", per_page=PAGE)


def entities(
    kind: Kind,
    project_id: int,
    *,
    updated_after: int | None = None,
    keyset: bool = False,
    iids: Sequence[int] = (),
) -> str:
    """The list of a project's entities, oldest change first, from a moment on or of certain numbers."""
    return target(
        f"projects/{project_id}/{kind.plural}",
        **{
            "scope": "all",
            "state": "all",
            "order_by": "updated_at",
            "sort": "asc",
            "per_page": PAGE,
            "updated_after": None if updated_after is None else to_iso(updated_after),
            "pagination": "keyset" if keyset else None,
            "iids[]": list(iids) or None,
        },
    )


def entity(kind: Kind, project_id: int, iid: int) -> str:
    return f"projects/{project_id}/{kind.plural}/{iid}"


def dependents(kind: Kind, project_id: int, iid: int, name: str) -> str:
    """`discussions`, `resource_…_events`, `closes_issues`, `diffs` or `commits` of one entity."""
    return target(f"{entity(kind, project_id, iid)}/{name}", per_page=PAGE)
