"""The kinds of failure: their exit codes are a contract with scripts, and they cross between processes."""

import pickle
import re

import pytest

from loreline import errors
from loreline.errors import LoreError

TABLE = {
    "LoreError": 1,
    "UsageError": 2,
    "ConfigMissing": 3,
    "ConfigInvalid": 4,
    "AuthenticationFailed": 5,
    "GitLabNotFound": 6,
    "GitLabForbidden": 6,
    "RateLimited": 7,
    "NetworkFailed": 8,
    "DatabaseLocked": 9,
    "DatabaseFailed": 10,
    "MigrationFailed": 11,
    "SyncRunning": 12,
    "InvalidValue": 13,
    "EmbedderUnavailable": 14,
    "ModelNotFound": 15,
    "EmbeddingFailed": 16,
    "NotFound": 17,
    "Ambiguous": 18,
    "PartialFailure": 19,
    "GitFailed": 20,
}
"""What docs/robot-mode.md promises."""


def kinds(kind=LoreError):
    found = [kind]
    for inner in kind.__subclasses__():
        if inner.__module__ == errors.__name__:
            found += kinds(inner)
    return found


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_each_kind_has_the_exit_code_of_the_table(kind):
    number = TABLE.get(kind.__name__)
    if number is not None:
        assert kind.exit_code == number
    else:
        assert 20 <= kind.exit_code < 126, "a new kind needs a code that no older one or shell uses"


def test_only_a_kind_and_its_own_refinement_share_an_exit_code():
    for one in kinds():
        for other in kinds():
            if one.exit_code == other.exit_code:
                assert issubclass(one, other) or issubclass(other, one)


def test_the_word_robots_match_on_is_each_kinds_own():
    words = [kind.code for kind in kinds()]
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"[a-z][a-z_]*", word) for word in words)


def test_the_table_in_the_module_tells_the_true_codes():
    told = dict(re.findall(r"[├└]── (\w+) .*?(\d+)$", errors.__doc__ or "", re.MULTILINE))
    assert {name: int(number) for name, number in told.items()} == {
        kind.__name__: kind.exit_code for kind in kinds() if kind is not LoreError
    }


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_error_crosses_a_process_boundary_whole(kind):
    error = kind("it failed", hint="try again", status=404, path="a/b")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (copy.message, copy.hint, copy.details) == ("it failed", "try again", {"status": 404, "path": "a/b"})
    assert str(copy) == "it failed"


def test_an_error_without_hint_crosses_too():
    copy = pickle.loads(pickle.dumps(LoreError("it failed")))
    assert (copy.message, copy.hint, copy.details) == ("it failed", None, {})
