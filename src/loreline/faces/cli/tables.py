"""Tables: aligned and cut to the terminal's width, or tab-separated and whole in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from loreline.core.untrusted import neutralise_line
from loreline.faces.cli.output import console, is_terminal


class Column(Struct, frozen=True):
    title: str
    style: str = ""
    right: bool = False
    flexible: bool = False
    """Gives way first when the terminal is narrow."""
    wide_only: bool = False
    """Left out below 100 columns."""


class Cell(Struct, frozen=True):
    """A cell whose style differs from its column's, or whose text in a pipe differs from that for people."""

    text: str
    style: str = ""
    plain: str | None = None


def show_table(columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]]) -> None:
    if not is_terminal():
        for row in rows:
            print("\t".join(_plain(cell) for cell in row))  # noqa: T201 - this is the output
        return
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    screen = console()
    shown = [index for index, column in enumerate(columns) if not column.wide_only or screen.width >= _WIDE]
    widths = {
        index: max(cell_len(text) for text in (columns[index].title, *(_shown(row[index]) for row in rows)))
        for index in shown
    }
    # What must give way does so here, to the last column: rich would squeeze all of them alike.
    spare = screen.width - sum(widths.values()) - _GAP * (len(shown) - 1)
    # Flexible columns first, then other words; of a number half is worth nothing.
    giving = [index for index in shown if columns[index].flexible]
    giving += [index for index in reversed(shown) if not columns[index].right]
    for index in dict.fromkeys(giving):
        if spare < 0:
            narrower = max(widths[index] + spare, min(_NARROWEST, widths[index]))
            spare += widths[index] - narrower
            widths[index] = narrower
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for index in shown:
        column = columns[index]
        table.add_column(
            column.title,
            style=column.style,
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=widths[index],
        )
    for row in rows:
        table.add_row(*(Text(_shown(row[index]), style=_style(row[index])) for index in shown))
    screen.print(table)


_WIDE = 100
_GAP = 2
_NARROWEST = 12


def _plain(cell: str | Cell) -> str:
    return neutralise_line(cell if isinstance(cell, str) else (cell.plain if cell.plain is not None else cell.text))


def _shown(cell: str | Cell) -> str:
    text = cell if isinstance(cell, str) else cell.text
    return " " * (len(text) - len(text.lstrip(" "))) + neutralise_line(text)


def _style(cell: str | Cell) -> str:
    return "" if isinstance(cell, str) else cell.style
