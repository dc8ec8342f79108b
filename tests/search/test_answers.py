"""What search answers about the demo project: right things first, told how, and what to ask instead."""

import concurrent.futures
from statistics import fmean

import pytest
from bench.evaluation import golden
from bench.evaluation.judging import marks
from tests.search.harness import searching

from loreline.core.documents import SourceType
from loreline.core.entities import Kind
from loreline.core.query import Filters
from loreline.core.ranking import Corpus
from loreline.errors import EmbedderUnavailable, InvalidValue, ModelNotFound
from loreline.services.search import asking, relating
from loreline.services.search.request import Mode, Request, Sort
from loreline.services.search.session import Session

NOW = 1_735_689_600_000  # 2025-01-01
HARBOR = "northwind/harbor"


@pytest.fixture(scope="module")
def session(mirrored, model):
    with searching(mirrored.folder / "mirror.db", model) as session:
        yield session


def ask(session, text, **how):
    return asking.search(session, Request(text=text, **how), NOW)


def references(answer):
    return [hit.reference.removeprefix(HARBOR) for hit in answer.results]


# ── the golden questions ────────────────────────────────────────────────────────────────────────────────


def ranking(session, question):
    filters = Filters(source_type=question.source_type)
    answer = ask(session, question.query, filters=filters, limit=50, group=True)
    return [(hit.type, hit.reference) for hit in answer.results]


@pytest.mark.parametrize("question", golden.questions(), ids=lambda one: one.query)
def test_a_golden_question_has_an_answer_among_its_first(session, question):
    found = ranking(session, question)
    places = [place for place, one in enumerate(found, start=1) if one in question.answers]
    assert places, found[:5]
    assert places[0] <= 5, found[:5]


def test_the_golden_questions_are_many_and_of_every_kind():
    asked = golden.questions()
    assert len(asked) >= 40
    assert {
        "sentence", "keywords", "identifier", "path", "version", "error", "phrase", "required", "exclusion", "prefix",
        "filter", "reference", "language",
    } <= {one.kind for one in asked}  # fmt: skip


def test_the_golden_questions_are_answered_well_on_the_whole(session):
    told = [marks(ranking(session, question), question.answers) for question in golden.questions()]
    assert fmean(one.ndcg for one in told) >= 85
    assert fmean(one.recall for one in told) >= 95


# ── modes ───────────────────────────────────────────────────────────────────────────────────────────────


def test_by_meaning_a_question_finds_what_uses_none_of_its_words(session):
    question = "notification on the telephone at arrival"
    assert references(ask(session, question, mode=Mode.SEMANTIC, group=True))[0] in {"#24", "!30"}
    assert all(set(hit.explain) <= {"opening", "passage"} for hit in ask(session, question, mode=Mode.SEMANTIC).results)


def test_by_words_nothing_is_found_that_has_none_of_them(session):
    assert ask(session, "zeppelin", mode=Mode.LEXICAL).results == []
    found = ask(session, "deadlock", mode=Mode.LEXICAL)
    assert found.mode is Mode.LEXICAL
    assert found.results
    assert all(set(hit.explain) == {"words"} for hit in found.results)


def test_a_score_is_the_sum_of_what_is_explained(session):
    for hit in ask(session, "refresh token grace period", limit=50).results:
        assert hit.score == pytest.approx(sum(part.share for part in hit.explain.values()), abs=1e-3)


def test_nonsense_finds_nothing_by_meaning_either(session):
    assert ask(session, "xqzzt blorfnik wuggle").results == []


def test_code_and_talk_are_weighed_differently(session):
    talk = ask(session, "read the last scan", limit=1).results[0].explain
    code = ask(session, "read the last scan", limit=1, corpus=Corpus.CODE).results[0].explain
    assert code["words"].share < talk["words"].share


class Broken:
    """An embedder that is there no more."""

    name, least_cosine = "broken", 0.0

    def query(self, _text):
        raise ModelNotFound("it has gone", hint="bring it back")

    def close(self):
        pass


