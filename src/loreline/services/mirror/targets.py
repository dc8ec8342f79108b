"""Which projects an instance's settings mean: named ones, those of groups, without the excluded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from fnmatch import fnmatchcase

from msgspec import Struct

from loreline.core.entities import Kind, Project
from loreline.errors import AuthenticationFailed, GitLabForbidden, GitLabNotFound, LoreError, NetworkFailed, RateLimited
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import GitLab
from loreline.settings import Instance


class Target(Struct, frozen=True):
    project: Project
    body: bytes


Failed = Callable[[str, str, BaseException], None]


async def find_targets(
    client: GitLab, instance: Instance, wanted: tuple[str, ...], failed: Failed
) -> AsyncIterator[Target]:
    """Each project once. One that can't be had is told to `failed`; a refused token or a dead server ends it all.

    `wanted` narrows them to those paths.
    """
    seen: set[int] = set()
    for path in _candidates(instance, wanted):
        try:
            answer = await client.get(endpoints.project(path), decode.project)
        except (AuthenticationFailed, RateLimited):
            raise
        except LoreError as error:
            _raise_if_unreachable(error)
            failed(path, "project", _missing(error, path))
            continue
        meant = not wanted or any(_names(one, name) for one in wanted for name in (path, answer.value.path))
        if answer.value.gitlab_id not in seen and meant:
            seen.add(answer.value.gitlab_id)
            yield Target(answer.value, answer.body)
    for group in instance.groups:
        try:
            async for target in _group_targets(client, instance, group):
                path = target.project.path
                if target.project.gitlab_id in seen or _excluded(path, instance.exclude):
                    continue
                if wanted and not any(_names(one, path) for one in wanted):
                    continue
                seen.add(target.project.gitlab_id)
                yield target
        except (AuthenticationFailed, RateLimited):
            raise
        except LoreError as error:
            _raise_if_unreachable(error)
            failed(group, "group", _missing(error, group))


def may_mean(instance: Instance, wanted: tuple[str, ...]) -> bool:
    """Whether an instance may have one of the wanted projects: else nobody needs to ask it."""
    numbered = any(path.isdigit() for path in instance.projects)
    return not wanted or bool(instance.groups) or numbered or bool(_named(instance, wanted))


def _candidates(instance: Instance, wanted: tuple[str, ...]) -> list[str]:
    """The configured projects that may be wanted: those named so, else all, for one may be a number or renamed."""
    return _named(instance, wanted) or list(instance.projects)


def _named(instance: Instance, wanted: tuple[str, ...]) -> list[str]:
    return [path for path in instance.projects if not wanted or any(_names(one, path) for one in wanted)]


async def _group_targets(client: GitLab, instance: Instance, group: str) -> AsyncIterator[Target]:
    listing = endpoints.group_projects(group, archived=instance.include_archived)
    async for answer in client.pages(listing, decode.split_items):
        for body in answer.value:
            yield Target(decode.project(body), body)


async def in_sight(client: GitLab, gitlab_project_id: int, kind: Kind) -> bool:
    """Whether the project still shows its entities: if not, a 404 tells of a lost permission, not of a deletion."""
    try:
        answer = await client.get(endpoints.project(gitlab_project_id), decode.project)
    except GitLabNotFound:
        return False
    return answer.value.issues_enabled if kind is Kind.ISSUE else answer.value.merge_requests_enabled


def lost_access(vanished: int, looked_at: int) -> LoreError:
    return GitLabForbidden(
        f"{vanished} of {looked_at} have vanished at once: they are kept, for the token may have lost access",
        hint="check that the token's user is still a member; lore sync --reconcile compares with all there are",
    )


def _excluded(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path.casefold(), pattern.casefold()) for pattern in patterns)


def _names(wanted: str, path: str) -> bool:
    """`--project` takes a full path or its last parts."""
    return f"/{path}".casefold().endswith(f"/{wanted.strip('/')}".casefold())


def _raise_if_unreachable(error: LoreError) -> None:
    """A server that gives no answer at all gives none for the next project either."""
    if isinstance(error, NetworkFailed) and "status" not in error.details:
        raise error


def _missing(error: LoreError, path: str) -> LoreError:
    if not isinstance(error, GitLabNotFound):
        return error
    return type(error)(
        f"{path} is not there, or this token may not see it: {error.message}",
        hint="check the path in the configuration, and that the token's user is a member",
        **error.details,
    )
