"""Documents: the searchable text of an issue, a merge request or a thread, with a header that says what it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from loreline.core.entities import Kind
from loreline.core.times import to_datetime


class SourceType(StrEnum):
    """What a document is made of; the value is what the database and robots call it."""

    ISSUE = "issue"
    MERGE_REQUEST = "merge_request"
    DISCUSSION = "discussion"

    @property
    def noun(self) -> str:
        return {"issue": "issue", "merge_request": "merge request", "discussion": "thread"}[self.value]


class Truncation(StrEnum):
    """Why a document lacks a part of its thread."""

    MIDDLE_DROPPED = "token_limit_middle_drop"
    NOTE_OVERSIZED = "single_note_oversized"
    FIRST_AND_LAST_OVERSIZED = "first_last_oversized"


class Subject(Struct, frozen=True, kw_only=True):
    """An issue or merge request, as far as documents tell of it."""

    kind: Kind
    id: int
    project_id: int
    project: str
    iid: int
    title: str
    description: str
    state: str
    author: str | None
    created_at: int
    updated_at: int
    url: str | None
    labels: tuple[str, ...]
    source_branch: str | None
    target_branch: str | None
    changed_paths: tuple[str, ...]


class NoteText(Struct, frozen=True):
    """A comment in a thread; what GitLab wrote is none."""

    id: int
    author: str | None
    written_at: int
    changed_at: int
    body: str
    paths: tuple[str, ...] = ()
    """Of the file in whose diff it stands, old and new."""


class ThreadText(Struct, frozen=True):
    id: int
    notes: tuple[NoteText, ...]


class Part(Struct, frozen=True):
    """Where in a document's content the words of one author stand."""

    start: int
    end: int
    note_id: int | None
    """None: a description."""


class Document(Struct, frozen=True, kw_only=True):
    source_type: SourceType
    source_id: int
    project_id: int
    author: str | None
    labels: tuple[str, ...]
    paths: tuple[str, ...]
    created_at: int
    updated_at: int
    url: str | None
    title: str
    content: str
    body_start: int
    """Where the header ends and the text begins."""
    parts: tuple[Part, ...]
    truncation: Truncation | None = None

    @property
    def body(self) -> str:
        return self.content[self.body_start :]

    @property
    def content_hash(self) -> bytes:
        return text_hash(self.content)

    @property
    def labels_hash(self) -> bytes:
        return list_hash(self.labels)

    @property
    def paths_hash(self) -> bytes:
        return list_hash(self.paths)


def text_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def list_hash(items: Sequence[str]) -> bytes:
    """The same for the same items in any order."""
    return text_hash(json.dumps(sorted(items)))


def entity_document(subject: Subject, discussed_paths: Sequence[str] = ()) -> Document:
    """An issue or merge request with its description; its threads are documents of their own."""
    request = subject.kind is Kind.MERGE_REQUEST
    head = [
        f"[[{'MergeRequest' if request else 'Issue'}]] {subject.kind.sigil}{subject.iid}: {subject.title}",
        f"Project: {subject.project}",
        f"URL: {subject.url or ''}",
        f"Labels: {_json(subject.labels)}",
        f"State: {subject.state}",
        f"Author: @{subject.author or 'ghost'}",
    ]
    if request:
        head.append(f"Source: {subject.source_branch} -> {subject.target_branch}")
    header = "\n".join(head) + "\n\n--- Description ---\n\n"
    content = header + subject.description
    return Document(
        source_type=SourceType(subject.kind.value),
        source_id=subject.id,
        project_id=subject.project_id,
        author=subject.author,
        labels=tuple(sorted(subject.labels)),
        paths=tuple(sorted({*subject.changed_paths, *discussed_paths})),
        created_at=subject.created_at,
        updated_at=subject.updated_at,
        url=subject.url,
        title=subject.title,
        content=content,
        body_start=len(header),
        parts=(Part(len(header), len(content), None),) if subject.description.strip() else (),
    )


