"""Writes the audit of files that were just written: `--audit PATH` of `export` and `grad`."""

import json
from collections.abc import Sequence

from primsplit.cli.late import list_files, read_written, report_files
from primsplit.cli.overwriting import keep_apart
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.plain_text import in_json, in_lines


def write_audit(path: str | None, paths: Sequence[str]) -> None:
    """Write the listing of the files to a path: as a page for .html, as the report for .json, else as text.

    Nothing is written for None. Raises SpecError for the path of one of the files, FileError.
    """
    if path is None:
        return
    keep_apart("--audit", path, *paths)
    files = [*map(read_written, paths)]
    if path.endswith(".json"):
        text = in_json(json.dumps({"files": report_files(files)}, indent=2, ensure_ascii=False))
    else:
        text = in_lines(list_files(files, "html" if path.endswith((".html", ".htm")) else "text"))
    write_whole(path, lambda file: file.write(text.encode()))
