"""How an edit is declared, guarded and found by name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from loreline.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from loreline.simulator.world import World

P = ParamSpec("P")
R = TypeVar("R")

OPERATIONS: dict[str, Callable[..., Any]] = {}


def operation(edit: Callable[Concatenate[World, P], R]) -> Callable[Concatenate[World, P], R]:
    """Make a function an edit: it holds the world's lock, and control can name it."""

    @functools.wraps(edit)
    def guarded(world: World, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with world.lock:
            return edit(world, *args, **kwargs)

    OPERATIONS[edit.__name__] = guarded
    return guarded


def apply_edit(world: World, name: str, arguments: dict[str, Any]) -> Any:
    """Run an edit by its name. Raises InvalidValue for a name or argument it does not have."""
    edit = OPERATIONS.get(name)
    if edit is None:
        raise InvalidValue(f"There is no edit {name!r}.", hint=f"There are: {', '.join(sorted(OPERATIONS))}.")
    try:
        return edit(world, **arguments)
    except TypeError as error:
        raise InvalidValue(f"{name}: {error}") from error
