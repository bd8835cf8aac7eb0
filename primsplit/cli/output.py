"""What commands print."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Where answers go; lines are as long as they are where it is no terminal."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=160)


def progress_console(*, quiet: bool = False) -> Console:
    """Where it is shown that something is being done: on stderr, where that is a terminal; nowhere if `quiet`."""
    out = Console(stderr=True)
    out.quiet = quiet or not out.is_terminal
    return out


def print_json(answer: Any) -> None:
    """An answer for a program to read."""
    print(json.dumps(answer, indent=2, ensure_ascii=not writes_all()))


def print_page(text: str) -> None:
    """A page of HTML, for a browser to read in any encoding where it cannot be UTF-8."""
    print(text if writes_all() else text.encode("ascii", "xmlcharrefreplace").decode())


def writes_all() -> bool:
    """True where answers are written in an encoding that has every character."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[str] = (), whole: Iterable[str] = ()
) -> Table:
    """A plain table. Cells are texts as they are, or rich Texts.

    The columns in `right` are flushed right; those in `whole` are not broken into lines where the terminal is narrow.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        justify: JustifyMethod = "right" if column in right else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column in whole)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return made


def size_text(count: int) -> str:
    """A number of bytes for a person."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
