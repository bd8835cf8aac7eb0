"""What commands print."""

import json
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


def print_json(answer: Any) -> None:
    """An answer for a program to read."""
    print(json.dumps(answer, indent=2, ensure_ascii=False))


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
