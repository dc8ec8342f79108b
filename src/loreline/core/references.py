"""References between entities: how people write them, how GitLab writes them.

A reference is an edge. Its direction follows the words: the closer `closes` the issue, the text that
names another entity has that entity `mentioned`. So one relationship is one edge, however many sources
(a note here, a system note there, an API answer) show it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from loreline.core.entities import Kind


class ReferenceType(StrEnum):
    CLOSES = "closes"
    MENTIONED = "mentioned"
    RELATED = "related"


class SourceMethod(StrEnum):
    """Where a reference was seen, most reliable first."""

    API_CLOSES_ISSUES = "api_closes_issues"
    API_STATE_EVENT = "api_state_event"
    SYSTEM_NOTE = "system_note_parse"
    DESCRIPTION = "description_parse"
    NOTE = "note_parse"


class EntityRef(Struct, frozen=True):
    """What somebody typed or wrote to name an entity; what is None was left unsaid."""

    iid: int
    kind: Kind | None = None
    project_path: str | None = None
    origin: str | None = None
    """`https://host` when a URL was given."""
    note_id: int | None = None

    def __str__(self) -> str:
        sigil = self.kind.sigil if self.kind else "#"
        return f"{self.project_path or ''}{sigil}{self.iid}"


class Observation(Struct, frozen=True):
    """A reference as one text shows it, before anybody looked up what it names.

    `inward` tells that the named entity is the source: "closed via merge request !5" on an issue means
    that !5 closes the issue.
    """

    target: EntityRef
    reference_type: ReferenceType
    relation: str
    inward: bool = False
    withdrawn: bool = False
    """GitLab says that the relation was taken back."""


# GitLab's own bounds: a path segment starts with a word character or a dot and ends with neither dot
# nor dash twisting into the sentence around it.
_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
_PATH = rf"{_SEGMENT}(?:/{_SEGMENT})*"
# Sigils are rare, so they are found first, and the path that may stand before one is read backwards from it.
_SIGIL = re.compile(r"([#!])([1-9][0-9]{0,9})(?!\w)")
_PATH_BEFORE = re.compile(rf"(?<![\w/&@.#!\-])({_PATH})\Z")
_LONGEST_PATH = 512
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")
# `GL-5`, `[issue:5]`, `[work_item:5]`: other spellings that GitLab takes.
_LONG_FORM = re.compile(
    r"\[(issue|work_item|merge_request):([1-9][0-9]{0,9})\]|(?<![\w\-])GL-([1-9][0-9]{0,9})(?![\w\-])"
)
_URL = re.compile(
    rf"(?P<origin>https?://[^\s/<>()\[\]\"'`]+)/(?P<path>(?:{_SEGMENT}/)+?{_SEGMENT})/(?:-/)?"
    r"(?P<what>issues|work_items|merge_requests)/(?P<iid>[1-9][0-9]{0,9})(?!\w)"
    r"(?:/[A-Za-z_]+)?(?:\?[^\s#<>)\]\"'`]*)?(?:#note_(?P<note>[0-9]{1,18})(?!\d))?"
)
_WHOLE_SHORT = re.compile(rf"(?:(?P<path>{_PATH})?(?P<sigil>[#!]))?(?P<iid>[1-9][0-9]{{0,9}})\Z")

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_SPAN_MARK = re.compile(r"`+|<!--")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_LINE_START = re.compile(r"(?:\A|\n) {0,3}\Z")


def parse_reference(text: str) -> EntityRef | None:
    """What a person typed on the command line: `12`, `#12`, `!12`, `group/project#12` or a URL."""
    text = text.strip()
    if "://" in text:
        return parse_url(text)
    match = _WHOLE_SHORT.match(text)
    if match is None:
        return None
    kind = {"#": Kind.ISSUE, "!": Kind.MERGE_REQUEST}.get(match["sigil"] or "")
    return EntityRef(int(match["iid"]), kind, match["path"])


def parse_url(text: str) -> EntityRef | None:
    try:
        parts = urlsplit(text)
    except ValueError:  # a host that is none
        return None
    match = _URL.match(f"{parts.scheme}://{parts.netloc}{unquote(parts.path)}")
    if match is None:
        return None
    kind = Kind.MERGE_REQUEST if match["what"] == "merge_requests" else Kind.ISSUE
    note = re.fullmatch(r"note_([0-9]{1,18})", parts.fragment)
    return EntityRef(int(match["iid"]), kind, match["path"], match["origin"].lower(), int(note[1]) if note else None)


def find_mentions(text: str, home: str, origins: frozenset[str]) -> Iterator[EntityRef]:
    """Every entity a Markdown text names, each once, in order of appearance.

    `home` is the path of the project the text stands in: `#5` means its issue 5, and a bare
    `sibling#5` one of its namespace. URLs count below one of `origins`, such as `https://host`. Code and HTML
    comments are no text, as on GitLab.
    """
    if not _may_mention(text):
        return
    seen = set()
    prose = _prose(text)
    for ref in _found(prose, home, origins):
        key = (ref.kind, (ref.project_path or home).casefold(), ref.iid)
        if key not in seen:
            seen.add(key)
            yield ref


def _may_mention(text: str) -> bool:
    return "#" in text or "!" in text or "://" in text or "GL-" in text or _LONG_FORM.search(text) is not None


def _prose(text: str) -> str:
    """The text without code and comments, in time linear to its length however it was written."""
    if "`" not in text and "~~~" not in text and "<!--" not in text:
        return text
    return " ".join(_without_spans(part) for part in _outside_fences(text))


def _outside_fences(text: str) -> Iterator[str]:
    start, opened = 0, ""
    for line in _FENCE.finditer(text):
        mark, rest = line[1], line[2]
        if opened:
            if mark.startswith(opened) and not rest.strip():
                start, opened = line.end(), ""
        elif mark[0] == "~" or "`" not in rest:
            yield text[start : line.start()]
            opened = mark
    if not opened:  # one that is never closed goes on to the end
        yield text[start:]


def _without_spans(text: str) -> str:
    """Inline code, which ends with its paragraph at the latest, and comments become a space."""
    marks = list(_SPAN_MARK.finditer(text))
    if not marks:
        return text
    runs: dict[int, list[int]] = {}
    for mark in marks:
        if mark[0][0] == "`":
            runs.setdefault(len(mark[0]), []).append(mark.start())
    blanks = [blank.start() for blank in _BLANK_LINE.finditer(text)]
    last_comment_end = text.rfind("-->")
    kept, start = [], 0
    for mark in marks:
        at, length = mark.start(), len(mark[0])
        if at < start:
            continue
        if mark[0][0] == "<":
            if mark.end() <= last_comment_end:
                end = text.index("-->", mark.end()) + 3
            elif _LINE_START.search(text, max(0, at - 4), at):
                end = len(text)
            else:
                continue
        else:
            same = runs[length]
            following = bisect_right(same, at)
            blank = bisect_right(blanks, at)
            if following == len(same) or (blank < len(blanks) and blanks[blank] < same[following]):
                continue
            end = same[following] + length
        kept.append(text[start:at])
        start = end
    kept.append(text[start:])
    return " ".join(kept)


def project_path_below(address: str, origins: frozenset[str]) -> str | None:
    """The project's path in an address, if it lies below one of these; a GitLab may live below a path itself."""
    for origin in sorted(origins, key=len, reverse=True):
        if address[: len(origin) + 1].lower() == f"{origin}/":
            return address[len(origin) + 1 :]
    return None


