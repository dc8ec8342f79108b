"""Commits, and the merges they came in by."""

import pytest

from loreline.git import log


def merged(clone, branch, message):
    clone("merge", "-q", "--no-ff", "-m", message, branch)
    return clone("rev-parse", "HEAD")


@pytest.fixture
def story(clone):
    """main: base ── merge one ── direct ── merge two; two was begun on one."""
    base = clone.commit("Base", a_py="1\n")
    clone("checkout", "-q", "-b", "one")
    first = clone.commit("First of one", b_py="1\n")
    second = clone.commit("Second of one", b_py="2\n")
    clone("checkout", "-q", "-b", "two")
    third = clone.commit("Of two", c_py="1\n")
    clone("checkout", "-q", "main")
    one = merged(clone, "one", "Merge one")
    direct = clone.commit("Straight to main", d_py="1\n")
    two = merged(clone, "two", "Merge two")
    clone("checkout", "-q", "-b", "open")
    stray = clone.commit("Not merged", e_py="1\n")
    clone("checkout", "-q", "main")
    return {
        "base": (base, base), "first": (first, one), "second": (second, one), "third": (third, two), "one": (one, one),
        "direct": (direct, direct), "two": (two, two), "stray": (stray, None),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["base", "first", "second", "third", "one", "direct", "two", "stray"])
def test_a_commit_came_in_by_the_merge_that_first_had_it(clone, story, name):
    sha, merge = story[name]
    assert log.brought_by(clone.repository, sha, story["two"][0]) == merge


def test_a_commit_tells_of_itself(clone):
    base = clone.commit("Base", a_py="1\n")
    head = clone.commit("A title\n\nAnd a body,\nof two lines.\n", a_py="2\n")
    told = log.commit(clone.repository, head)
    assert (told.sha, told.parents, told.author, told.author_email) == (head, (base,), "ada", "ada")
    assert told.title == "A title"
    assert told.message == "A title\n\nAnd a body,\nof two lines."
    assert log.commit(clone.repository, "f" * 40) is None
