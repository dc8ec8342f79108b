"""A project's history on disk, opened so that it can be served without parsing it again.

A corpus is a folder of JSON lines, plain or compressed with zstd. Opening one reads each file once, checks
every line, and spools what the API returns; memory keeps only where each piece lies and the few columns that
lists are ordered and filtered by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
import zstandard

from loreline.errors import InvalidValue
from loreline.simulator.moments import parse_moment
from loreline.simulator.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

Kind = Literal["issues", "merge_requests"]
KINDS: tuple[Kind, Kind] = ("issues", "merge_requests")

Span = tuple[int, int, int]
"""Offset, length and number of items of a JSON list in the spool."""

SUBJECTS = (
    "discussions",
    "resource_state_events",
    "resource_label_events",
    "resource_milestone_events",
    "mr_commits",
    "mr_diffs",
)
_READ_SIZE = 1 << 20
_WINDOW = 1 << 27
_HINT = "Repair or fetch that file again; `zstd -t FILE` checks a compressed one."

# What GET of one entity returns beyond its row in a list (API::Entities::MergeRequest against
# MergeRequestBasic, and Issue#subscribed), with what a project without pipelines says.
ONLY_SINGLE: dict[Kind, dict[str, Any]] = {
    "issues": {"subscribed": False},
    "merge_requests": {
        "subscribed": False,
        "changes_count": None,
        "latest_build_started_at": None,
        "latest_build_finished_at": None,
        "first_deployed_to_production_at": None,
        "pipeline": None,
        "head_pipeline": None,
        "diff_refs": None,
        "merge_error": None,
        "first_contribution": False,
        "user": {"can_merge": False},
    },
}
_DEFAULT_RAW: dict[Kind, dict[str, msgspec.Raw]] = {
    kind: {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in fields.items()}
    for kind, fields in ONLY_SINGLE.items()
}


class _Person(msgspec.Struct):
    id: int
    username: str


class _Titled(msgspec.Struct):
    id: int
    title: str


class _EntityLine(msgspec.Struct):
    id: int
    iid: int
    title: str
    state: str
    created_at: str
    updated_at: str
    author: _Person
    labels: list[str] = []
    milestone: _Titled | None = None
    confidential: bool = False
    assignees: list[_Person] = []


class Entity(msgspec.Struct, frozen=True, gc=False):
    """What lists are ordered and filtered by."""

    id: int
    iid: int
    title: str
    state: str
    created: int
    updated: int
    author: str
    labels: tuple[str, ...]
    milestone: str | None
    confidential: bool
    assignees: tuple[str, ...]
    single: tuple[int, int] = (0, 0)
    listed: tuple[int, int] = (0, 0)


class _ItemsLine(msgspec.Struct):
    iid: int
    items: list[msgspec.Raw]
    kind: Kind = "merge_requests"


class _ClosesLine(msgspec.Struct):
    iid: int
    issue_iids: list[int]


class Corpus:
    """One project's history: small tables in memory, everything long in the spool."""

    def __init__(self, project: dict[str, Any]) -> None:
        self.project = project
        self.users: list[dict[str, Any]] = []
        self.labels: list[dict[str, Any]] = []
        self.milestones: list[dict[str, Any]] = []
        self.entities: dict[Kind, list[Entity]] = {kind: [] for kind in KINDS}
        self.subjects: dict[str, dict[Kind, dict[int, Span]]] = {
            subject: {kind: {} for kind in KINDS} for subject in SUBJECTS
        }
        self.closes: dict[int, list[int]] = {}
        self.spool = Spool()

    def read(self, offset: int, length: int) -> bytes:
        return self.spool.read(offset, length)


def is_corpus(folder: Path) -> bool:
    return _find(folder, "project") is not None


def open_corpora(folder: Path) -> list[Corpus]:
    """Open a corpus, or every corpus that is a subfolder of a folder."""
    if not folder.is_dir():
        raise InvalidValue(f"There is no folder {folder}.", hint="Name a folder that holds a corpus.")
    if is_corpus(folder):
        return [open_corpus(folder)]
    inner = sorted(child for child in folder.iterdir() if child.is_dir() and is_corpus(child))
    if not inner:
        raise InvalidValue(
            f"{folder} holds no corpus: neither it nor a subfolder has project.jsonl.zst or project.jsonl.",
            hint="A corpus is a folder with at least a project file.",
            file=str(folder / "project.jsonl"),
        )
    return [open_corpus(child) for child in inner]


