"""What happens to merge requests only: pushes, rebases, reviewers and the merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loreline.simulator.edits.changes import new_commits, new_diffs, oldest_first, set_head
from loreline.simulator.edits.lifecycle import close
from loreline.simulator.edits.operation import operation
from loreline.simulator.edits.traces import changed, state_event, system_note, touch

if TYPE_CHECKING:
    from loreline.simulator.live import Live
    from loreline.simulator.place import Place
    from loreline.simulator.world import World


@operation
def merge(world: World, /, project: int | str, iid: int, *, squash: bool = False, author: str | None = None) -> str:
    """Merge, close the issues it closes, and return the sha that reached the target branch."""
    place = world.place(project)
    live = world.live(project, "merge_requests", iid)
    who = world.person(author)
    sha = world.next_sha("commit")
    live.fields |= {
        "state": "merged",
        "merged_at": world.now(),
        "merged_by": who,
        "merge_user": who,
        "merge_commit_sha": None if squash else sha,
        "squash_commit_sha": sha if squash else None,
        "squash": squash,
        "squash_on_merge": squash,
        "merge_status": "can_be_merged",
        "detailed_merge_status": "not_open",
    }
    touch(world, live)
    state_event(world, live, "merged", who)
    changed(place, live)
    issues = place.shelves["issues"]
    for issue in live.closes:
        row = issues.row(issue) if isinstance(issue, int) else None
        if isinstance(issue, int) and row is not None and place.thaw("issues", row).fields["state"] == "opened":
            close(world, project, "issues", issue, author=author, by_merge_request=iid)
    return sha


@operation
def push(
    world: World,
    /,
    project: int | str,
    iid: int,
    *,
    commits: list[dict[str, Any]] | None = None,
    diffs: list[dict[str, Any]] | None = None,
    author: str | None = None,
    touching: bool = True,
) -> str:
    """Add commits (`{"title": …}` is enough of one), replace the diffs if given, return the new head."""
    place = world.place(project)
    live = world.live(project, "merge_requests", iid)
    added = new_commits(world, place, live, commits or [{"title": "More work"}])
    if oldest_first(live.commits):
        live.commits = [*live.commits, *added]
    else:
        live.commits = [*reversed(added), *live.commits]
    if diffs is not None:
        live.diffs = new_diffs(diffs)
    set_head(world, live, {})
    items = "".join(f"<li>{commit['short_id']} - {commit['title']}</li>" for commit in added)
    count = f"{len(added)} commit{'' if len(added) == 1 else 's'}"
    body = f"added {count}\n\n<ul>{items}</ul>\n\n[Compare with previous version]({_compare(place, live)})"
    system_note(world, place, live, body, world.person(author), touching=touching)
    if touching:
        touch(world, live)
    changed(place, live)
    head: str = live.fields["sha"]
    return head


@operation
def rebase(world: World, /, project: int | str, iid: int, *, author: str | None = None, touching: bool = True) -> str:
    """Put the same commits on a newer base: every sha changes, the diffs stay. Returns the new head."""
    place = world.place(project)
    live = world.live(project, "merge_requests", iid)
    base = world.next_sha("commit")
    order = 1 if oldest_first(live.commits) else -1
    live.commits = new_commits(world, place, live, live.commits[::order], parent=base)[::order]
    old = (live.fields.get("diff_refs") or {}).get("base_sha") or base
    set_head(world, live, {"base_sha": base, "start_sha": base})
    branch = live.fields["target_branch"]
    items = f"<li>{old[:8]}...{base[:8]} - 1 commit from branch <code>{branch}</code></li>"
    items += "".join(f"<li>{one['short_id']} - {one['title']}</li>" for one in live.commits[::order])
    body = f"added {len(live.commits) + 1} commits\n\n<ul>{items}</ul>\n\n"
    body += f"[Compare with previous version]({_compare(place, live)})"
    system_note(world, place, live, body, world.person(author), touching=touching)
    if touching:
        touch(world, live)
    changed(place, live)
    head: str = live.fields["sha"]
    return head


@operation
def set_reviewers(
    world: World, /, project: int | str, iid: int, usernames: list[str], *, author: str | None = None
) -> None:
    place = world.place(project)
    live = world.live(project, "merge_requests", iid)
    before = {person["username"] for person in live.fields["reviewers"]}
    live.fields["reviewers"] = [world.person(name) for name in usernames]
    touch(world, live)
    added = " and ".join(f"@{name}" for name in usernames if name not in before)
    removed = " and ".join(f"@{name}" for name in sorted(before - set(usernames)))
    parts = (added and f"requested review from {added}", removed and f"removed review request for {removed}")
    said = " and ".join(part for part in parts if part)
    if said:
        system_note(world, place, live, said, world.person(author))
    changed(place, live)


@operation
def set_closes(world: World, /, project: int | str, iid: int, issues: list[int | dict[str, Any]]) -> None:
    """Say what a merge request closes: iids of its project, or external issues `{"id", "title"}`."""
    world.live(project, "merge_requests", iid).closes = list(issues)


@operation
def set_diffs(world: World, /, project: int | str, iid: int, diffs: list[dict[str, Any]]) -> None:
    """Replace the diffs and nothing else, as when GitLab collapses or cleans them up."""
    world.live(project, "merge_requests", iid).diffs = new_diffs(diffs)


def _compare(place: Place, live: Live) -> str:
    version = live.versions[-1]["id"]
    return f"/{place.path}/-/merge_requests/{live.iid}/diffs?diff_id={version}"
