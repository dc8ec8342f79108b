"""The query language: words, "phrases", -without, +required and filters, as people know it from GitLab and GitHub.

A text becomes a small tree of frozen structs; nothing is looked up here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from msgspec import Struct, structs

from loreline.core.documents import SourceType
from loreline.core.references import EntityRef, parse_reference
from loreline.core.times import parse_when


class BadQuery(ValueError):
    """A query that says something impossible, with what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Filters(Struct, frozen=True, kw_only=True):
    """What results are narrowed to; all given conditions hold together."""

    source_type: SourceType | None = None
    author: str | None = None
    assignee: str | None = None
    projects: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    state: str | None = None
    path: str | None = None
    """A file, or with a trailing slash all below a folder."""
    created_after: int | None = None
    created_before: int | None = None
    updated_after: int | None = None
    updated_before: int | None = None

    @property
    def given(self) -> list[str]:
        """The names of the conditions that are set."""
        return [name for name in self.__struct_fields__ if getattr(self, name) not in (None, ())]

    def without(self, name: str) -> Filters:
        return structs.replace(self, **{name: () if name in {"projects", "labels"} else None})


class Word(Struct, frozen=True):
    text: str
    prefix: bool = False
    """It ends in a star: longer words count too."""


class Phrase(Struct, frozen=True):
    text: str


Term = Word | Phrase


class Query(Struct, frozen=True, kw_only=True):
    """What was asked for."""

    text: str
    """As it was typed."""
    words: tuple[Word, ...] = ()
    """Any of them may match; the more, the better."""
    required: tuple[Term, ...] = ()
    """Phrases and +words: all have to match."""
    excluded: tuple[Term, ...] = ()
    filters: Filters = Filters()
    references: tuple[EntityRef, ...] = ()
    """Entities it names: they come first."""
    commits: tuple[str, ...] = ()
    """What looks like a commit's SHA."""
    prose: str = ""
    """What is asked for without signs and filters, as a sentence to embed."""

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.required)


LONGEST = 10_000
"""Characters of a query that are read; the rest of a pasted log tells nothing new."""

_TOKEN = re.compile(r'([+-]?)(?:([A-Za-z][A-Za-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|([^\s"]\S*))')
_SHA = re.compile(r"[0-9a-f]{7,40}\Z")

_SENTENCE = 4
"""More words than these make a sentence."""

_STATES = {"open": "opened", "opened": "opened", "closed": "closed", "merged": "merged", "locked": "locked"}
TYPES = {
    "issue": SourceType.ISSUE,
    "issues": SourceType.ISSUE,
    "mr": SourceType.MERGE_REQUEST,
    "mrs": SourceType.MERGE_REQUEST,
    "merge_request": SourceType.MERGE_REQUEST,
    "merge_requests": SourceType.MERGE_REQUEST,
    "merge-request": SourceType.MERGE_REQUEST,
    "discussion": SourceType.DISCUSSION,
    "discussions": SourceType.DISCUSSION,
    "thread": SourceType.DISCUSSION,
    "threads": SourceType.DISCUSSION,
}
KEYS = (
    "type", "is", "author", "assignee", "project", "label", "milestone", "state", "path", "after", "before",
    "created-after", "created-before", "updated-after", "updated-before",
)  # fmt: skip
_NEAR = 0.75


def parse(text: str, given: Filters, now: int) -> Query:
    """A query as typed, on top of filters given beside it."""
    words: list[Word] = []
    required: list[Term] = []
    quoted_terms: list[Phrase] = []
    excluded: list[Term] = []
    prose: list[tuple[str, Term]] = []
    references: dict[EntityRef, None] = {}
    commits: dict[str, None] = {}
    filters = given
    valueless: str | None = None
    for sign, key, quoted, bare in _tokens(text):
        value = bare if quoted is None else quoted.replace('\\"', '"')
        if key is None and quoted is None and value.endswith(":") and value[:-1] in KEYS:
            valueless = value
        if key is not None:
            known = _key(key, value)
            if known is not None:
                if sign == "-":
                    raise BadQuery(
                        f"-{key}:{value} can't be asked for",
                        hint="leave out words with -word; filters can't be negated",
                    )
                filters = narrowed(filters, known, value, now)
                continue
            value = f"{key}:{value}" if quoted is None else value
        if not value.strip():
            continue
        term: Term = Phrase(value) if quoted is not None else _word(value)
        if quoted is None and sign == "":
            reference = parse_reference(value) if _may_be_reference(value) else None
            if reference is not None:
                references[reference] = None
            elif _SHA.match(value) and re.search(r"\d", value):
                commits[value] = None
        prose.append((value, term))
        if sign == "-":
            if quoted is None and _names_something(value):
                words.append(Word(f"-{value}"))
            else:
                excluded.append(term)
        elif sign == "+":
            required.append(term)
        elif isinstance(term, Phrase):
            quoted_terms.append(term)
        else:
            words.append(term)
    if len(words) > _SENTENCE:
        # A pasted title or message: a dash is a program's option there, and quotes are quotes. Who means a phrase to
        # be there writes +"phrase".
        words += [Word(f"-{term.text}") for term in excluded if isinstance(term, Word)]
        excluded = [term for term in excluded if isinstance(term, Phrase)]
        words += [Word(term.text) for term in quoted_terms]
    else:
        required += quoted_terms
        if valueless is not None:
            raise _without_value(valueless)
    return Query(
        text=text,
        words=tuple(dict.fromkeys(words)),
        required=tuple(dict.fromkeys(required)),
        excluded=tuple(dict.fromkeys(excluded)),
        filters=filters,
        references=tuple(references),
        commits=tuple(commits),
        prose=" ".join(value for value, term in prose if term not in excluded),
    )


