"""Text that GitLab users wrote, made safe to show. What is stored stays as they wrote it."""

from __future__ import annotations

import re
import unicodedata

# Controls that drive a terminal or reorder a line. Tab and newline are layout and stay.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"  # direction marks, embeddings, overrides, isolates
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"  # line breaks in disguise, tags
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def neutralise(text: str) -> str:
    """Terminal escapes and direction tricks become visible symbols; nothing else changes."""
    text = text.replace("\r\n", "\n")
    return _CONTROL.sub(_picture, text) if _CONTROL.search(text) else text


def neutralise_line(text: str) -> str:
    """The same on one line: for titles, names and table cells."""
    return neutralise(" ".join(text.split("\n")).replace("\t", " ")).strip()


def escape_in_json(text: str) -> str:
    """JSON text whose strings hold the same characters, written as escapes: safe to print, nothing lost."""
    return _CONTROL.sub(_json_escape, text) if _CONTROL.search(text) else text


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def without_surrogates(text: str) -> str:
    """Lone surrogates are no Unicode text; the replacement character stands for each."""
    return _SURROGATE.sub("\ufffd", text) if _SURROGATE.search(text) else text


def _picture(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    name = unicodedata.name(character, "").split(" ")
    return f"<{''.join(word[0] for word in name)}>" if name != [""] else "\ufffd"