def open_corpus(folder: Path) -> Corpus:
    """Open one corpus. Raises InvalidValue, naming file and line, for what cannot be served."""
    projects = _table(folder, "project")
    if len(projects) != 1:
        raise InvalidValue(
            f"{folder / 'project.jsonl'} must hold exactly one project, not {len(projects)}.",
            hint="A corpus needs a project file with one JSON line.",
            file=str(folder / "project.jsonl"),
        )
    corpus = Corpus(projects[0])
    corpus.users = _table(folder, "users")
    corpus.labels = _table(folder, "labels")
    corpus.milestones = _table(folder, "milestones")
    for kind in KINDS:
        _load_entities(corpus, folder, kind)
    for subject in SUBJECTS:
        _load_items(corpus, folder, subject)
    decoder = msgspec.json.Decoder(_ClosesLine)
    for line in _decoded(folder, "closes_issues", decoder.decode):
        corpus.closes[line.iid] = line.issue_iids
    corpus.spool.flush()
    return corpus


def _table(folder: Path, name: str) -> list[dict[str, Any]]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    return list(_decoded(folder, name, decoder.decode))


def _load_entities(corpus: Corpus, folder: Path, kind: Kind) -> None:
    line_decoder = msgspec.json.Decoder(_EntityLine)
    raw_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    encode = msgspec.json.Encoder().encode
    only_single = ONLY_SINGLE[kind]
    defaults = _DEFAULT_RAW[kind]
    spool = corpus.spool
    interned: dict[Any, Any] = {}

    def same(value: T) -> T:
        known: T = interned.setdefault(value, value)
        return known

    def load(line: bytes) -> Entity:
        row = line_decoder.decode(line)
        raw = raw_decoder.decode(line)
        single = encode({**raw, **{name: raw.get(name, value) for name, value in defaults.items()}})
        listed = encode({name: value for name, value in raw.items() if name not in only_single})
        return Entity(
            id=row.id,
            iid=row.iid,
            title=row.title,
            state=same(row.state),
            created=parse_moment(row.created_at),
            updated=parse_moment(row.updated_at),
            author=same(row.author.username),
            labels=same(tuple(same(label) for label in row.labels)),
            milestone=same(row.milestone.title) if row.milestone else None,
            confidential=row.confidential,
            assignees=same(tuple(same(person.username) for person in row.assignees)),
            single=(spool.append(single), len(single)),
            listed=(spool.append(listed), len(listed)),
        )

    corpus.entities[kind] = list(_decoded(folder, kind, load))


def _load_items(corpus: Corpus, folder: Path, subject: str) -> None:
    decoder = msgspec.json.Decoder(_ItemsLine)
    tables = corpus.subjects[subject]
    spool = corpus.spool
    for line in _decoded(folder, subject, decoder.decode):
        data = b"[%b]" % b",".join(line.items)
        tables[line.kind][line.iid] = (spool.append(data), len(data), len(line.items))


def _find(folder: Path, name: str) -> Path | None:
    for ending in (".jsonl.zst", ".jsonl"):
        path = folder / f"{name}{ending}"
        if path.exists():
            return path
    return None


def _decoded(folder: Path, name: str, decode: Callable[[bytes], T]) -> Iterator[T]:
    path = _find(folder, name)
    if path is None:
        return
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            value = decode(line)
        except (msgspec.MsgspecError, ValueError) as error:
            raise InvalidValue(
                f"{path} line {number} is not what a corpus holds: {error}",
                hint=_HINT,
                file=str(path),
                line=number,
            ) from error
        yield value


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    for chunk in _chunks(path):
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        yield from lines
    if rest:
        yield rest


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            if path.suffix == ".zst":
                yield from _decompressed(path, iter(lambda: file.read(_READ_SIZE), b""))
            else:
                yield from iter(lambda: file.read(_READ_SIZE), b"")
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error}", hint=_HINT, file=str(path)) from error


def _decompressed(path: Path, chunks: Iterator[bytes]) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    frame = decompressor.decompressobj()
    whole = False
    try:
        for data in chunks:
            rest = data
            while rest:
                if frame.eof:
                    frame = decompressor.decompressobj()
                yield frame.decompress(rest)
                whole = frame.eof
                rest = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError as error:
        raise InvalidValue(f"{path} is not sound zstd: {error}", hint=_HINT, file=str(path)) from error
    if not whole:
        raise InvalidValue(f"{path} ends in the middle of its zstd data.", hint=_HINT, file=str(path))