def _tokens(text: str) -> Iterator[tuple[str, str | None, str | None, str]]:
    for match in _TOKEN.finditer(text[:LONGEST].replace("\x00", " ")):
        yield match[1], match[2], match[3], match[4] or ""


def _names_something(value: str) -> bool:
    """Whether a dash belongs to what follows: `-DWITH_SSL`, `-fno-strict`, `-C`. Plain words are left out by theirs."""
    return (
        len(value) == 1 or re.fullmatch(r"\w+", value) is None or re.fullmatch(r"D[A-Z_][A-Z0-9_]+", value) is not None
    )


def _may_be_reference(value: str) -> bool:
    return value[0] in "#!" or "://" in value or re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*[#!]\d+", value) is not None


def _word(value: str) -> Word:
    if len(value) > 1 and value.endswith("*") and re.fullmatch(r"\w+\*", value) and value.upper() != value:
        return Word(value[:-1], prefix=True)
    return Word(value)


def _key(key: str, value: str) -> str | None:
    """The filter a key means; None where it is no filter but a part of a word, such as `std::vector` or `http://…`."""
    lowered = key.lower()
    if lowered in KEYS:
        if not value:
            raise _without_value(f"{lowered}:")
        return lowered
    if value.startswith((":", "/", "\\")) or key != lowered:
        return None
    near = difflib.get_close_matches(lowered, KEYS, n=1, cutoff=_NEAR)
    if near:
        raise BadQuery(
            f"there is no filter {key}:",
            hint=f'did you mean {near[0]}:{value}? To look for the words themselves, quote them: "{key}:{value}"',
        )
    return None


def _without_value(key: str) -> BadQuery:
    return BadQuery(f"{key} needs a value", hint=f"write {key}something, without a space")


def narrowed(filters: Filters, key: str, value: str, now: int) -> Filters:
    """The filters with one more condition."""
    match key:
        case "type":
            return structs.replace(filters, source_type=source_type(value))
        case "is":
            lowered = value.lower()
            if lowered in TYPES:
                return structs.replace(filters, source_type=TYPES[lowered])
            return structs.replace(filters, state=state(value))
        case "state":
            return structs.replace(filters, state=state(value))
        case "author" | "assignee":
            return structs.replace(filters, **{key: value.removeprefix("@")})
        case "project" | "label":
            name = f"{key}s"
            return structs.replace(filters, **{name: (*getattr(filters, name), value.removeprefix("~"))})
        case "milestone":
            return structs.replace(filters, milestone=value.removeprefix("%"))
        case "path":
            return structs.replace(filters, path=value)
        case _:
            field = {"after": "created_after", "before": "created_before"}.get(key, key.replace("-", "_"))
            return structs.replace(filters, **{field: moment(value, now)})


def source_type(value: str) -> SourceType:
    found = TYPES.get(value.lower())
    if found is None:
        raise BadQuery(f"there is no type {value!r}", hint=_did_you_mean(value, ("issue", "mr", "discussion")))
    return found


def state(value: str) -> str:
    found = _STATES.get(value.lower())
    if found is None:
        raise BadQuery(f"there is no state {value!r}", hint=_did_you_mean(value, ("opened", "closed", "merged")))
    return found


def moment(value: str, now: int) -> int:
    found = parse_when(value, now)
    if found is None:
        raise BadQuery(f"{value!r} is no date", hint="write 2024-01-31, 6m, 2w, 3d, today or yesterday")
    return found


def _did_you_mean(value: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(value.lower(), known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
