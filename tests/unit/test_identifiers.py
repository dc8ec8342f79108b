"""Names in code, whole and in parts: what is indexed beside a text, and what a question for them means."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.identifiers import alternatives, bigrams, camel_parts, extra_words, is_identifier
from loreline.core.indexing import indexed_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the TokenManager", "token manager"),
        ("HTTPServerError", "http server error"),
        ("call token_manager now", "tokenmanager"),
        ("CVE-2024-1234", "cve20241234"),
        ("built with -DWITH_SSL", "dwithssl with ssl"),
        ("in C++ and C#, not .NET", "cplusplus csharp dotnet"),
        ("依存して", "依 存 し て 依存 存し して"),
        ("plain words only", ""),
    ],
)
def test_what_fts5_would_miss_is_indexed_beside_the_text(text, words):
    assert extra_words(text) == words


@pytest.mark.parametrize(
    ("word", "ways"),
    [
        ("TokenManager", [["token", "manager"]]),
        ("token_manager", [["tokenmanager"]]),
        ("-DWITH_SSL", [["with", "ssl"]]),
        ("C++", [["cplusplus"]]),
        ("parcel", []),
    ],
)
def test_a_question_for_a_name_has_its_other_ways(word, ways):
    assert alternatives(word) == ways


@pytest.mark.parametrize(
    "word",
    ["TokenManager", "token_manager", "src/auth.py", "v1.2.3", "std::vector", "C++", "-DWITH_SSL", "HTTP", "sha256"],
)
def test_names_are_told_from_words(word):
    assert is_identifier(word)


@pytest.mark.parametrize("word", ["parcel", "Parcel", "don't", "clock-skew", "I"])
def test_words_are_no_names(word):
    assert not is_identifier(word)


def test_camel_humps_keep_abbreviations_together():
    assert camel_parts("parseHTTPRequest2") == ["parse", "http", "request", "2"]


def test_a_run_without_spaces_is_its_characters_and_pairs():
    assert bigrams("東京都") == ["東", "京", "都", "東京", "京都"]


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "ab_" * 300_000, "aB" * 300_000, "f-" * 300_000, "0x" + "1f" * 500_000]
)
def test_a_megabyte_of_anything_is_read_at_once(text):
    begun = time.monotonic()
    extra_words(text)
    assert time.monotonic() - begun < 2


@given(st.text())
def test_any_text_has_extra_words(text):
    assert isinstance(extra_words(text), str)


# ── what is indexed of long machine texts ───────────────────────────────────────────────────────────────


def test_a_text_of_usual_length_is_indexed_as_it_is():
    text = "Words.\n\n```\n" + "same line\n" * 100 + "```"
    assert indexed_text(text) == text


def test_of_a_long_log_every_word_is_kept_once_and_prose_whole():
    log = "\n".join(f"08:00:00 INFO repeated message {number % 50} E{number}" for number in range(5_000))
    found = indexed_text(f"What I did first.\n\n```\n{log}\n```\n\nWhat I did last.")
    assert found.startswith("What I did first.")
    assert found.endswith("What I did last.")
    assert all(f"E{number}" in found for number in (0, 2_500, 4_999))
    assert found.count("repeated") < 100
    assert len(found) < len(log) / 3