def thread_document(subject: Subject, thread: ThreadText, longest: int) -> Document:
    """A thread, whole; above `longest` characters, notes are left out of its middle."""
    first = thread.notes[0]
    paths = tuple(sorted({path for note in thread.notes for path in note.paths}))
    word = "Issue" if subject.kind is Kind.ISSUE else "Merge request"
    url = f"{subject.url}#note_{first.id}" if subject.url else None
    head = [
        f"[[Discussion]] {word} {subject.kind.sigil}{subject.iid}: {subject.title}",
        f"Project: {subject.project}",
        f"URL: {url or ''}",
        f"Labels: {_json(subject.labels)}",
    ]
    if paths:
        head.append(f"Files: {_json(paths)}")
    header = "\n".join(head) + "\n\n--- Thread ---\n\n"
    pieces, truncation = cut_thread(thread.notes, longest)
    content, parts = header, []
    for piece in pieces:
        content += "\n\n" if len(content) > len(header) else ""
        if isinstance(piece, str):
            content += piece
            continue
        content += f"{_byline(piece)}\n"
        parts.append(Part(len(content), len(content) + len(piece.body), piece.id))
        content += piece.body
    return Document(
        source_type=SourceType.DISCUSSION,
        source_id=thread.id,
        project_id=subject.project_id,
        author=first.author,
        labels=tuple(sorted(subject.labels)),
        paths=paths,
        created_at=first.written_at,
        updated_at=max(note.changed_at for note in thread.notes),
        url=url,
        title=subject.title,
        content=content,
        body_start=len(header),
        parts=tuple(parts),
        truncation=truncation,
    )


def _byline(note: NoteText) -> str:
    return f"@{note.author or 'ghost'} ({to_datetime(note.written_at):%Y-%m-%d}):"


def _json(items: Sequence[str]) -> str:
    return json.dumps(sorted(items), ensure_ascii=False)


_CUT = "\n\n[truncated]"
_SEPARATOR = 2
"""Characters between two notes."""


def cut_thread(notes: Sequence[NoteText], longest: int) -> tuple[list[NoteText | str], Truncation | None]:
    """The notes that fit, with a marker where others were left out; a note is never cut but a first one too long.

    The first notes tell what it is about and the last ones how it ended, so the middle goes.
    """
    sizes = [len(_byline(note)) + 1 + len(note.body) + _SEPARATOR for note in notes]
    if sum(sizes) <= longest:
        return list(notes), None
    if len(notes) == 1:
        return [_shortened(notes[0], longest)], Truncation.NOTE_OVERSIZED
    marker = "[... {} notes omitted for length ...]"
    room = longest - len(marker) - 4
    if sizes[0] + sizes[-1] > room:
        first = _shortened(notes[0], room)
        return [first, marker.format(len(notes) - 1)], Truncation.FIRST_AND_LAST_OVERSIZED
    head, tail = 1, 1
    left = room - sizes[0] - sizes[-1]
    while head + tail < len(notes):
        # In turn from both ends, as long as the next one fits.
        if head <= tail and sizes[head] <= left:
            left -= sizes[head]
            head += 1
        elif sizes[len(notes) - 1 - tail] <= left:
            left -= sizes[len(notes) - 1 - tail]
            tail += 1
        elif sizes[head] <= left:
            left -= sizes[head]
            head += 1
        else:
            break
    omitted = len(notes) - head - tail
    return [*notes[:head], marker.format(omitted), *notes[-tail:]], Truncation.MIDDLE_DROPPED


def _shortened(note: NoteText, longest: int) -> NoteText:
    room = max(longest - len(_byline(note)) - 1 - _SEPARATOR - len(_CUT), 0)
    if len(note.body) <= room + len(_CUT):
        return note
    return NoteText(note.id, note.author, note.written_at, note.changed_at, note.body[:room] + _CUT, note.paths)
