"""Edges between entities: each once, whoever shows it, whenever its ends come and go."""

import pytest
from tests.store.rows import NOW, add, add_project, issue, request

from loreline.core.entities import Kind, Project
from loreline.core.references import ReferenceType, SourceMethod
from loreline.store import entities, projects, references
from loreline.store.references import End, Sighting

ISSUE, REQUEST = Kind.ISSUE, Kind.MERGE_REQUEST
DESCRIPTION, NOTE, SYSTEM = SourceMethod.DESCRIPTION, SourceMethod.NOTE, SourceMethod.SYSTEM_NOTE
CLOSES, MENTIONED = ReferenceType.CLOSES, ReferenceType.MENTIONED


@pytest.fixture
def show(db, instance):
    """Make these the sightings of an observer by a method."""

    def shown(observer, method, *sightings):
        return references.replace_sightings(
            db, instance, (observer.kind, observer.id), (method,), [(method, one) for one in sightings]
        )

    return shown


def local(key):
    return End(key.kind, key.id)


def away(kind, path, iid):
    return End(kind, None, path, iid)


def mention(source, target, origin=0, at=NOW, kind=MENTIONED):
    return Sighting(source, target, kind, "mentions", origin, at)


def edges(db):
    """(source, target, type) of each edge; an end is its id, or its path and number."""
    rows = db.execute(
        "SELECT source_entity_id, source_project_path, source_entity_iid, target_entity_id, target_project_path,"
        " target_entity_iid, external_key, reference_type FROM entity_references ORDER BY id"
    )
    return [
        (row[0] or f"{row[1]}:{row[2]}", row[3] or row[6] or f"{row[4]}:{row[5]}", row[7]) for row in rows.fetchall()
    ]


def sources(db):
    return db.execute(
        "SELECT observer_id, source_method, origin_id FROM reference_sources ORDER BY observer_id, 2, 3"
    ).fetchall()


def arrive(db, instance, project, entity):
    key = add(db, project, entity)
    references.entity_arrived(db, instance, key.kind, key.id, projects.paths(db, project.id), key.iid)
    return key


@pytest.fixture
def three(db, project):
    return add(db, project, issue(1)), add(db, project, issue(2)), add(db, project, request(1))


def test_one_relation_is_one_edge_however_many_sources_show_it(db, show, three):
    one, _, other = three
    edge = mention(local(other), local(one))
    show(other, DESCRIPTION, edge)
    show(other, NOTE, mention(local(other), local(one), 55), mention(local(other), local(one), 56))
    show(one, SYSTEM, mention(local(other), local(one), 77))
    assert edges(db) == [(other.id, one.id, "mentioned")]
    assert len(sources(db)) == 4


def test_only_what_was_not_seen_before_is_told_as_new(show, three):
    one, two, other = three
    first, second = mention(local(other), local(one)), mention(local(other), local(two))
    assert show(other, DESCRIPTION, first) == [first]
    assert show(other, DESCRIPTION, first, second) == [second]
    assert show(other, DESCRIPTION, first, second, second) == []


def test_an_edge_goes_with_its_last_source_and_not_before(db, show, three):
    one, _, other = three
    show(other, DESCRIPTION, mention(local(other), local(one)))
    show(one, SYSTEM, mention(local(other), local(one), 77))
    show(other, DESCRIPTION)
    assert edges(db) == [(other.id, one.id, "mentioned")]
    show(one, SYSTEM)
    assert edges(db) == []
    assert sources(db) == []


def test_what_one_method_no_longer_shows_another_keeps(db, show, three):
    one, two, other = three
    show(other, DESCRIPTION, mention(local(other), local(one)))
    show(other, NOTE, mention(local(other), local(two), 5))
    show(other, NOTE)
    assert edges(db) == [(other.id, one.id, "mentioned")]


def test_direction_and_type_make_different_edges(db, show, three):
    one, _, other = three
    show(
        other,
        DESCRIPTION,
        mention(local(other), local(one)),
        mention(local(one), local(other)),
        mention(local(other), local(one), kind=CLOSES),
    )
    assert len(edges(db)) == 3


def test_an_edge_is_as_old_as_its_oldest_sighting(db, show, three):
    one, _, other = three
    show(other, DESCRIPTION, mention(local(other), local(one), at=None))
    seen = [mention(local(other), local(one), at, at) for at in (NOW, NOW - 5, NOW + 5)]
    show(one, SYSTEM, *seen)
    assert db.execute("SELECT created_at FROM entity_references").fetchall() == [(NOW - 5,)]
    show(one, SYSTEM, seen[0], seen[2])
    assert db.execute("SELECT created_at FROM entity_references").fetchall() == [(NOW,)]


def test_an_issue_of_another_tracker_stays_as_it_is_called(db, show, three):
    *_, other = three
    show(other, SourceMethod.API_CLOSES_ISSUES, mention(local(other), End(ISSUE, external="JIRA-1"), kind=CLOSES))
    assert edges(db) == [(other.id, "JIRA-1", "closes")]