def test_without_its_embedder_a_search_goes_by_words_and_says_so(mirrored):
    session = Session(mirrored.folder / "mirror.db", lambda _name: Broken())
    answer = ask(session, "deadlock in a migration")
    assert answer.mode is Mode.LEXICAL
    assert "it has gone" in answer.warnings[0]
    assert "#18" in references(answer)
    with pytest.raises(EmbedderUnavailable) as caught:
        ask(session, "deadlock in a migration", mode=Mode.SEMANTIC)
    assert caught.value.exit_code == 14
    assert caught.value.hint == "bring it back"
    session.close()


# ── what is found, and how it is shown ──────────────────────────────────────────────────────────────────


def test_an_issue_is_found_by_what_its_comments_say_and_shows_that_comment(session):
    hit = ask(session, "parental leave", filters=Filters(source_type=SourceType.ISSUE)).results[0]
    assert hit.reference == f"{HARBOR}#8"
    assert "parental leave" in hit.snippet.text
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.marks] == ["parental", "leave"]
    assert hit.snippet.url == f"{hit.url}#note_{hit.snippet.note_id}"


def test_threads_come_by_themselves_or_under_their_entity(session):
    alone = ask(session, "compare-and-set", filters=Filters(source_type=SourceType.DISCUSSION))
    assert {hit.type for hit in alone.results} == {SourceType.DISCUSSION}
    grouped = ask(session, "lock queue", group=True)
    assert all(hit.type is not SourceType.DISCUSSION for hit in grouped.results)
    assert any(hit.threads for hit in grouped.results)


def test_what_the_question_names_comes_first_whatever_else_it_says(session):
    for text in (
        "what about !22 and caches",
        f"{HARBOR}!22",
        "https://gitlab.example.com/northwind/harbor/-/merge_requests/22",
    ):
        first = ask(session, text).results[0]
        assert (first.reference, first.exact) == (f"{HARBOR}!22", True), text


def test_a_link_to_a_note_shows_that_note(session):
    note = ask(session, "parental leave", filters=Filters(source_type=SourceType.ISSUE)).results[0].snippet
    hit = ask(session, f"https://gitlab.example.com/northwind/harbor/-/issues/8#note_{note.note_id}").results[0]
    assert hit.snippet.note_id == note.note_id


def test_a_commit_leads_to_its_merge_request(session):
    with session.reading(with_vectors=False) as reading:
        sha, iid = reading.db.execute(
            "SELECT c.sha, m.iid FROM mr_commits c JOIN merge_requests m ON m.id = c.merge_request_id LIMIT 1"
        ).fetchone()
    for asked in (sha, sha[:10]):
        assert ask(session, asked).results[0].reference == f"{HARBOR}!{iid}"


def test_required_phrases_and_excluded_words_hold_by_meaning_too(session):
    with_phrase = ask(session, '"refresh token"', limit=100, group=True)
    assert 0 < len(with_phrase.results) < len(ask(session, "refresh token", limit=100, group=True).results)
    assert "#9" in references(ask(session, "refresh token twice", limit=100, group=True))
    assert "#9" not in references(ask(session, "refresh token -app", limit=100, group=True))


@pytest.mark.parametrize(
    "text", ["TokenManager", "token_manager", "src/auth/oauth.py", "C++", "-DWITH_SSL", "CVE-2024-1234"]
)
def test_a_name_that_stands_nowhere_is_no_error(session, text):
    ask(session, text)


def test_times_decide_the_order_where_asked_for(session):
    for sort in (Sort.NEWEST, Sort.OLDEST):
        times = [hit.updated_at for hit in ask(session, "cache", sort=sort, group=True).results]
        assert times == sorted(times, reverse=sort is Sort.NEWEST)
        assert len(times) > 2


def test_filters_alone_list_what_they_leave_latest_change_first(session):
    found = ask(session, "label:incident", group=True).results
    assert {hit.iid for hit in found} == {9, 10, 16, 19}
    assert [hit.updated_at for hit in found] == sorted((hit.updated_at for hit in found), reverse=True)


