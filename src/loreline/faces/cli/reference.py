"""`[issue|mr] REF`, as the commands that take one entity understand it."""

from __future__ import annotations

import shlex

from loreline.core.entities import Kind
from loreline.core.references import parse_reference
from loreline.errors import InvalidValue, UsageError

_KINDS = {
    "issue": Kind.ISSUE,
    "issues": Kind.ISSUE,
    "mr": Kind.MERGE_REQUEST,
    "mrs": Kind.MERGE_REQUEST,
    "merge_request": Kind.MERGE_REQUEST,
    "merge-request": Kind.MERGE_REQUEST,
}


def kind_and_reference(what: str | None, ref: str | None, command: str) -> tuple[Kind, str]:
    """The kind and the reference that the two arguments of `lore COMMAND` mean."""
    if what is None:
        raise UsageError(
            "the issue or merge request is missing", hint=f"lore {command} issue 12, or lore {command} '#12' in quotes"
        )
    if ref is not None:
        if what not in _KINDS:
            hint = f"lore {command} issue REF, or lore {command} mr REF"
            raise InvalidValue(f"{what!r} is neither an issue nor a merge request", hint=hint)
        return _KINDS[what], ref
    found = parse_reference(what)
    if found is None or found.kind is None:
        quoted = shlex.quote(what)
        raise InvalidValue(
            f"{what!r} does not say whether it is an issue or a merge request",
            hint=f"lore {command} issue {quoted}, or lore {command} mr {quoted}",
        )
    return found.kind, what
