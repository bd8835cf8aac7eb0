"""Writes the listing of files: `--audit PATH` of `export` and `grad`, `--output PATH` of `audit`."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.cli.late import json_reports, keep_model, list_files, numpy_module, read_written
from primsplit.cli.overwriting import keep_apart
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.plain_text import in_json, in_lines

ENDINGS = {".html": "html", ".htm": "html", ".json": "json", ".py": "numpy"}
"""The style of a listing by the ending of its file; of any other ending it is text."""


def write_audit(path: str | None, paths: Sequence[str]) -> None:
    """Write the listing of files that were just written to a path: see `write_listing`.

    Nothing is written for None. Raises SpecError for the path of one of the files, FileError.
    """
    if path is not None:
        write_listing(path, [*map(read_written, paths)], option="--audit")


def write_listing(path: str, files: Sequence[Any], style: str | None = None, *, option: str = "--output") -> None:
    """Write the listing of files in a style; by default as a page for .html, the report for .json, NumPy for .py.

    A module of NumPy has its large arrays in an .npz beside it. Raises SpecError for the path of one of the files,
    FileError.
    """
    keep_apart(option, path, *(file.path for file in files))
    style = style or ENDINGS.get(os.path.splitext(path)[1], "text")
    text, arrays = listing_of(files, style)
    written = [path, beside(path)] if arrays else [path]
    keep_apart(option, written[-1], *written[:-1])
    for file in files:
        keep_model(written, file.path)
    if arrays:
        write_whole(beside(path), lambda file: save_arrays(file, arrays))
    write_whole(path, lambda file: file.write(text.encode()))


def files_of_listing(path: str | None, style: str | None = None) -> list[str]:
    """Return the files that a listing may be written to."""
    if path is None:
        return []
    is_module = (style or ENDINGS.get(os.path.splitext(path)[1])) == "numpy"
    return [path, beside(path)] if is_module else [path]


def beside(path: str) -> str:
    """Return the path of the arrays of a module."""
    return f"{os.path.splitext(path)[0]}.npz"


def listing_of(files: Sequence[Any], style: str) -> tuple[str, Mapping[str, Any]]:
    """Return the listing of files as text, and the arrays that a module of NumPy loads."""
    if style == "numpy":
        module = numpy_module(files)
        return module.text, module.arrays
    if style == "json":
        return in_json(json.dumps({"files": json_reports(files)}, indent=2, ensure_ascii=False)), {}
    return in_lines(list_files(files, style)), {}


def save_arrays(file: Any, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name as .npz."""
    np.savez(file, **arrays)