def test_a_target_that_is_not_mirrored_is_kept_and_found_when_it_comes(db, instance, project, show, three):
    one, *_ = three
    show(one, DESCRIPTION, mention(local(one), away(ISSUE, "team/app", 9)))
    assert edges(db) == [(one.id, "team/app:9", "mentioned")]
    late = arrive(db, instance, project, issue(9))
    assert edges(db) == [(one.id, late.id, "mentioned")]


def test_the_merge_request_of_the_same_number_is_not_the_target(db, instance, project, show, three):
    one, *_ = three
    show(one, DESCRIPTION, mention(local(one), away(ISSUE, "team/app", 9)))
    arrive(db, instance, project, request(9))
    assert edges(db) == [(one.id, "team/app:9", "mentioned")]


def test_a_source_that_is_not_mirrored_is_found_when_it_comes(db, instance, project, show, three):
    one, *_ = three
    show(one, SYSTEM, mention(away(REQUEST, "team/app", 9), local(one), 7))
    late = arrive(db, instance, project, request(9))
    assert edges(db) == [(late.id, one.id, "mentioned")]


@pytest.mark.parametrize("written", ["team/old", "team/app", "Team/OLD"])
def test_a_target_is_found_under_any_path_its_project_ever_had(db, instance, show, three, written):
    one, *_ = three
    show(one, DESCRIPTION, mention(local(one), away(ISSUE, written, 9)))
    other = add_project(db, instance, 5, "team/old")
    other = projects.upsert(db, instance, Project(5, "team/new", "new"))
    if written == "team/app":
        other = projects.by_gitlab_id(db, instance, 1)
    late = arrive(db, instance, other, issue(9, gitlab_id=9009))
    assert edges(db) == [(one.id, late.id, "mentioned")]


def test_the_same_path_of_another_instance_is_another_project(db, show, three):
    one, *_ = three
    show(one, DESCRIPTION, mention(local(one), away(ISSUE, "team/far", 9)))
    elsewhere = projects.instance_id(db, "https://elsewhere.example.com")
    far = add_project(db, elsewhere, 1, "team/far")
    arrive(db, elsewhere, far, issue(9))
    assert edges(db) == [(one.id, "team/far:9", "mentioned")]


def test_two_names_of_one_target_become_one_edge_with_all_that_shows_it(db, instance, show, three):
    one, *_ = three
    renamed = projects.upsert(db, instance, Project(5, "team/old", "old"))
    renamed = projects.upsert(db, instance, Project(5, "team/new", "new"))
    show(one, DESCRIPTION, mention(local(one), away(ISSUE, "team/old", 9), at=NOW - 9))
    show(
        one,
        NOTE,
        mention(local(one), away(ISSUE, "team/new", 9), 5, NOW - 5),
        mention(local(one), away(ISSUE, "Team/New", 9), 6),
    )
    assert len(edges(db)) == 2  # however the same path is written
    late = arrive(db, instance, renamed, issue(9, gitlab_id=9009))
    assert edges(db) == [(one.id, late.id, "mentioned")]
    assert sources(db) == [(one.id, "description_parse", 0), (one.id, "note_parse", 5), (one.id, "note_parse", 6)]
    assert db.execute("SELECT created_at FROM entity_references").fetchone() == (NOW - 9,)


def test_one_source_that_names_a_target_twice_shows_it_once_when_it_comes(db, instance, show, three):
    one, *_ = three
    renamed = projects.upsert(db, instance, Project(5, "team/old", "old"))
    renamed = projects.upsert(db, instance, Project(5, "team/new", "new"))
    show(
        one,
        DESCRIPTION,
        mention(local(one), away(ISSUE, "team/old", 9)),
        mention(local(one), away(ISSUE, "team/new", 9)),
    )
    late = arrive(db, instance, renamed, issue(9, gitlab_id=9009))
    assert edges(db) == [(one.id, late.id, "mentioned")]
    assert len(sources(db)) == 1


def test_when_a_target_is_deleted_its_path_and_number_stand_for_it(db, instance, project, show, three):
    one, two, _ = three
    show(one, DESCRIPTION, mention(local(one), local(two)))
    entities.delete(db, two, noticed_at=NOW)
    assert edges(db) == [(one.id, "team/app:2", "mentioned")]
    again = arrive(db, instance, project, issue(2, gitlab_id=5555))
    assert edges(db) == [(one.id, again.id, "mentioned")]


def test_when_a_source_is_deleted_what_others_show_of_it_stays(db, show, three):
    one, two, other = three
    show(other, DESCRIPTION, mention(local(other), local(one)), mention(local(other), local(two)))
    show(one, SYSTEM, mention(local(other), local(one), 7))
    entities.delete(db, other, noticed_at=NOW)
    assert edges(db) == [("team/app:1", one.id, "mentioned")]
    assert sources(db) == [(one.id, "system_note_parse", 7)]


def test_an_edge_with_no_local_end_left_is_forgotten(db, show, three):
    one, two, _ = three
    show(one, SYSTEM, mention(local(two), local(one), 7))
    entities.delete(db, two, noticed_at=NOW)
    entities.delete(db, one, noticed_at=NOW)
    assert edges(db) == []
    assert sources(db) == []
