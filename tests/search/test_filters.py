"""A filter narrows what is searched, not what was found: nothing that matches it is missed."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.search.harness import NOW, all_found, embed_all, follow_all, local_project, opened, searching, write_threads
from tests.store.rows import add, issue, request

from loreline.core.documents import SourceType
from loreline.core.entities import FileChange, Milestone, User
from loreline.core.query import Filters
from loreline.core.times import DAY, to_iso
from loreline.services.search.asking import search
from loreline.services.search.request import Mode, Request
from loreline.store import changes, code
from loreline.store.connection import transaction

CROWD = 3_000
SAMPLE = 500
WORDS = "the server answers slowly"
DEEPEST = 1_000
"""So many of the lexical index's best are looked at."""

ISSUE, REQUEST, THREAD = SourceType.ISSUE, SourceType.MERGE_REQUEST, SourceType.DISCUSSION
MODES = list(Mode)


def person(name):
    return User(sum(name.encode()) + len(name) * 10_000, name, name)


def milestone(title):
    return Milestone(sum(title.encode()), title)


def touch_files(db, key, *paths):
    files = [FileChange(path, path, "modified", None, None, 1, 1, False, False) for path in paths]
    with transaction(db):
        code.replace_file_changes(db, key, files)
        changes.upserted(db, key.kind, key.id)


# ── a needle in a haystack ──────────────────────────────────────────────────────────────────────────────

OLD, LATE = NOW - 900 * DAY, NOW + 5 * DAY
RARE = {
    "label": Filters(labels=("rare",)),
    "labels": Filters(labels=("rare", "common")),
    "author": Filters(author="needle"),
    "assignee": Filters(assignee="holder"),
    "project": Filters(projects=("other/place",)),
    "milestone": Filters(milestone="v9"),
    "state": Filters(state="locked"),
    "path": Filters(path="src/rare.py"),
    "folder": Filters(path="src/rare/"),
    "after": Filters(created_after=LATE),
    "before": Filters(created_before=OLD + 1),
    "updated after": Filters(updated_after=LATE),
    "updated before": Filters(updated_before=OLD + 1),
    "type": Filters(source_type=REQUEST),
    "several": Filters(labels=("rare",), author="needle", state="locked", updated_after=LATE),
}
"""Each leaves three."""


@pytest.fixture(scope="module")
def haystack(tmp_path_factory, model):
    """Thousands of issues of the same words, shorter and so nearer than the few that stand out by something."""
    database = tmp_path_factory.mktemp("haystack") / "mirror.db"
    with opened(database, create=True) as db:
        app, other = local_project(db), local_project(db, 2, "other/place")
        with transaction(db):
            for iid in range(1, CROWD + 1):
                add(db, app, issue(iid, title=WORDS, labels=("common",), author=person(f"hay{iid % 7}")))
        long = f"{WORDS.title()} whenever somebody looks at it, and nobody knows why."
        first = CROWD + 1
        for at in range(3):
            late = issue(
                first + at, title=long, labels=("common", "rare"), author=person("needle"), state="locked",
                assignees=(person("holder"),), milestone=milestone("v9"), created_at=LATE, updated_at=LATE,
            )  # fmt: skip
            add(db, app, late)
            add(db, app, issue(first + 10 + at, title=long, created_at=OLD, updated_at=OLD))
            add(db, other, issue(at + 1, title=long))
            found = add(db, app, request(at + 1, title=long))
            touch_files(db, found, "src/rare.py", f"src/rare/{at}.py", "src/rarely.py")
        follow_all(db)
        embed_all(db, model)
    return database


def wanted(name):
    first = CROWD + 1
    if name == "project":
        return {f"other/place#{iid}" for iid in (1, 2, 3)}
    if name in {"path", "folder", "type"}:
        return {f"team/app!{iid}" for iid in (1, 2, 3)}
    return {f"team/app#{first + at + (10 if 'before' in name else 0)}" for at in range(3)}


@pytest.mark.parametrize("name", RARE)
def test_what_three_of_thousands_have_is_found_in_every_mode_though_their_words_are_the_most_common(
    haystack, model, name
):
    with searching(haystack, model) as session:
        for mode in MODES:
            answer = search(session, Request(text=WORDS, mode=mode, filters=RARE[name]), NOW)
            assert answer.mode is mode
            assert {hit.reference for hit in answer.results} == wanted(name), mode
            assert len(answer.results) == 3, mode
            assert answer.next_cursor is None


@pytest.mark.parametrize("name", RARE)
def test_a_filter_without_words_lists_what_it_leaves(haystack, model, name):
    with searching(haystack, model) as session:
        assert {hit.reference for hit in search(session, Request(text="", filters=RARE[name]), NOW).results} == wanted(
            name
        )


def test_three_that_are_unlike_the_question_are_found_inside_their_filter(haystack, model):
    with searching(haystack, model) as session:
        for mode in (Mode.SEMANTIC, Mode.HYBRID):
            asked = Request(text="a recipe for soup", mode=mode, filters=RARE["label"])
            assert {hit.reference for hit in search(session, asked, NOW).results} == wanted("label")


