"""A made-up mirror of any size: texts of words as frequent as in a language, vectors as they lie in a space."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import apsw
import numpy as np
from tests.search.harness import local_project, write_threads
from tests.store.rows import NOW, add, issue

from loreline.core.passages import embedded_text
from loreline.embedding.embedder import BUNDLED_NAME, Vector
from loreline.services.search import embedding, generating
from loreline.settings import Documents
from loreline.store.connection import open_database, transaction

_ENTITIES = 20_000
_THREADS = 4
"""Of each entity: with it, five documents."""

_LENGTHS = itertools.cycle((230, 360))
"""Words of each text in turn: two passages and three."""

_WORDS = 60_000
_DIMENSIONS = 384
_RARE = 3
"""So many entities carry the rare label."""


def build(database: Path) -> Path:
    """100,000 documents with about 250,000 passages."""
    chance = random.Random(11)
    db = open_database(database, create=True)
    with transaction(db):
        project = local_project(db)
        for number in range(1, _ENTITIES + 1):
            labels = ("rare",) if number % (_ENTITIES // _RARE) == 0 else ("common",)
            key = add(
                db,
                project,
                issue(number, title=_text(chance, 7), description=_text(chance, next(_LENGTHS)), labels=labels),
            )
            write_threads(db, key, *([("ada", NOW, _text(chance, next(_LENGTHS)))] for _ in range(_THREADS)))
    left = 1
    rules = generating.rules_of(Documents())
    while left:
        with transaction(db):
            _, left = generating.follow(db, rules, NOW, 500)
    _embed(db, database)
    db.close()
    return database


def questions(count: int) -> list[str]:
    chance = random.Random(13)
    return [_text(chance, chance.choice((2, 4, 8, 16))) for _ in range(count)]


def _text(chance: random.Random, words: int) -> str:
    """As in a language, the n-th word is n times rarer than the first."""
    return " ".join(_word(int(_WORDS ** chance.random())) for _ in range(words))


def _word(number: int) -> str:
    letters = ""
    while number:
        number, letter = divmod(number, 21)
        letters += "bcdfghjklmnpqrstvwxyz"[letter] + "aeiou"[letter % 5]
    return letters or "a"


def _embed(db: apsw.Connection, database: Path) -> None:
    """Random vectors around a hundred subjects, in the space of the bundled model."""
    generator = np.random.default_rng(17)
    subjects = generator.standard_normal((100, _DIMENSIONS)).astype(np.float32)
    with transaction(db):
        space = embedding.open_space(db, BUNDLED_NAME, _DIMENSIONS, NOW)
    while True:
        with transaction(db):
            portion = embedding.take(db, space, NOW, 5_000)
            made = subjects[generator.integers(0, 100, len(portion.passages))]
            made = made + generator.standard_normal(made.shape).astype(np.float32)
            unit: list[Vector] = list(made / np.linalg.norm(made, axis=1, keepdims=True))
            embedding.keep(db, space, portion.passages, unit, NOW)
        if not portion.passages and not portion.reused:
            break
    with transaction(db):
        embedding.tidy(db, database, space, last=True)


def write_texts(database: Path, target: Path) -> int:
    """What of a database is embedded, each text once."""
    db = open_database(database)
    rows = db.execute(
        "SELECT d.title, t.content_text, p.text_start, p.text_end FROM passages p"
        " JOIN documents d ON d.id = p.document_id JOIN document_texts t ON t.document_id = d.id"
    )
    texts = list(dict.fromkeys(embedded_text(title, text[start:end]) for title, text, start, end in rows))
    db.close()
    target.write_text(json.dumps(texts), "utf-8")
    return len(texts)
