"""What commands print. All of it leaves through this module, which escapes what a terminal would obey: `plain_text`."""

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
    """A console for texts of files and users: no markup is read in them, and none of them reaches the terminal raw."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts and tables, a line that is too long as it is."""
        super().print(*map(_safe, objects), **options)


def _safe(item: Any) -> Any:
    """A text without what a terminal would obey; tables are made of such texts already."""
    if isinstance(item, Text):
        return Text(in_lines(item.plain), item.style)
    return Text(in_lines(item)) if isinstance(item, str) else item


def console() -> Console:
    """Where answers go; lines are as long as they are where it is no terminal."""
    out = Terminal(highlight=False)
    return out if out.is_terminal else Terminal(highlight=False, width=160)


def progress_console(*, quiet: bool = False) -> Console:
    """Where it is shown that something is being done: on stderr, where that is a terminal; nowhere if `quiet`."""
    out = Terminal(stderr=True)
    out.quiet = quiet or not out.is_terminal
    return out


def plain(text: str) -> Text:
    """A text in one line for what a console shows."""
    return Text(in_one_line(text))


def print_error(text: str) -> None:
    """Write an error to stderr, in red where that is a terminal."""
    Terminal(stderr=True).print(Text(text, style="red"), soft_wrap=True)


def print_text(text: str) -> None:
    """A listing as it is, for a person or a program to read."""
    print(in_lines(text))


def print_json(answer: Any) -> None:
    """An answer for a program to read."""
    print(in_json(json.dumps(answer, indent=2, ensure_ascii=not writes_all())))


def print_page(text: str) -> None:
    """A page of HTML, for a browser to read in any encoding where it cannot be UTF-8."""
    page = in_lines(text)
    print(page if writes_all() else page.encode("ascii", "xmlcharrefreplace").decode())


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
        made.add_row(*(_cell(content) for content in row))
    return made


def _cell(content: Any) -> Text:
    text, style = (content.plain, content.style) if isinstance(content, Text) else (str(content), "")
    return Text(in_one_line(text), style)


def size_text(count: int) -> str:
    """A number of bytes for a person."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
