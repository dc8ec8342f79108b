"""The lines of a passage that are shown, with their marks."""

import re

from hypothesis import given
from hypothesis import strategies as st

from loreline.core.snippets import cut


def finder(*words):
    pattern = re.compile("|".join(map(re.escape, words)))
    return lambda text: [match.span() for match in pattern.finditer(text)]


def marked(snippet):
    return [snippet.text[start:end] for start, end in snippet.marks]


def test_a_short_text_is_whole_on_one_line_without_its_fences():
    snippet = cut("One\n\n```py\ntwo\n```\nthree", finder("two"))
    assert snippet.text == "One two three"
    assert marked(snippet) == ["two"]


def test_a_long_text_is_cut_where_most_of_the_words_stand():
    text = "lock " + "filler " * 100 + "the lock queue is a queue" + " filler" * 100
    snippet = cut(text, finder("lock", "queue"))
    assert snippet.text.startswith("… ")
    assert snippet.text.endswith(" …")
    assert marked(snippet) == ["lock", "queue", "queue"]
    assert len(snippet.text) <= 224


def test_parts_of_one_name_are_one_mark():
    assert marked(cut("see src/oauth.py now", finder("src", "oauth", "py"))) == ["src/oauth.py"]


def test_words_side_by_side_are_marks_of_their_own():
    assert marked(cut("lock timeout", finder("lock", "timeout"))) == ["lock", "timeout"]


@given(st.text(alphabet="ab \n`é🙂", max_size=900), st.integers(60, 300))
def test_marks_stand_where_the_words_do(text, length):
    snippet = cut(text, finder("aba", "é"), length)
    assert "\n" not in snippet.text
    assert len(snippet.text) <= length + 4
    assert all(0 <= start < end <= len(snippet.text) for start, end in snippet.marks)
    assert all("aba" in word or "é" in word for word in marked(snippet))
