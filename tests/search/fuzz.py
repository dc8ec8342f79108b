"""Questions nobody would ask: FTS5's syntax, quotes, emoji, NUL, a hundred thousand characters, and filters of them."""

import random

from loreline.core.documents import SourceType
from loreline.core.query import KEYS, Filters
from loreline.errors import LoreError
from loreline.services.search.request import Mode, Request, Sort

PIECES = (
    "lock", "cache", "token", "migration", "the", "harbor/tracking.py", "REFRESH_REUSE_GRACE", "C++", "-DWITH_SSL",
    "#17", "!22", "northwind/harbor#3", "https://gitlab.example.com/northwind/harbor/-/issues/20#note_1", "4b1f1e4a",
    "AND", "OR", "NOT", "NEAR(", "NEAR(a b, 3)", "(", ")", "{title body}:", "title:", "^lock", "lock*", "*", "+", "-",
    '"', "'", '"lock queue"', '"unclosed', "\\", '\\"', ";", "--", "/*", "%", "_", "?1", "$x", "\x00", "\t", "\r\n",
    "\u202e", "\ud800", "🙂", "テスト", "é", "e\u0301", "\ufb01", "İ", "ß", "\u200b", "\ufeff", "0", "1e999", "NaN",
    "null", "|", "<", ">", "\x1b[31m", "x" * 100_000, "a " * 20_000, '"' * 501, "(" * 501, "-" * 501, "+x " * 500,
)  # fmt: skip
VALUES = (
    "jane",
    "",
    "'",
    '"',
    "%",
    "_",
    "\x00",
    "🙂",
    "a/b/",
    "/",
    "2024-01-01",
    "6m",
    "9999999999y",
    "-1d",
    "issue",
    "open",
)


class Fuzz:
    """Asks one question after the other; anything but an answer or an error of ours comes out of it."""

    def __init__(self, seed, search):
        self._chance = random.Random(seed)
        self._search = search
        self.answered = self.refused = 0

    def ask(self):
        try:
            self._search(self.request())
            self.answered += 1
        except LoreError as error:
            if not (error.message and error.hint):
                raise
            self.refused += 1

    def request(self):
        chance = self._chance
        return Request(
            text=self.text(),
            mode=chance.choice(list(Mode)),
            filters=self.filters() if chance.random() < 0.4 else Filters(),
            sort=chance.choice(list(Sort)),
            limit=chance.choice((1, 5, 20, 20, 20, 100, 0, -1, 101)) if chance.random() < 0.3 else 10,
            cursor=chance.choice((None, None, None, "", "AAAA", "🙂", "x" * 1_000)) if chance.random() < 0.2 else None,
            group=chance.random() < 0.5,
            raw=chance.random() < 0.2,
        )

    def text(self):
        chance = self._chance
        pieces = [chance.choice(PIECES) for _ in range(chance.choice((0, 1, 1, 2, 3, 5, 8)))]
        if chance.random() < 0.3:
            key = chance.choice(KEYS)
            key = key[:-1] if chance.random() < 0.2 else key
            pieces.append(f"{chance.choice(('', '-', '+'))}{key}:{chance.choice(VALUES)}")
        if chance.random() < 0.3:
            pieces.append("".join(chr(chance.randrange(1, 0x2FFF)) for _ in range(chance.randrange(1, 30))))
        chance.shuffle(pieces)
        return chance.choice(("", " ", " ")).join(pieces)

    def filters(self):
        chance = self._chance
        made = {}
        for name in ("author", "assignee", "milestone", "state", "path"):
            if chance.random() < 0.2:
                made[name] = chance.choice((*VALUES, *PIECES[:60]))
        for name in ("projects", "labels"):
            if chance.random() < 0.2:
                made[name] = tuple(chance.choice(VALUES) for _ in range(chance.randrange(1, 4)))
        for name in ("created_after", "created_before", "updated_after", "updated_before"):
            if chance.random() < 0.1:
                made[name] = chance.choice((0, -(2**62), 2**62, 1_700_000_000_000))
        if chance.random() < 0.3:
            made["source_type"] = chance.choice(list(SourceType))
        return Filters(**made)
