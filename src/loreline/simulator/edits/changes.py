"""The commits, diffs and diff versions of a merge request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loreline.simulator.api.subjects import first_version

if TYPE_CHECKING:
    from loreline.simulator.live import Live
    from loreline.simulator.place import Place
    from loreline.simulator.world import World


def new_commits(
    world: World, place: Place, live: Live, commits: list[dict[str, Any]], *, parent: str | None = None
) -> list[dict[str, Any]]:
    """Commits in the API's form, oldest first, each the child of the one before."""
    made = []
    parent = parent or live.fields.get("sha") or world.next_sha("commit")
    for commit in commits:
        sha = world.next_sha("commit")
        name = live.fields["author"]["name"]
        given = {key: value for key, value in commit.items() if key not in ("id", "short_id", "parent_ids", "web_url")}
        made.append(
            {
                "id": sha,
                "short_id": sha[:8],
                "created_at": world.now(),
                "parent_ids": [parent],
                "title": given.get("title", ""),
                "message": given.get("title", ""),
                "author_name": name,
                "author_email": f"{live.fields['author']['username']}@example.com",
                "authored_date": world.now(),
                "committer_name": name,
                "committer_email": f"{live.fields['author']['username']}@example.com",
                "committed_date": world.now(),
                **given,
                "web_url": f"{place.web_url}/-/commit/{sha}",
            }
        )
        parent = sha
    return made


def oldest_first(commits: list[dict[str, Any]]) -> bool:
    """Whether a list runs from the oldest commit; GitLab's begins with the newest, a corpus's may not."""
    return len(commits) > 1 and commits[0]["id"] in (commits[1].get("parent_ids") or ())


def new_diffs(diffs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = []
    for diff in diffs:
        path = diff.get("new_path") or diff.get("old_path") or "file"
        made.append(
            {
                "diff": "",
                "new_path": path,
                "old_path": path,
                "a_mode": "100644",
                "b_mode": "100644",
                "new_file": False,
                "renamed_file": False,
                "deleted_file": False,
                "generated_file": False,
                "collapsed": False,
                "too_large": False,
                **diff,
            }
        )
    return made


def set_head(world: World, live: Live, refs: dict[str, str]) -> None:
    """Make the newest commit the head, and record a diff version for it."""
    if not live.versions and live.fields.get("diff_refs"):
        live.versions.append(first_version(live.fields))
    newest = -1 if oldest_first(live.commits) else 0
    head = live.commits[newest]["id"] if live.commits else world.next_sha("commit")
    live.fields["sha"] = head
    live.fields["diff_refs"] = {**(live.fields.get("diff_refs") or {}), **refs, "head_sha": head}
    live.fields["changes_count"] = str(len(live.diffs))
    version = first_version(live.fields)
    live.versions.append({**version, "id": live.id + len(live.versions), "created_at": world.now()})
