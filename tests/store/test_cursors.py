import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.rows import add_project

from loreline.core.entities import Kind
from loreline.store import cursors
from loreline.store.cursors import Advance, Cursor


def advance(db, project, kind, to, after=None):
    cursors.advance(db, project.id, kind, Advance(after, to))


def test_a_project_nobody_listed_has_no_cursor(db, project):
    assert cursors.read(db, project.id, Kind.ISSUE) is None


@pytest.mark.parametrize("earlier", [Cursor(99, 50), Cursor(100, 4), Cursor(100, 5), Cursor(0, 999)])
def test_a_cursor_never_goes_back(db, project, earlier):
    advance(db, project, Kind.ISSUE, Cursor(100, 5))
    advance(db, project, Kind.ISSUE, earlier)
    assert cursors.read(db, project.id, Kind.ISSUE) == Cursor(100, 5)


@pytest.mark.parametrize("later", [Cursor(100, 6), Cursor(101, 1)])
def test_a_cursor_goes_on(db, project, later):
    advance(db, project, Kind.ISSUE, Cursor(100, 5))
    advance(db, project, Kind.ISSUE, later)
    assert cursors.read(db, project.id, Kind.ISSUE) == later


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_in_whatever_order_pages_come_the_furthest_counts(db, project, reached):
    cursors.reset(db, project.id, Kind.ISSUE)
    for updated_at, gitlab_id in reached:
        advance(db, project, Kind.ISSUE, Cursor(updated_at, gitlab_id))
    assert cursors.read(db, project.id, Kind.ISSUE) == Cursor(*max(reached))


def test_a_cursor_waits_for_the_pages_before(db, project):
    advance(db, project, Kind.ISSUE, Cursor(100, 5))
    advance(db, project, Kind.ISSUE, Cursor(300, 1), after=Cursor(200, 1))
    assert cursors.read(db, project.id, Kind.ISSUE) == Cursor(100, 5)
    advance(db, project, Kind.ISSUE, Cursor(200, 1), after=Cursor(100, 5))
    advance(db, project, Kind.ISSUE, Cursor(300, 1), after=Cursor(200, 1))
    assert cursors.read(db, project.id, Kind.ISSUE) == Cursor(300, 1)


def test_without_a_cursor_only_the_first_page_moves_it(db, project):
    advance(db, project, Kind.ISSUE, Cursor(300, 1), after=Cursor(200, 1))
    assert cursors.read(db, project.id, Kind.ISSUE) is None
    advance(db, project, Kind.ISSUE, None)
    assert cursors.read(db, project.id, Kind.ISSUE) is None


def test_each_kind_of_each_project_has_its_own_and_starts_over_alone(db, project, instance):
    other = add_project(db, instance, 2, "team/other")
    for number, (owner, kind) in enumerate([(project, Kind.ISSUE), (project, Kind.MERGE_REQUEST), (other, Kind.ISSUE)]):
        advance(db, owner, kind, Cursor(100 + number, 1))
    cursors.reset(db, project.id, Kind.ISSUE)
    assert cursors.read(db, project.id, Kind.ISSUE) is None
    assert cursors.read(db, project.id, Kind.MERGE_REQUEST) == Cursor(101, 1)
    assert cursors.read(db, other.id, Kind.ISSUE) == Cursor(102, 1)
