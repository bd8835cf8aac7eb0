"""What commands print, and files that they write: whole or not at all."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from primsplit.errors import FileError


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


def write_whole(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Write a file under a temporary name in its folder, then give it its name. Raises FileError."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, scratch = tempfile.mkstemp(dir=folder, prefix=".primsplit-")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(scratch, 0o666 & ~_umask())
        os.replace(scratch, path)
    except OSError as error:
        os.unlink(scratch)
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
    except BaseException:
        os.unlink(scratch)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def size_text(count: int) -> str:
    """A number of bytes for a person."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
