"""What a file was called before and after: the chain of its renames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

MOST_HOPS = 10


class Rename(Struct, frozen=True):
    old: str
    new: str
    at: int
    """When it was merged, in ms."""


class Chain(Struct, frozen=True):
    paths: list[str]
    """All names, the oldest first; the one asked for among them."""
    truncated: bool
    """There are more than so many hops away."""


def chain(path: str, renames_of: Callable[[Sequence[str]], Iterable[Rename]], hops: int = MOST_HOPS) -> Chain:
    """Every name that renames lead to, back and forth; a name that comes twice is followed once."""
    known = {path}
    seen: dict[Rename, None] = {}
    frontier = [path]
    for _ in range(hops):
        found = []
        for rename in renames_of(frontier):
            seen[rename] = None
            found += [name for name in (rename.old, rename.new) if name not in known]
            known.update(found)
        frontier = list(dict.fromkeys(found))
        if not frontier:
            return Chain(_ordered(path, seen), truncated=False)
    left = any({rename.old, rename.new} - known for rename in renames_of(frontier))
    return Chain(_ordered(path, seen), truncated=left)


def _ordered(path: str, renames: Iterable[Rename]) -> list[str]:
    """By the time at which the file began to be called so; what it was called from the beginning comes first."""
    began: dict[str, int] = {}
    ended: dict[str, int] = {}
    for rename in renames:
        began[rename.new] = min(rename.at, began.get(rename.new, rename.at))
        ended[rename.old] = min(rename.at, ended.get(rename.old, rename.at))
    never = max([*began.values(), *ended.values()], default=0) + 1
    return sorted({path, *began, *ended}, key=lambda name: (began.get(name, -1), ended.get(name, never), name))
