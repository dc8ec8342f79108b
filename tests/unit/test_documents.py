"""Documents: their headers, what changes their hashes, and how an overlong thread is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.documents import (
    NoteText,
    SourceType,
    Subject,
    ThreadText,
    Truncation,
    cut_thread,
    entity_document,
    thread_document,
)
from loreline.core.entities import Kind

DAY = 86_400_000
HOME = "https://gitlab.example.com/team/app/-"


def subject(kind=Kind.ISSUE, **fields):
    request = kind is Kind.MERGE_REQUEST
    known = {
        "kind": kind, "id": 70, "project_id": 1, "project": "team/app", "iid": 12, "title": "Sessions end early",
        "description": "They end at **noon**.", "state": "opened", "author": "ada", "created_at": 1, "updated_at": 2,
        "url": f"{HOME}/{'merge_requests' if request else 'issues'}/12", "labels": ("bug", "auth"),
        "source_branch": "topic" if request else None, "target_branch": "main" if request else None,
        "changed_paths": ("src/b.py", "src/a.py") if request else (),
    }  # fmt: skip
    return Subject(**{**known, **fields})


def note(number, body, author="grace", **fields):
    return NoteText(number, author, number * DAY, fields.pop("changed_at", number * DAY), body, **fields)


def test_an_issue_says_what_it_is_before_what_it_says():
    document = entity_document(subject())
    assert document.content == (
        "[[Issue]] #12: Sessions end early\n"
        "Project: team/app\n"
        f"URL: {HOME}/issues/12\n"
        'Labels: ["auth", "bug"]\n'
        "State: opened\n"
        "Author: @ada\n"
        "\n--- Description ---\n\n"
        "They end at **noon**."
    )
    assert document.body == "They end at **noon**."
    assert [document.content[part.start : part.end] for part in document.parts] == ["They end at **noon**."]


def test_a_merge_request_names_its_branches_and_knows_its_files():
    document = entity_document(subject(Kind.MERGE_REQUEST), ["src/c.py", "src/a.py"])
    assert document.content.startswith("[[MergeRequest]] !12: Sessions end early\n")
    assert "Source: topic -> main\n" in document.content
    assert document.paths == ("src/a.py", "src/b.py", "src/c.py")


def test_a_thread_names_its_entity_its_files_and_its_authors_by_day():
    thread = ThreadText(5, (note(1, "Why?", paths=("src/a.py",)), note(2, "Because.", author=None)))
    document = thread_document(subject(), thread, 10_000)
    assert document.content == (
        "[[Discussion]] Issue #12: Sessions end early\n"
        "Project: team/app\n"
        f"URL: {HOME}/issues/12#note_1\n"
        'Labels: ["auth", "bug"]\n'
        'Files: ["src/a.py"]\n'
        "\n--- Thread ---\n\n"
        "@grace (1970-01-02):\nWhy?\n\n"
        "@ghost (1970-01-03):\nBecause."
    )
    assert document.source_type is SourceType.DISCUSSION
    assert (document.author, document.created_at, document.updated_at) == ("grace", DAY, 2 * DAY)
    assert [(part.note_id, document.content[part.start : part.end]) for part in document.parts] == [
        (1, "Why?"), (2, "Because."),
    ]  # fmt: skip


def test_an_edited_first_note_is_the_latest_change_of_its_thread():
    thread = ThreadText(5, (note(1, "Why?", changed_at=9 * DAY), note(2, "Because.")))
    assert thread_document(subject(), thread, 10_000).updated_at == 9 * DAY


def test_an_entity_without_an_address_or_an_author_has_a_document():
    document = entity_document(subject(url=None, author=None, description="  "))
    assert "URL: \n" in document.content
    assert "@ghost" in document.content
    assert document.parts == ()


def test_hashes_tell_which_of_text_labels_and_paths_changed():
    before = entity_document(subject(Kind.MERGE_REQUEST))
    again = entity_document(subject(Kind.MERGE_REQUEST, labels=("auth", "bug"), changed_paths=("src/a.py", "src/b.py")))
    text = entity_document(subject(Kind.MERGE_REQUEST, description="They end."))
    paths = entity_document(subject(Kind.MERGE_REQUEST, changed_paths=("src/a.py",)))
    hashes = (before.content_hash, before.labels_hash, before.paths_hash)
    assert (again.content_hash, again.labels_hash, again.paths_hash) == hashes
    assert text.content_hash != before.content_hash
    assert (text.labels_hash, text.paths_hash) == hashes[1:]
    assert paths.content_hash == before.content_hash
    assert paths.paths_hash != before.paths_hash


# ── threads that are too long ───────────────────────────────────────────────────────────────────────────


def shown(pieces):
    return [piece if isinstance(piece, str) else piece.id for piece in pieces]


def test_a_thread_that_fits_is_whole():
    notes = [note(number, "x" * 100) for number in range(1, 5)]
    assert cut_thread(notes, 1_000) == (notes, None)


def test_the_middle_goes_first_and_no_note_is_cut():
    notes = [note(number, "x" * 100) for number in range(1, 11)]
    pieces, why = cut_thread(notes, 600)
    assert shown(pieces) == [1, 2, "[... 6 notes omitted for length ...]", 9, 10]
    assert why is Truncation.MIDDLE_DROPPED


def test_one_long_note_between_short_ones_goes_alone():
    notes = [note(1, "a"), note(2, "b"), note(3, "x" * 5_000), note(4, "c"), note(5, "d")]
    pieces, why = cut_thread(notes, 1_000)
    assert shown(pieces) == [1, 2, "[... 1 notes omitted for length ...]", 4, 5]
    assert why is Truncation.MIDDLE_DROPPED


def test_a_lone_note_that_is_too_long_is_cut_and_says_so():
    ((only,), why) = cut_thread([note(1, "x" * 5_000)], 1_000)
    assert only.body.endswith("\n\n[truncated]")
    assert why is Truncation.NOTE_OVERSIZED


def test_where_first_and_last_do_not_fit_together_the_beginning_stays():
    pieces, why = cut_thread([note(1, "x" * 900), note(2, "y"), note(3, "z" * 900)], 1_000)
    assert shown(pieces) == [1, "[... 2 notes omitted for length ...]"]
    assert why is Truncation.FIRST_AND_LAST_OVERSIZED


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(200, 2_000))
def test_a_cut_thread_keeps_its_ends_in_order_and_its_size(sizes, longest):
    notes = [note(number, "x" * size) for number, size in enumerate(sizes, start=1)]
    document = thread_document(subject(), ThreadText(5, tuple(notes)), longest)
    assert len(document.body) <= longest
    kept = [part.note_id for part in document.parts]
    assert kept == sorted(kept)
    assert kept[0] == 1
    if document.truncation is None:
        assert kept == list(range(1, len(notes) + 1))
    elif document.truncation is Truncation.MIDDLE_DROPPED:
        assert kept[-1] == len(notes)
        assert "notes omitted for length" in document.body


@pytest.mark.parametrize("text", ["", "\ud800", "a\x00b", "🙂" * 100])
def test_any_text_has_a_hash(text):
    assert len(entity_document(subject(description=text)).content_hash) == 16
