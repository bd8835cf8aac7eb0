"""Prints everything that commands print, and escapes characters that a terminal would obey: `plain_text`."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from primsplit.ir.plain_text import in_json, in_lines, in_one_line


class Terminal(Console):
    """A console for texts of files and users: it reads no markup in them, and escapes them for the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts and tables, without breaking long lines."""
        super().print(*map(_safe, objects), **options)


def _safe(item: Any) -> Any:
    """A text without control characters for the terminal; tables contain only such texts."""
    if isinstance(item, Text):
        return Text(in_lines(item.plain), item.style)
    return Text(in_lines(item)) if isinstance(item, str) else item


def console() -> Console:
    """The console for answers; without a terminal, it is 160 columns wide."""
    out = Terminal(highlight=False)
    return out if out.is_terminal else Terminal(highlight=False, width=160)


def progress_console(*, quiet: bool = False) -> Console:
    """The console for progress: on stderr if that is a terminal; none if `quiet`."""
    out = Terminal(stderr=True)
    out.quiet = quiet or not out.is_terminal
    return out


def plain(text: str) -> Text:
    """A text on one line for the console."""
    return Text(in_one_line(text))


def print_error(text: str) -> None:
    """Write an error to stderr, in red on a terminal."""
    Terminal(stderr=True).print(Text(text, style="red"), soft_wrap=True)


def print_text(text: str) -> None:
    """Print a listing unchanged, for a person or a program to read."""
    print(in_lines(text))


def print_json(answer: Any) -> None:
    """Print an answer as JSON."""
    print(in_json(json.dumps(answer, indent=2, ensure_ascii=not writes_all())))


def print_page(text: str) -> None:
    """Print an HTML page, so that a browser can read it in any encoding if the output is not UTF-8."""
    page = in_lines(text)
    print(page if writes_all() else page.encode("ascii", "xmlcharrefreplace").decode())


def writes_all() -> bool:
    """Return whether answers are written in an encoding that has every character."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[str] = (), whole: Iterable[str] = ()
) -> Table:
    """A plain table. Cells are plain texts or rich Texts.

    The columns in `right` are right-aligned; those in `whole` are not wrapped on a narrow terminal.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        justify: JustifyMethod = "right" if column in right else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column in whole)
    for row in rows:
        made.add_row(*(_cell(content) for content in row))
    return made


def _cell(content: Any) -> Text:
    text, style = (content.plain, content.style) if isinstance(content, Text) else (str(content), "")
    return Text(in_one_line(text), style)


def size_text(count: int) -> str:
    """A number of bytes as text for a person."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
