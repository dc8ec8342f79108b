"""The versions of a merge request: what had been pushed at which moment."""

from __future__ import annotations

from dataclasses import dataclass

from loreline.simulator.demo.diffs import FileDiff, diff_between
from loreline.simulator.demo.repository import History
from loreline.simulator.demo.story import Commit, MergeRequest, moment

# Commits this close together were pushed together.
ONE_PUSH = 20 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Version:
    at: int
    base: str
    start: str
    head: str
    commits: tuple[Commit, ...]
    diffs: tuple[FileDiff, ...]


def versions_of(request: MergeRequest, history: History) -> tuple[Version, ...]:
    """The first version holds what was there when the merge request was opened; each later push adds one."""
    opened = moment(request.at)
    pushes: list[list[Commit]] = [[one for one in request.commits if moment(one.at) <= opened]]
    for later in request.commits[len(pushes[0]) :]:
        if len(pushes) > 1 and moment(later.at) - moment(pushes[-1][-1].at) <= ONE_PUSH:
            pushes[-1].append(later)
        else:
            pushes.append([later])
    base = history.sha(history.fork_points[request.iid])
    return tuple(
        Version(
            at=max(opened, moment(push[-1].at) + 60_000) if number else opened,
            base=base,
            start=history.sha(history.target_tips[push[-1].key]),
            head=history.sha(push[-1].key),
            commits=tuple(push),
            diffs=diff_between(history, base, history.sha(push[-1].key)),
        )
        for number, push in enumerate(pushes)
    )
