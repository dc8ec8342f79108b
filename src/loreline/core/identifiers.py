"""Identifiers, paths, versions and words without spaces between them: how they are found, whole and in parts.

FTS5 cuts a text into runs of letters and digits. So `src/auth/oauth.py` and `CVE-2024-1234` are phrases of their
parts by themselves. What that misses is added beside a text as further words, and asked for by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Possessive, and only from where a run begins: a megabyte of hex must not be tried from each of its characters.
_JOINED = re.compile(r"(?<![^\W_])[^\W_]++(?:[_\-][^\W_]++)+")
_HUMPED = re.compile(r"\b(?=\w*[a-z0-9][A-Z]|\w*[A-Z]{2,}[a-z])[A-Za-z][A-Za-z0-9]*\b")
_SPECIAL = re.compile(r"(?<![\w+#.])(?:[A-Za-z]\+\+|[CFJ]#|\.NET|[A-Z]\*)(?![\w+#])", re.IGNORECASE)
_FLAG = re.compile(r"(?<![\w-])-D([A-Za-z_]\w+)")
_CJK = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0002fa1f]+"
)
_LONGEST = 80
"""Longer runs are no names: hashes, encoded data."""


def extra_words(text: str) -> str:
    """What is to be indexed beside a text: each once, in order."""
    return " ".join(dict.fromkeys(_extra(text)))


def _extra(text: str) -> Iterator[str]:
    for match in _HUMPED.finditer(text):
        if len(match[0]) <= _LONGEST:
            yield " ".join(camel_parts(match[0]))
    for match in _JOINED.finditer(text):
        if len(match[0]) <= _LONGEST:
            yield re.sub(r"[_\-]", "", match[0]).lower()
    for match in _FLAG.finditer(text):
        yield match[1].lower().replace("_", " ")
    for match in _SPECIAL.finditer(text):
        yield special_word(match[0])
    for match in _CJK.finditer(text):
        yield from bigrams(match[0])


def camel_parts(name: str) -> list[str]:
    """`HTTPServerError` → http server error."""
    return [part.lower() for part in _CAMEL.findall(name)]


def special_word(name: str) -> str:
    """`C++` as a word that FTS5 keeps whole."""
    return name.lower().replace("+", "plus").replace("#", "sharp").replace(".", "dot").replace("*", "star")


def is_special(word: str) -> bool:
    """Whether it is such a name: `C++`, `C#`, `.NET`."""
    return _SPECIAL.fullmatch(word) is not None


def bigrams(run: str) -> list[str]:
    """A run of characters of a script without spaces, as overlapping pairs and single ones."""
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]


def alternatives(word: str) -> list[list[str]]:
    """Other ways than its own in which a query's word may stand in the index, each a list of adjacent words."""
    found: list[list[str]] = []
    if is_special(word):
        return [[special_word(word)]]
    flag = _FLAG.fullmatch(word)
    if flag is not None:
        found.append(flag[1].lower().split("_"))
    if _HUMPED.fullmatch(word):
        found.append(camel_parts(word))
    if _JOINED.fullmatch(word):
        found.append([re.sub(r"[_\-]", "", word).lower()])
    return found


def cjk_runs(word: str) -> list[str]:
    """The runs of such scripts in a query's word."""
    return _CJK.findall(word)


def is_identifier(word: str) -> bool:
    """Whether a word names something in code rather than being read: `TokenManager`, `src/auth.py`, `v1.2.3`."""
    return bool(
        re.search(r"[a-z0-9][A-Z]|[_/\\#]|::|\w\.\w|\d[a-zA-Z]|[a-zA-Z]\d|\+\+|^-D", word)
        or (len(word) > 1 and word.isupper())
    )
