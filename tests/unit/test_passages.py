"""Passages: where a document is cut, and that a log does not drown what was said."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_documents import note, subject

from loreline.core.documents import ThreadText, entity_document, thread_document
from loreline.core.markdown import BlockKind, blocks
from loreline.core.passages import embedded_text, passages, slices

LONGEST = 1_000
LOG = "\n".join(
    f"2024-01-31 08:{second // 60 % 60:02d}:{second % 60:02d} INFO worker {second}" for second in range(5_000)
)


def texts(document):
    return [document.content[one.start : one.end] for one in passages(document)]


def cut(text):
    return [text[start:end] for start, end in slices(text)]


def test_short_paragraphs_stay_together_and_long_ones_are_cut_after_sentences():
    assert cut("One.\n\nTwo.\n\n  - Three.") == ["One.\n\nTwo.\n\n  - Three."]
    long = "A sentence of some length, again and again. " * 60
    pieces = cut(long)
    assert len(pieces) > 2
    assert all(piece.endswith(".") for piece in pieces)


def test_indented_paragraphs_of_code_without_a_fence_stay_together():
    code = "def forget(key):\n    server.delete(key)\n\n    # and the page\n\n    page.forget(key)"
    assert cut(code) == [code]


def test_a_word_without_spaces_is_cut_anywhere():
    assert [len(piece) for piece in cut("x" * 2_500)] == [1_000, 1_000, 500]


def test_each_passage_knows_its_note():
    document = thread_document(subject(), ThreadText(5, (note(1, "Why? " * 300), note(2, "Because."))), 100_000)
    found = passages(document)
    assert {one.note_id for one in found} == {1, 2}
    assert [document.content[one.start : one.end] for one in found if one.note_id == 2] == ["Because."]
    assert "@grace" not in "".join(texts(document))


def test_a_title_without_a_text_is_a_passage():
    document = entity_document(subject(description=""))
    (only,) = passages(document)
    assert only.start == only.end
    assert embedded_text(document.title, "") == "Sessions end early"


def test_the_title_stands_in_front_so_another_title_is_another_text():
    one, two = (passages(entity_document(subject(title=title)))[0].text_hash for title in ("A", "B"))
    assert one != two


@pytest.mark.parametrize("fence", ["```\n{}\n```", "{}", "~~~text\n{}\n~~~"])
def test_a_log_of_five_thousand_lines_is_few_passages_and_the_words_around_it_all_of_theirs(fence):
    text = "The worker stops at eight.\n\n" + fence.format(LOG) + "\n\nIt is the balancer that hangs up."
    document = entity_document(subject(description=text))
    found = texts(document)
    assert len(found) <= 7
    assert any("The worker stops at eight." in one for one in found)
    assert any("It is the balancer that hangs up." in one for one in found)
    assert any("worker 4999" in one for one in found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("```python\nimport os\n```", BlockKind.CODE),
        ("```\n" + LOG[:2_000] + "\n```", BlockKind.LOG),
        ("```diff\n-a\n+b\n```", BlockKind.DIFF),
        ("@@ -1,2 +1,2 @@\n-a\n+b\n c", BlockKind.DIFF),
        ("| a | b |\n|---|---|\n| 1 | 2 |", BlockKind.TABLE),
        ("```\nnever closed", BlockKind.CODE),
        ("just\n\nwords | and a bar", BlockKind.PROSE),
        ("- a\n- b\n- c\n- d\n- e\n- f\n- g", BlockKind.PROSE),
    ],
)
def test_what_a_machine_wrote_is_told_from_what_somebody_said(text, kind):
    assert [block.kind for block in blocks(text)] == [kind]


@given(st.lists(st.sampled_from(["```", "~~~", "| a |", "text.", "", "@@ -1 +1 @@", "+x", "08:00:00 INFO", "  y"])))
def test_blocks_are_the_whole_text(lines):
    text = "\n".join(lines)
    assert "".join(text[block.start : block.end] for block in blocks(text)) == text


@given(st.text(alphabet="ab .\n\t`|é🙂", max_size=4_000))
def test_slices_are_in_order_within_bounds_and_lose_no_prose(text):
    found = list(slices(text))
    assert all(0 < end - start <= LONGEST for start, end in found)
    assert [start for start, _ in found] == sorted(start for start, _ in found)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(found))
    if all(block.kind.is_prose for block in blocks(text)):
        kept = "".join("".join(text[start:end].split()) for start, end in found)
        assert kept == "".join(text.split())
