"""What people type into a search: words, phrases, signs and filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.documents import SourceType
from loreline.core.entities import Kind
from loreline.core.query import KEYS, LONGEST, BadQuery, Filters, Phrase, Word, parse
from loreline.core.references import EntityRef
from loreline.core.times import DAY

NOW = 1_735_689_600_000  # 2025-01-01


def read(text, **given_beside):
    return parse(text, Filters(**given_beside), NOW)


def words(query):
    return [word.text for word in query.words]


def test_words_may_match_phrases_and_plus_words_must_and_minus_words_must_not():
    query = read('login "server session" +cookie -mobile')
    assert words(query) == ["login"]
    assert query.required == (Word("cookie"), Phrase("server session"))
    assert query.excluded == (Word("mobile"),)
    assert query.prose == "login server session cookie"


def test_what_is_embedded_is_the_sentence_as_it_was_typed():
    query = read("why was the cache -flaky dropped after the commit author:jane")
    assert query.prose == "why was the cache flaky dropped after the commit"


def test_a_star_stands_for_longer_words():
    assert read("migrat*").words == (Word("migrat", prefix=True),)
    assert read("C*").words == (Word("C*"),)


@pytest.mark.parametrize("name", ["-DWITH_SSL", "-fno-strict-aliasing", "-C", "--no-verify", "-Wall=1"])
def test_options_of_programs_are_words_and_no_exclusions(name):
    query = read(f"build {name}")
    assert name in words(query)
    assert query.excluded == ()


def test_a_pasted_sentence_asks_for_no_phrase_and_leaves_nothing_out():
    query = read('Revert "ci: disable the cache" since the build -with sanitizers fails again now')
    assert query.required == query.excluded == ()
    assert {"ci: disable the cache", "-with"} <= set(words(query))


def test_a_plus_holds_in_a_long_sentence_too():
    query = read('why does the build with sanitizers fail since +"the cache" was disabled')
    assert query.required == (Phrase("the cache"),)


def test_filters_stand_anywhere_in_a_query():
    query = read(
        'author:@jane cache label:bug label:"needs info" state:open project:team/app milestone:%1.0 type:mr path:src/'
    )
    assert words(query) == ["cache"]
    assert query.filters == Filters(
        source_type=SourceType.MERGE_REQUEST,
        author="jane",
        projects=("team/app",),
        labels=("bug", "needs info"),
        milestone="1.0",
        state="opened",
        path="src/",
    )


def test_filters_in_the_query_narrow_those_beside_it():
    assert read("label:bug x", labels=("auth",), author="jane").filters == Filters(
        labels=("auth", "bug"), author="jane"
    )


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("after:2024-12-01", "created_after", 1_733_011_200_000),
        ("created-before:2w", "created_before", NOW - 14 * DAY),
        ("updated-after:3d", "updated_after", NOW - 3 * DAY),
        ("updated-before:2024-12-31", "updated_before", NOW - DAY),
        ("before:today", "created_before", NOW),
    ],
)
def test_dates_are_days_or_how_long_ago(text, field, expected):
    assert getattr(read(f"x {text}").filters, field) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("autor:jane", "author:jane"),
        ("lable:bug", "label:bug"),
        ("projekt:team/app", "project:team/app"),
        ("updated-afer:2w", "updated-after:2w"),
        ("state:opne", "opened"),
        ("type:isue", "issue"),
        ("is:mergd", "merged"),
        ("after:someday", "2024-01-31"),
        ("author: jane", "author:something"),
        ("-label:bug", "-word"),
    ],
)
def test_a_filter_that_cannot_be_is_told_with_what_to_write(text, hint):
    with pytest.raises(BadQuery) as caught:
        read(text)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "text", ["std::vector", "http://example.com/a", "C:\\temp", "Error:404", "Note:this", "foo:bar"]
)
def test_a_colon_that_is_no_filter_is_a_part_of_its_word(text):
    assert words(read(text)) == [text]
    assert read(text).filters == Filters()


def test_a_quoted_filter_is_a_phrase():
    assert read('"author:jane"').required == (Phrase("author:jane"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#12", EntityRef(12, Kind.ISSUE)),
        ("!7", EntityRef(7, Kind.MERGE_REQUEST)),
        ("group/app#3", EntityRef(3, Kind.ISSUE, "group/app")),
        (
            "https://gitlab.example.com/a/b/-/issues/4#note_9",
            EntityRef(4, Kind.ISSUE, "a/b", "https://gitlab.example.com", 9),
        ),
    ],
)
def test_references_are_seen(text, expected):
    assert read(f"see {text}").references == (expected,)


def test_a_sha_is_seen_and_a_plain_word_or_number_of_its_letters_is_none():
    assert read("4b1f1e4a").commits == ("4b1f1e4a",)
    assert read("defaced").commits == ()


def test_a_pasted_log_is_read_to_its_limit():
    assert len(read("x" * LONGEST * 3).words[0].text) == LONGEST
    assert len(read("word " * LONGEST).words) == 1


def test_what_looks_like_a_filter_in_a_pasted_sentence_is_a_word():
    assert "state:" in words(read("the importer says state: unknown for half of all parcels"))


def refusal(text):
    """Why a query is refused, with what to write; None where it is read."""
    try:
        query = read(text)
    except BadQuery as error:
        return error.message, error.hint
    assert all(term.text.strip() for term in (*query.words, *query.required, *query.excluded))
    return None


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text):
    assert all(refusal(text) or (True,))


@given(
    st.lists(
        st.one_of(st.sampled_from([f"{key}:" for key in KEYS]), st.sampled_from('"+-*:#! \\'), st.text(max_size=4))
    )
)
def test_any_mixture_of_signs_is_read_or_refused_in_words(pieces):
    assert all(refusal("".join(pieces)) or (True,))
