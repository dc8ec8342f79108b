"""What quality is judged on: for each set a database made by the real `lore sync`, questions, and known answers."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from bench import corpora
from bench.evaluation import golden
from bench.tools import ENVIRON, LONGEST, ROOT, configure, history, lore_sync, shared, simulator
from loreline.core.documents import SourceType
from loreline.core.ranking import Corpus
from loreline.simulator.demo.corpus import build_demo

Answer = tuple[SourceType, str]
"""A kind and a reference: what the question is after."""


class Question(Struct, frozen=True):
    id: str
    kind: str
    text: str
    answers: frozenset[Answer]
    source_type: SourceType | None = None
    """What is ranked; None: issues and merge requests."""
    leave_out: Answer | None = None
    """Where the question comes from."""


class Set(Struct, frozen=True):
    """A set whose database stands ready."""

    name: str
    database: Path
    questions: list[Question]
    corpus: Corpus = Corpus.TALK


_FOLDER = Path(os.environ.get("LORELINE_EVAL", ROOT / ".eval"))
"""Where databases stay between runs: a large one takes half an hour to embed."""


def small() -> Set:
    return _history("small")


def large() -> Set:
    return _history("large")


def cisi() -> Set:
    return _texts("cisi")


def cosqa() -> Set:
    return _texts("cosqa-a")


def demo() -> Set:
    """Questions of our own to the project that `make demo` shows."""
    folder = _FOLDER / "golden"
    shutil.rmtree(folder, ignore_errors=True)  # small, and made anew each time: the demo itself may have changed
    built = build_demo(folder / "demo")
    database = _database(folder, list(built.projects.values()), list(built.projects))
    return Set("golden", database, [_golden(question) for question in golden.questions()])


SETS: dict[str, Callable[[], Set]] = {
    "golden": demo, "small": small, "large": large, "cisi": cisi, "cosqa-a": cosqa,
}  # fmt: skip


# ── histories ───────────────────────────────────────────────────────────────────────────────────────────

_HISTORY = "bitcoin/bitcoin"


def _history(name: str) -> Set:
    source = history(name)
    folder = _FOLDER / name
    corpora.unlinked_history(source, folder / "corpus")
    database = _database(folder, [folder / "corpus"], [_HISTORY])
    answers: dict[str, set[Answer]] = {}
    for row in _rows(source / "qrels.tsv"):
        answers.setdefault(row["qid"], set()).add(_answer(row["doc"]))
    questions = [
        Question(
            row["qid"],
            row["kind"],
            corpora.without_links(row["query"]) or "",
            frozenset(answers[row["qid"]]),
            SourceType.MERGE_REQUEST if row["kind"] == "closed_by" else SourceType.ISSUE,
            _answer(row["exclude"]),
        )
        for row in _rows(source / "queries.tsv")
        if row["qid"] in answers
    ]
    return Set(name, database, questions)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _answer(written: str) -> Answer:
    kind, _, number = written.partition(":")
    source_type = SourceType(kind)
    return source_type, f"{_HISTORY}{'#' if source_type is SourceType.ISSUE else '!'}{number}"


# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────


def _texts(name: str) -> Set:
    """A public retrieval set, its texts as the issues of a project."""
    docs, queries, relevant = corpora.retrieval_set(shared("ir") / f"{name}.json.zst")
    folder = _FOLDER / name
    numbers = corpora.as_project(docs, folder / "corpus")
    references = {key: f"sets/texts#{number}" for number, key in numbers.items()}
    database = _database(folder, [folder / "corpus"], ["sets/texts"])
    questions = [
        Question(
            key,
            "text" if name == "cisi" else "code",
            text,
            frozenset((SourceType.ISSUE, references[one]) for one in relevant[key]),
            SourceType.ISSUE,
        )
        for key, text in queries.items()
        if relevant.get(key)
    ]
    return Set(name, database, questions, Corpus.TALK if name == "cisi" else Corpus.CODE)


def _golden(question: golden.Golden) -> Question:
    return Question(question.query, question.kind, question.query, question.answers, question.source_type)


# ── databases ───────────────────────────────────────────────────────────────────────────────────────────


def _database(folder: Path, folders: list[Path], projects: list[str]) -> Path:
    """The database of these corpora: mirrored once, and made anew where the code that makes documents has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    database, mirrored, made = folder / "mirror.db", folder / "mirrored", folder / "made"
    config = folder / "loreline.toml"
    if not mirrored.exists():
        database.unlink(missing_ok=True)  # another simulator has another address: it would all come twice
        with simulator(*folders) as served:
            lore_sync(configure(folder, served.url, projects), "--no-docs")
        mirrored.touch()
    stamp = _stamp()
    if not made.exists() or made.read_text("ascii") != stamp:
        for command in (["generate-docs", "--full"], ["embed"]):
            subprocess.run(
                [sys.executable, "-m", "loreline", *command, "--config", str(config)],
                check=True, cwd=ROOT, env=ENVIRON, timeout=LONGEST * 8,
            )  # fmt: skip
        made.write_text(stamp, "ascii")
    return database


_MAKES_DOCUMENTS = (
    "core/documents.py", "core/passages.py", "core/markdown.py", "core/identifiers.py", "core/indexing.py",
    "services/search/generating.py", "store/schema.sql",
)  # fmt: skip


def _stamp() -> str:
    """Names the code that makes documents, passages and what is indexed of them."""
    digest = hashlib.blake2b(digest_size=16)
    for name in _MAKES_DOCUMENTS:
        digest.update((ROOT / "src" / "loreline" / name).read_bytes())
    return digest.hexdigest()