@pytest.mark.parametrize("how", [{}, {"group": True}, {"sort": Sort.NEWEST}, {"mode": Mode.LEXICAL}])
def test_pages_together_are_the_whole_each_result_once(session, how):
    whole = [hit.document_id for hit in ask(session, "token", limit=100, **how).results]
    assert len(whole) > 10
    paged, cursor = [], None
    while True:
        answer = ask(session, "token", limit=7, cursor=cursor, **how)
        paged += [hit.document_id for hit in answer.results]
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert paged[: len(whole)] == whole
    assert len(paged) == len(set(paged))


@pytest.mark.parametrize(
    ("how", "hint"),
    [
        ({"text": ""}, "lore search some words"),
        ({"text": "-cache"}, "only take away"),
        ({"text": "x", "limit": 0}, "1 to 100"),
        ({"text": "x", "limit": 101}, "1 to 100"),
        ({"text": "x", "cursor": "nonsense"}, "the answer before"),
        ({"text": "lable:bug x"}, "label:bug"),
        ({"text": 'cache AND ("', "raw": True}, "fts-mode raw"),
        ({"text": "nocolumn:x", "raw": True}, "fts-mode raw"),
        ({"text": "", "raw": True}, "expression"),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_with_what_to_do(session, how, hint):
    with pytest.raises(InvalidValue) as caught:
        ask(session, **how)
    assert hint in f"{caught.value.message} {caught.value.hint}"


def test_the_cursor_of_another_question_is_refused(session):
    cursor = ask(session, "token", limit=1).next_cursor
    with pytest.raises(InvalidValue):
        ask(session, "cache", limit=1, cursor=cursor)


def test_raw_mode_is_fts5s_own_language(session):
    found = ask(session, "title : deadlock* OR NEAR(lock queue, 3)", raw=True, mode=Mode.LEXICAL, group=True)
    assert "#19" in references(found)


# ── what to ask instead ─────────────────────────────────────────────────────────────────────────────────


def test_a_misspelt_word_is_told_with_the_nearest_that_stands_there(session):
    (suggestion,) = ask(session, "migraton lock").suggestions
    assert suggestion.query == "migration lock"


def test_the_filter_that_costs_the_results_is_named_with_how_many_there_would_be(session):
    answer = ask(session, "deadlock label:frontend state:closed", group=True, mode=Mode.LEXICAL)
    assert answer.results == []
    told = {one.without: one.found for one in answer.suggestions}
    assert "label" in told
    assert told["label"] == len(ask(session, "deadlock state:closed", group=True, mode=Mode.LEXICAL, limit=100).results)


@pytest.mark.parametrize(
    ("text", "told", "instead"),
    [
        ("lock author:prya", "there is no author 'prya': did you mean 'priya'?", "lock author:priya"),
        ("lock label:databse", "there is no label 'databse': did you mean 'database'?", "lock label:database"),
        ("lock milestone:zzz", "there is no milestone 'zzz'", None),
        ("lock assignee:DAIKY", "there is no assignee 'DAIKY': did you mean 'daiki'?", "lock assignee:daiki"),
    ],
)
def test_a_name_that_nobody_has_is_told_with_the_nearest(session, text, told, instead):
    answer = ask(session, text)
    assert answer.results == []
    assert (told, instead) in {(one.text, one.query) for one in answer.suggestions}


def test_a_phrase_that_stands_nowhere_is_told_with_the_question_without_quotes(session):
    answer = ask(session, '"deadlock of migrations"', group=True)
    assert answer.results == []
    (suggestion,) = answer.suggestions
    assert suggestion.query == "deadlock of migrations"
    assert suggestion.found


# ── beside it ───────────────────────────────────────────────────────────────────────────────────────────


def test_related_marks_what_is_linked(session):
    told = relating.related(session, Kind.ISSUE, "17", HARBOR, Filters(), 10)
    by_reference = {one.reference.removeprefix(HARBOR): one for one in told.related}
    assert "#17" not in by_reference
    assert by_reference["#15"].linked or by_reference["!15"].linked
    assert [one.score for one in told.related] == sorted((one.score for one in told.related), reverse=True)


def test_many_threads_may_ask_one_session(session):
    questions = [question.query for question in golden.questions()]
    alone = {text: references(ask(session, text)) for text in questions}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: references(ask(session, text)), questions * 3))
    assert together == [alone[text] for text in questions * 3]