def _found(prose: str, home: str, origins: frozenset[str]) -> Iterator[EntityRef]:
    rest = prose
    if "://" in prose:
        for match in _URL.finditer(prose):
            project = project_path_below(f"{match['origin']}/{match['path']}", origins)
            if project is not None:
                kind = Kind.MERGE_REQUEST if match["what"] == "merge_requests" else Kind.ISSUE
                note = int(match["note"]) if match["note"] else None
                yield EntityRef(int(match["iid"]), kind, project, match["origin"].lower(), note)
        # What looks short inside any address (`…/issues#12`, `…!5`) is part of the address.
        rest = re.sub(r"https?://\S+", " ", prose)
    last = 0  # no path reaches back over the reference before it
    for match in _SIGIL.finditer(rest):
        kind = Kind.ISSUE if match[1] == "#" else Kind.MERGE_REQUEST
        start, since, last = match.start(), last, match.end()
        if start and rest[start - 1] in _FORBIDDEN_BEFORE:
            continue
        earliest = max(since, start - _LONGEST_PATH)
        path = _PATH_BEFORE.search(rest, earliest, start)
        if path is not None:
            yield EntityRef(int(match[2]), kind, _full_path(path[1], home))
        elif _NAME_BEFORE.search(rest, earliest, start) is None:
            # Nothing that could be a path: `日本#5`, or the second of `#5/#6`.
            yield EntityRef(int(match[2]), kind)
    for match in _LONG_FORM.finditer(rest):
        kind = Kind.MERGE_REQUEST if match[1] == "merge_request" else Kind.ISSUE
        yield EntityRef(int(match[2] or match[3]), kind)


