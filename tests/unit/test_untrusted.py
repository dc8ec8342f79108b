import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.untrusted import neutralise, neutralise_line, without_surrogates

PLAIN = st.text(st.characters(categories=("L", "M", "N", "P", "S", "Zs")))
NASTY = st.text(
    st.sampled_from("\x1b\x07\x9b\x7f\r\n\t\u202e\u2066\u2069\u200f\ufeff\u2028\U000e0041\U000e0001[31mab ")
    | st.characters(exclude_categories=("Cs",))
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("over\rwritten", "over␍written"),
        ("back\b\bspace", "back␈␈space"),
        ("nul\x00", "nul␀"),
        ("del\x7f", "del␡"),
        ("\x9b31m", "\ufffd31m"),
        ("windows\r\nline", "windows\nline"),
        ("tab\tand\nline stay", "tab\tand\nline stay"),
        ("bell\x07", "bell␇"),
    ],
)
def test_terminal_escapes_become_visible(text, shown):
    assert neutralise(text) == shown


@pytest.mark.parametrize(
    "character",
    [*"\u202e\u202a\u2066\u2069\u200e\u200f\u061c\ufeff\u2028\u2029\U000e0001\U000e0041\U000e007f"],
)
def test_direction_tricks_and_tags_become_visible(character):
    shown = neutralise(f"a{character}b")
    assert character not in shown
    assert shown.startswith("a")
    assert shown.endswith("b")
    assert len(shown) >= 3


@given(PLAIN)
def test_ordinary_text_of_any_script_stays_as_it_is(text):
    kept = "".join(character for character in text if character not in "\u200e\u200f\u061c")
    assert neutralise(kept) == kept


@given(NASTY)
def test_neutralising_twice_changes_nothing_more(text):
    once = neutralise(text)
    assert neutralise(once) == once
    line = neutralise_line(text)
    assert neutralise_line(line) == line


@given(NASTY)
def test_no_control_character_but_tab_and_newline_is_left(text):
    left = {one for one in neutralise(text) if unicodedata.category(one) == "Cc"}
    assert left <= {"\t", "\n"}


@given(NASTY)
def test_a_line_is_one_line(text):
    line = neutralise_line(text)
    assert len(line.splitlines()) <= 1
    assert "\t" not in line
    assert line == line.strip()


@given(st.text(st.characters() | st.characters(categories=("Cs",))))
def test_without_surrogates_any_text_can_be_encoded(text):
    mended = without_surrogates(text)
    mended.encode("utf-8")
    assert len(mended) == len(text)
    assert all(new == old or "\ud800" <= old <= "\udfff" for new, old in zip(mended, text, strict=True))
