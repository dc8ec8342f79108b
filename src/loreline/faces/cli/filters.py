"""The filters of a search as options; each is also a word of the query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from loreline.errors import InvalidValue
from loreline.faces.cli.invocation import F

if TYPE_CHECKING:
    from loreline.core.query import Filters

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("-t", "--type", "type_", metavar="TYPE", help="issue, mr or discussion."),
    click.option("-p", "--project", "projects", multiple=True, metavar="PATH", help="Of this project (repeatable)."),
    click.option("-s", "--state", metavar="STATE", help="opened, closed or merged."),
    click.option("-A", "--author", metavar="USER", help="Written by; of threads: begun by."),
    click.option("-a", "--assignee", metavar="USER", help="Assigned to."),
    click.option(
        "-l", "--label", "labels", multiple=True, metavar="NAME", help="With this label (repeatable: all of them)."
    ),
    click.option("-m", "--milestone", metavar="TITLE", help="Of this milestone."),
    click.option("--path", metavar="PATH", help="About this file, or with a trailing / all below this folder."),
    click.option("--after", metavar="WHEN", help="Created since: 2024-01-31, 6m, 2w, yesterday."),
    click.option("--before", metavar="WHEN", help="Created before."),
    click.option("--updated-after", metavar="WHEN", help="Changed since."),
    click.option("--updated-before", metavar="WHEN", help="Last changed before."),
)


def filter_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def filters_of(now: int, **given: Any) -> Filters:
    """What the options of `filter_options` mean."""
    from loreline.core.query import BadQuery, Filters, narrowed

    filters = Filters()
    several = {"projects": "project", "labels": "label"}
    try:
        for name, value in given.items():
            key = several.get(name, name.rstrip("_").replace("_", "-"))
            for one in value if isinstance(value, tuple) else (value,):
                if one is not None:
                    filters = narrowed(filters, key, one, now)
    except BadQuery as error:
        raise InvalidValue(error.message, hint=error.hint) from error
    return filters