_FORBIDDEN_BEFORE = frozenset("&@#!")
"""`&#39;` is a character, not a reference."""


def _full_path(path: str, home: str) -> str:
    """`sibling#5` names a project of the same namespace."""
    namespace = home.rpartition("/")[0]
    return path if "/" in path or not namespace else f"{namespace}/{path}"


class _Form(Struct, frozen=True):
    pattern: re.Pattern[str]
    reference_type: ReferenceType
    relation: str
    inward: bool = False
    withdrawn: bool = False


def _form(
    pattern: str,
    reference_type: ReferenceType,
    relation: str,
    *,
    inward: bool = False,
    withdrawn: bool = False,
) -> _Form:
    return _Form(re.compile(pattern, re.IGNORECASE), reference_type, relation, inward, withdrawn)


_C, _M, _R = ReferenceType.CLOSES, ReferenceType.MENTIONED, ReferenceType.RELATED
_NOUN = r"(?:issue|merge request|incident|task|ticket|epic|objective|key result|requirement|test case|work item)"

# The sentences GitLab writes (SystemNotes::* of its source, old releases included), most telling first.
_FORMS = (
    _form(r"^mentioned in (?!commit\b|epic\b)", _M, "mentioned_in", inward=True),
    _form(r"^(?:status changed to )?closed (?:via|by) (?!commit\b)", _C, "closed_by", inward=True),
    _form(rf"^marked this {_NOUN} as (?:a )?duplicate of ", _R, "duplicate_of"),
    _form(rf"^marked .* as a duplicate of this {_NOUN}", _R, "duplicated_by", inward=True),
    _form(rf"^marked this {_NOUN} as (?:related|linked) to ", _R, "relates_to"),
    _form(rf"^(?:marked this {_NOUN} as|is) blocked by ", _R, "blocked_by", inward=True),
    _form(rf"^(?:marked this {_NOUN} as blocking|blocks|is blocking) ", _R, "blocks"),
    _form(r"^removed the relation (?:with|to) ", _R, "relates_to", withdrawn=True),
    _form(r"^moved to ", _R, "moved_to"),
    _form(r"^moved from ", _R, "moved_from", inward=True),
    _form(r"^cloned to ", _R, "cloned_to"),
    _form(r"^cloned from ", _R, "cloned_from", inward=True),
    _form(rf"^(?:added|assigned) .* as (?:a )?child {_NOUN}", _R, "parent_of"),
    _form(rf"^(?:removed) .* as (?:a )?child {_NOUN}|^removed child {_NOUN}", _R, "parent_of", withdrawn=True),
    _form(rf"^added child {_NOUN} ", _R, "parent_of"),
    _form(
        rf"^(?:added|set|assigned) .* as (?:the )?parent {_NOUN}|^added parent {_NOUN}",
        _R,
        "child_of",
        inward=True,
    ),
    _form(
        rf"^removed .* as (?:the )?parent {_NOUN}|^removed parent {_NOUN}",
        _R,
        "child_of",
        inward=True,
        withdrawn=True,
    ),
    _form(r"^created merge request .* to address this", _R, "addressed_by", inward=True),
    _form(rf"^created {_NOUN} ", _R, "continued_in"),
    _form(r"^created #\d+ to continue this discussion", _R, "continued_in"),
    _form(rf"^(?:moved|promoted) .* from {_NOUN} ", _R, "moved_from", inward=True),
)


def parse_system_note(body: str, home: str, origins: frozenset[str]) -> Iterator[Observation]:
    """The references one of GitLab's own sentences tells, or none."""
    if not _may_mention(body):
        return
    sentence = body.strip("*_ \t\r\n")  # old releases emphasised them
    for form in _FORMS:
        if not form.pattern.search(sentence):
            continue
        line = sentence.split("\n", 1)[0]
        for ref in _found(line, home, origins):
            yield Observation(ref, form.reference_type, form.relation, form.inward, form.withdrawn)
        return