# ── every combination, against a plain oracle ───────────────────────────────────────────────────────────

NAMES = ("ada", "eve", "Grace")
LABELS = ("bug", "UI", "back-end", "50% off", "snow_man")
MILESTONES = ("v1", "Next Up")
PATHS = ("src/a.py", "src/ab/c.py", "src/a/x.py", "50%/a_b.py", "50x/acb.py", 'it\'s/"q".py', "src0", "docs/über.md")
FOLDERS = ("src/", "src/a/", "50%/", "it's/", "docs/", "a/")
STATES = ("opened", "closed", "merged")


def everything():
    """What is written, as plain dictionaries: one for each document."""
    chance = random.Random(11)
    for number in range(1, SAMPLE + 1):
        kind = chance.choice((ISSUE, ISSUE, REQUEST))
        created = NOW - chance.randrange(60) * DAY
        entity = {
            "type": kind,
            "project": chance.choice(("team/app", "other/place")),
            "iid": number,
            "author": chance.choice((*NAMES, None)),
            "assignees": tuple(chance.sample(NAMES, chance.randrange(3))),
            "labels": tuple(sorted(chance.sample(LABELS, chance.randrange(4)))),
            "milestone": chance.choice((*MILESTONES, None)),
            "state": chance.choice(STATES if kind is REQUEST else STATES[:2]),
            "created": created,
            "updated": created + chance.randrange(30) * DAY,
            "paths": tuple(chance.sample(PATHS, chance.randrange(3))) if kind is REQUEST else (),
        }
        threads = []
        for _ in range(chance.randrange(3)):
            at = created + chance.randrange(20) * DAY
            path = chance.choice(PATHS) if kind is REQUEST and chance.random() < 0.5 else None
            author = chance.choice(NAMES)
            own = {"author": author, "created": at, "updated": at, "paths": (path,) if path else ()}
            threads.append({**entity, **own, "type": THREAD, "of": kind})
        discussed = {path for thread in threads for path in thread["paths"]}
        yield {**entity, "paths": (*entity["paths"], *discussed), "changed": entity["paths"], "of": kind}, threads


PLAIN = list(everything())
ALL = [one for entity, threads in PLAIN for one in (entity, *threads)]


@pytest.fixture(scope="module")
def various(tmp_path_factory, model):
    database = tmp_path_factory.mktemp("various") / "mirror.db"
    with opened(database, create=True) as db:
        homes = {path: local_project(db, at, path) for at, path in enumerate(("team/app", "other/place"), 1)}
        for entity, threads in PLAIN:
            make = request if entity["type"] is REQUEST else issue
            fields = {name: entity[name] for name in ("state", "labels")}
            made = make(
                entity["iid"], **fields, title=f"Everywhere {entity['iid']}", created_at=entity["created"],
                author=person(entity["author"]) if entity["author"] else None, updated_at=entity["updated"],
                assignees=tuple(map(person, entity["assignees"])),
                milestone=milestone(entity["milestone"]) if entity["milestone"] else None,
            )  # fmt: skip
            key = add(db, homes[entity["project"]], made)
            touch_files(db, key, *entity["changed"]) if entity["type"] is REQUEST else None
            write_threads(db, key, *[[(one["author"], one["created"], "everywhere", *one["paths"])] for one in threads])
        follow_all(db)
        embed_all(db, model)
    return database


def matches(one, filters):
    """The filters as their descriptions have them, in plain Python."""

    def same(value, wish):
        return value is not None and value.lower() == wish.lower()

    def below(path, wish):
        return path.startswith(wish) if wish.endswith("/") else path == wish

    given_ = filters
    return all(
        (
            given_.source_type is None or one["type"] is given_.source_type,
            given_.author is None or same(one["author"], given_.author),
            given_.assignee is None or any(same(name, given_.assignee) for name in one["assignees"]),
            not given_.projects or one["project"] in given_.projects,
            all(any(same(label, wish) for label in one["labels"]) for wish in given_.labels),
            given_.milestone is None or same(one["milestone"], given_.milestone),
            given_.state is None or one["state"] == given_.state,
            given_.path is None or any(below(path, given_.path) for path in one["paths"]),
            given_.created_after is None or one["created"] >= given_.created_after,
            given_.created_before is None or one["created"] < given_.created_before,
            given_.updated_after is None or one["updated"] >= given_.updated_after,
            given_.updated_before is None or one["updated"] < given_.updated_before,
        )
    )


def told(hits):
    return sorted((hit.project, hit.iid, hit.type, hit.created_at, hit.author or "") for hit in hits)


def expected(filters):
    return sorted(
        (one["project"], one["iid"], one["type"], one["created"], one["author"] or "")
        for one in ALL
        if matches(one, filters)
    )


