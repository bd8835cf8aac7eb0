"""`primsplit audit --check PATH`: compares a listing that was written before with that of the file of today."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from primsplit.audit.frozen import array_digest
from primsplit.cli.array_files import read_array_file
from primsplit.cli.audited import beside, listing_of
from primsplit.cli.failures import NotRightError
from primsplit.cli.late import committed
from primsplit.cli.output import console, print_json
from primsplit.ir.errors import FileError, SpecError
from primsplit.programs.python_text import identifier

Check = Annotated[
    str | None,
    typer.Option(
        "--check",
        metavar="PATH",
        help="Only whether a listing that --output wrote before, as mathematics, text, Python or NumPy, is still that "
        "of the file: the lines that differ, and exit status 1. Nothing is written.",
    ),
]
COLOURS = {"+": "green", "-": "red"}


def check_listing(path: str, files: Sequence[Any], style: str | None, *, json: bool) -> None:
    """Print in what a listing differs from the one of the files. Raises NotRightError if its statements do.

    Raises FileError for a listing that cannot be read, SpecError for one of a style that cannot be compared.
    """
    text = _read(path)
    found_style = style or committed().style_of(text)
    if found_style in {"html", "json"}:
        raise SpecError(
            f"{path} is a {'page' if found_style == 'html' else 'report'}, and no listing of statements",
            cure="Check one that --style math, numpy, text or python --output wrote.",
        )
    today, arrays = listing_of(files, found_style)
    names = {identifier(n) for file in files for n in (*file.inputs, *file.outputs)}
    found = committed().compare_texts(text, today, names)
    others = _other_arrays(path, arrays, found.renamed)
    is_same = not found.statements and not others
    if json:
        counts = {"statements": found.statements, "remarks": found.remarks, "arrays": others, "moved": found.moved}
        print_json({"file": path, "style": found_style, "same": is_same, **counts, "lines": [*found.lines]})
    else:
        for line in found.lines:
            console().print(Text(line, style=COLOURS.get(line[:1], "")), soft_wrap=True)
        told = _told(path, found, others)
        console().print(Text(told, style="green" if is_same else "bold red"), soft_wrap=True)
    if not is_same:
        raise NotRightError


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FileError(f"cannot read {path}: it is no text") from None


def _other_arrays(path: str, arrays: Mapping[str, Any], renamed: Mapping[str, str]) -> list[str]:
    """Return the arrays of a module that are missing in the .npz beside it, are more than are read, or differ."""
    there = read_array_file(beside(path)) if arrays and os.path.exists(beside(path)) else {}
    old = {renamed.get(name, name): a for name, a in there.items()} if isinstance(there, dict) else {}
    return [name for name in dict.fromkeys((*arrays, *old)) if _digest(arrays.get(name)) != _digest(old.get(name))]


def _digest(array: Any) -> tuple[Any, ...]:
    return () if array is None else (array.dtype, array.shape, array_digest(array))


def _told(path: str, found: Any, others: Sequence[str]) -> str:
    parts = [f"{found.statements} lines"] if found.statements else []
    parts += [f"the arrays {', '.join(others)} of {os.path.basename(beside(path))}"] if others else []
    if parts:
        return f"{path} is another listing: {' and '.join(parts)} differ. --output {path} writes that of today."
    if found.remarks:
        return f"{path} has the same statements, and {found.remarks} older remarks. --output {path} writes new ones."
    moved = ", under other numbers of lines" if found.moved else ""
    return f"{path} is the listing of this file{moved}."
