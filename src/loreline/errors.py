"""The kinds of failure a user can meet, split by what can be done about them.

LoreError
├── UsageError            the command line is off                       2
├── ConfigMissing         there is no configuration yet                 3
├── ConfigInvalid         the configuration says something impossible   4
├── AuthenticationFailed  GitLab refuses the token, or its scope        5
├── GitLabNotFound        a project or entity GitLab does not show us   6
│   └── GitLabForbidden   it is there, but this token may not see it    6
├── RateLimited           GitLab asks us to wait longer than we will    7
├── NetworkFailed         GitLab was not reached, or broke off          8
├── DatabaseLocked        another program holds the database            9
├── DatabaseFailed        the file is full, read-only or corrupt       10
├── MigrationFailed       the schema could not be brought up to date   11
├── SyncRunning           another sync is alive                        12
├── InvalidValue          an argument names something impossible       13
├── EmbedderUnavailable   what makes vectors is not to be had          14
├── ModelNotFound         it is there, but does not know the model     15
├── EmbeddingFailed       it failed on a text                          16
├── NotFound              nothing in the mirror answers to that        17
├── Ambiguous             more than one thing answers to that          18
├── PartialFailure        some items failed; the rest is done          19
└── GitFailed             the local repository, or git, won't tell     20

Anything else that escapes is a fault of ours: exit code 1. Ctrl-C exits with 130.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class LoreError(Exception):
    """A failure told in one line, with what to do next.

    `code` is the stable word robots match on; `exit_code` is the process's. Fields that robots may
    want beside the sentence go into `details`.
    """

    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __reduce__(self) -> tuple[Callable[..., LoreError], tuple[object, ...]]:
        """Errors cross from the writer's process into ours."""
        return _rebuilt, (type(self), self.message, self.hint, self.details)


def _rebuilt(kind: type[LoreError], message: str, hint: str | None, details: dict[str, object]) -> LoreError:
    return kind(message, hint=hint, **details)


class UsageError(LoreError):
    code = "usage"
    exit_code = 2


class ConfigMissing(LoreError):
    code = "config_missing"
    exit_code = 3


class ConfigInvalid(LoreError):
    code = "config_invalid"
    exit_code = 4


class AuthenticationFailed(LoreError):
    code = "authentication_failed"
    exit_code = 5


class GitLabNotFound(LoreError):
    code = "gitlab_not_found"
    exit_code = 6


class GitLabForbidden(GitLabNotFound):
    code = "gitlab_forbidden"


class RateLimited(LoreError):
    code = "rate_limited"
    exit_code = 7


class NetworkFailed(LoreError):
    code = "network_failed"
    exit_code = 8


class DatabaseLocked(LoreError):
    code = "database_locked"
    exit_code = 9


class DatabaseFailed(LoreError):
    code = "database_failed"
    exit_code = 10


class MigrationFailed(LoreError):
    code = "migration_failed"
    exit_code = 11


class SyncRunning(LoreError):
    code = "sync_running"
    exit_code = 12


class InvalidValue(LoreError):
    code = "invalid_value"
    exit_code = 13


class EmbedderUnavailable(LoreError):
    code = "embedder_unavailable"
    exit_code = 14


class ModelNotFound(LoreError):
    code = "model_not_found"
    exit_code = 15


class EmbeddingFailed(LoreError):
    code = "embedding_failed"
    exit_code = 16


class NotFound(LoreError):
    code = "not_found"
    exit_code = 17


class Ambiguous(LoreError):
    code = "ambiguous"
    exit_code = 18


class PartialFailure(LoreError):
    code = "partial_failure"
    exit_code = 19


class GitFailed(LoreError):
    code = "git_failed"
    exit_code = 20