MOMENTS = st.none() | st.integers(-70, 40).map(lambda days: NOW + days * DAY)
FILTERS = st.builds(
    Filters,
    source_type=st.sampled_from([None, None, *SourceType]),
    author=st.sampled_from([None, None, "ada", "EVE", "grace", "nobody"]),
    assignee=st.sampled_from([None, None, None, "Ada", "grace"]),
    projects=st.sampled_from([(), (), ("team/app",), ("other/place",), ("team/app", "other/place")]),
    labels=st.lists(st.sampled_from(["bug", "ui", "back-end", "50% off", "SNOW_MAN"]), max_size=2).map(tuple),
    milestone=st.sampled_from([None, None, None, "v1", "next up"]),
    state=st.sampled_from([None, None, *STATES]),
    path=st.sampled_from([None, None, None, *PATHS, *FOLDERS]),
    created_after=MOMENTS,
    created_before=MOMENTS,
    updated_after=MOMENTS,
    updated_before=MOMENTS,
)
SEARCHED = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@pytest.fixture(scope="module")
def session(various, model):
    with searching(various, model) as found:
        yield found


@settings(max_examples=60, **SEARCHED)
@given(FILTERS, st.sampled_from(MODES), st.integers(20, 100))
def test_any_filters_find_all_that_matches_them_page_by_page_and_nothing_twice(session, filters, mode, limit):
    hits = all_found(session, "everywhere", mode=mode, filters=filters, limit=limit)
    assert len({hit.document_id for hit in hits}) == len(hits)
    found, wish = told(hits), expected(filters)
    if len(wish) <= (DEEPEST if mode is Mode.LEXICAL else 300):
        assert found == wish
    else:  # by their vectors the nearest few hundred are told, and by their words no more than can be paged through
        assert set(found) <= set(wish)
        assert len(found) >= 300


@settings(max_examples=40, **SEARCHED)
@given(FILTERS, st.sampled_from(MODES), st.booleans())
def test_filters_in_the_query_are_those_beside_it(session, filters, mode, quoted):
    written = []
    for name in filters.given:
        key = {"source_type": "type", "projects": "project", "labels": "label"}.get(name, name.replace("_", "-"))
        value = getattr(filters, name)
        for one in value if isinstance(value, tuple) else (value,):
            shown = to_iso(one) if isinstance(one, int) else str(one).replace('"', '\\"')
            written.append(f'{key}:"{shown}"' if quoted or " " in shown or '"' in shown else f"{key}:{shown}")
    text = " ".join(["everywhere", *written])
    assert told(all_found(session, text, mode=mode)) == told(
        all_found(session, "everywhere", mode=mode, filters=filters)
    )


@pytest.mark.parametrize("path", [*PATHS, *FOLDERS, "50_/", "%", "src/_.py", "src/%", "SRC/a.py", "'", "src"])
def test_a_path_means_its_own_characters_and_nothing_else(session, path):
    filters = Filters(path=path)
    assert told(all_found(session, "everywhere", mode=Mode.LEXICAL, filters=filters)) == expected(filters)
    assert (expected(filters) != []) == (path in {*PATHS, *FOLDERS} - {"a/"})


NOTHING = {
    "author": ("author", Filters(author="nobody")),
    "assignee": ("assignee", Filters(assignee="nobody")),
    "label": ("label", Filters(labels=("nowhere",))),
    "milestone": ("milestone", Filters(milestone="v99")),
    "state": ("state", Filters(state="locked")),
    "path": ("path", Filters(path="nowhere/")),
    "after": ("after", Filters(created_after=NOW + 900 * DAY)),
    "before": ("before", Filters(created_before=0)),
    "updated after": ("updated-after", Filters(updated_after=NOW + 900 * DAY)),
    "updated before": ("updated-before", Filters(updated_before=0)),
}


@pytest.mark.parametrize(("name", "filters"), NOTHING.values(), ids=NOTHING)
def test_a_filter_that_nothing_matches_finds_nothing_and_is_named(session, name, filters):
    for mode in MODES:
        narrowed = structs.replace(filters, source_type=ISSUE)
        answer = search(session, Request(text="everywhere", mode=mode, filters=narrowed), NOW)
        assert answer.results == []
        (suggestion,) = (one for one in answer.suggestions if one.without is not None)
        assert suggestion.without == name
        assert suggestion.text == f"without {name} there are {suggestion.found}"
        if mode is Mode.LEXICAL:
            assert suggestion.found == len(expected(Filters(source_type=ISSUE)))


def test_all_threads_of_one_issue_are_found_however_many_they_are(tmp_path, model):
    database = tmp_path / "mirror.db"
    with opened(database, create=True) as db:
        key = add(db, local_project(db), issue(1))
        write_threads(db, key, *[[("ada", NOW, f"A walrus, number {number}.")] for number in range(7)])
        follow_all(db)
        embed_all(db, model)
    with searching(database, model) as session:
        for mode in MODES:
            hits = search(session, Request(text="walrus", mode=mode, filters=Filters(source_type=THREAD)), NOW).results
            assert sorted(hit.snippet.text[-2:] for hit in hits) == [f"{number}." for number in range(7)], mode
