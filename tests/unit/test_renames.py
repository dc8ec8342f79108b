"""Chains of renames, back and forth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.renames import Rename, chain


def among(*renames):
    return lambda names: [one for one in renames if one.old in names or one.new in names]


STORY = (Rename("auth.py", "session.py", 10), Rename("session.py", "sessions.py", 20), Rename("x.py", "y.py", 5))


@pytest.mark.parametrize("path", ["auth.py", "session.py", "sessions.py"])
def test_from_any_name_all_are_found_the_oldest_first(path):
    found = chain(path, among(*STORY))
    assert found.paths == ["auth.py", "session.py", "sessions.py"]
    assert not found.truncated


def test_a_file_that_was_never_renamed_has_one_name():
    assert chain("z.py", among(*STORY)).paths == ["z.py"]


def test_there_and_back_ends():
    found = chain("a", among(Rename("a", "b", 1), Rename("b", "a", 2)))
    assert sorted(found.paths) == ["a", "b"]
    assert not found.truncated


def test_so_many_hops_are_followed_and_then_it_is_told():
    renames = [Rename(f"{number:02}", f"{number + 1:02}", number) for number in range(20)]
    found = chain("00", among(*renames))
    assert found.paths == [f"{number:02}" for number in range(11)]
    assert found.truncated
    assert not chain("00", among(*renames[:10])).truncated


def test_what_came_from_two_files_has_both():
    found = chain("c", among(Rename("a", "c", 1), Rename("b", "c", 2)))
    assert found.paths == ["a", "b", "c"]


NAMES = st.sampled_from("abcdefgh")


@given(st.lists(st.builds(Rename, NAMES, NAMES, st.integers(0, 50)), max_size=8), NAMES)
def test_whatever_the_renames_each_name_stands_once_and_the_asked_one_is_there(renames, path):
    reached = {path}
    for _ in range(len(renames)):
        for one in renames:
            if {one.old, one.new} & reached:
                reached |= {one.old, one.new}
    found = chain(path, among(*renames))
    assert set(found.paths) == reached
    assert len(found.paths) == len(reached)
    assert not found.truncated
