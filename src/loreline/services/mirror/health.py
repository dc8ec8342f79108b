"""Is everything in order? Each check on its own, with what to do when it isn't."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import date
from pathlib import Path

import apsw
from msgspec import Struct

from loreline.core.entities import User
from loreline.core.times import to_datetime
from loreline.errors import AuthenticationFailed, GitLabNotFound, LoreError, NotFound
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import GitLab
from loreline.services.mirror.sync import connect
from loreline.services.mirror.targets import find_targets
from loreline.settings import Instance, Settings
from loreline.store.connection import open_database, schema_version, translated

OK, WARNING, FAILED = "ok", "warning", "failed"

_ROOM = 1_000_000_000
_SOON_DAYS = 14
_GIT = (2, 30)


class Check(Struct, frozen=True):
    name: str
    status: str
    message: str
    hint: str | None = None
    exit_code: int = 0
    """What the failure alone would make the command exit with."""


async def who_am_i(settings: Settings, instance: Instance, environ: Mapping[str, str]) -> User:
    """The user an instance's token belongs to."""
    async with connect(instance, settings, environ) as client:
        return (await client.get(endpoints.current_user(), decode.user)).value


async def check_all(settings: Settings, environ: Mapping[str, str], now: int) -> AsyncIterator[Check]:
    """All checks, as they are done: configuration, GitLab, database, disk, git."""
    yield _configuration(settings)
    for warning in settings.warnings:
        yield Check("configuration", WARNING, warning)
    for instance in settings.instances:
        async for check in _instance(settings, instance, environ, now):
            yield check
    for check in _database(settings.database):
        yield check
    yield _disk(settings.database)
    yield _git()


def _configuration(settings: Settings) -> Check:
    if not settings.instances:
        return Check("configuration", FAILED, "no GitLab instance is configured", "run lore init", 3)
    count = sum(len(instance.projects) + len(instance.groups) for instance in settings.instances)
    if not count:
        return Check(
            "configuration", FAILED, "no project or group is configured", 'add projects = ["group/project"]', 4
        )
    return Check("configuration", OK, str(settings.file or "from the environment"))


async def _instance(
    settings: Settings, instance: Instance, environ: Mapping[str, str], now: int
) -> AsyncIterator[Check]:
    name = f"token of {instance.name}"
    try:
        client = connect(instance, settings, environ)
    except LoreError as error:
        yield _failed(name, error)
        return
    async with client:
        try:
            user = (await client.get(endpoints.current_user(), decode.user)).value
        except LoreError as error:
            yield _failed(name if isinstance(error, AuthenticationFailed) else f"reach of {instance.name}", error)
            return
        yield Check(name, OK, f"@{user.username} ({user.name}) at {instance.url}")
        yield await _scopes(client, instance, now)
        try:
            async for check in _projects(client, instance):
                yield check
        except LoreError as error:
            # What ends a sync is here the failure of one check: the others have their say all the same.
            yield _failed(f"projects of {instance.name}", error)


async def _scopes(client: GitLab, instance: Instance, now: int) -> Check:
    name = f"scopes of {instance.name}"
    try:
        token = (await client.get(endpoints.own_token(), decode.token)).value
    except (GitLabNotFound, AuthenticationFailed):
        return Check(name, OK, "not told for this kind of token or release")
    except LoreError as error:
        return _failed(name, error)
    if not {"api", "read_api"} & set(token.scopes):
        return Check(
            name, FAILED, f"{', '.join(token.scopes) or 'none'}: too few", "give the token the scope read_api", 5
        )
    message = ", ".join(token.scopes)
    if token.expires_at:
        days = (date.fromisoformat(token.expires_at) - to_datetime(now).date()).days
        if days <= _SOON_DAYS:
            return Check(name, WARNING, f"{message}; expires on {token.expires_at}", "make a new token before that")
        message += f"; expires on {token.expires_at}"
    if "api" in token.scopes:
        return Check(name, WARNING, f"{message}: more than is needed", "read_api is enough: Loreline never writes")
    return Check(name, OK, message)


async def _projects(client: GitLab, instance: Instance) -> AsyncIterator[Check]:
    failures: list[tuple[str, str, BaseException]] = []

    def failed(path: str, subject: str, error: BaseException) -> None:
        failures.append((path, subject, error))

    found = 0
    async for target in find_targets(client, instance, (), failed):
        found += 1
        project = target.project
        switched_off = [
            word
            for word, enabled in (
                ("issues", project.issues_enabled),
                ("merge requests", project.merge_requests_enabled),
            )
            if not enabled
        ]
        if switched_off:
            yield Check(project.path, WARNING, f"{' and '.join(switched_off)} are switched off in GitLab")
        elif found <= 20:  # a group may have hundreds
            yield Check(project.path, OK, "reached")
    if found > 20:
        yield Check(f"projects of {instance.name}", OK, f"{found} reached")
    for path, _, error in failures:
        yield _failed(path, error if isinstance(error, LoreError) else LoreError(str(error)))


def _database(path: Path) -> Iterator[Check]:
    try:
        db = open_database(path)
    except NotFound as error:
        yield Check("database", WARNING, error.message, error.hint)
        return
    except LoreError as error:
        yield _failed("database", error)
        return
    try:
        with translated(path):
            problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            writable = not db.readonly("main")
    except LoreError as error:
        yield _failed("database", error)
        return
    finally:
        db.close()
    if problem != "ok":
        hint = "move it away and run lore sync; everything in it comes from GitLab"
        yield Check("database", FAILED, f"{path} is damaged: {problem}", hint, 10)
    elif not writable:
        yield Check("database", FAILED, f"{path} cannot be written", "check its owner and mode", 10)
    else:
        size = path.stat().st_size / 1_000_000
        yield Check("database", OK, f"{path}, {size:,.0f} MB, schema {schema_version()}, SQLite {_sqlite()}")


def _sqlite() -> str:
    return str(apsw.sqlite_lib_version())


def _disk(path: Path) -> Check:
    folder = next((parent for parent in path.parents if parent.exists()), Path("/"))
    free = shutil.disk_usage(folder).free
    message = f"{free / 1_000_000_000:.1f} GB free at {folder}"
    if free < _ROOM:
        return Check("disk", WARNING, message, "a mirror takes about 0.6 GB for 15,000 issues and merge requests")
    return Check("disk", OK, message)


def _git() -> Check:
    program = shutil.which("git")
    if program is None:
        return Check("git", WARNING, "the git program was not found", "install it: tracing lines of code needs it")
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout  # noqa: S603
    version = told.removeprefix("git version ").split()[0] if told.startswith("git version ") else "unknown"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < _GIT:
        return Check("git", WARNING, f"version {version}", f"version {_GIT[0]}.{_GIT[1]} or newer is tested")
    return Check("git", OK, f"version {version}")


def _failed(name: str, error: LoreError) -> Check:
    return Check(name, FAILED, error.message, error.hint, error.exit_code)
