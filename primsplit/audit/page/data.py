"""Collect what a page shows of files: lines, views with their panes, captures, counts. It is written as JSON."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from primsplit.audit.file_report import captured, report_files
from primsplit.audit.page.every_node import every_node
from primsplit.audit.page.mathematical import mathematical
from primsplit.audit.page.outline import FileView, Linked, Outline
from primsplit.audit.page.places import Lines
from primsplit.audit.sections import BACKWARD, TANGENT
from primsplit.audit.written import Written
from primsplit.ir import Op, Var
from primsplit.ir.dims import Atom, Dim, Size, symbols
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.plain_text import in_one_line

VIEWS: Mapping[str, Callable[[Written], FileView]] = {"Mathematics": mathematical, "Every node": every_node}
"""The views of a file by their titles; the first is shown first. The last one is there for every file."""


def page_data(files: Sequence[Written]) -> dict[str, Any]:
    """Return what the page of the files of one derivative shows."""
    lines, reports = Lines(files), report_files(files)
    late = frozenset(v["name"] for report in reports for v in report["inputs"] if v["role"] in {"cotangent", "tangent"})
    views = [*_views(files, lines, late)]
    kept = _captures(files)
    return {
        "title": in_one_line(files[0].block.name),
        "signature": _signature(reports),
        "files": [_file(report, file) for report, file in zip(reports, files, strict=True)],
        "panes": _pane_titles(files),
        "lines": [[line.file, line.number, line.function, line.text] for line in lines.all],
        "views": [{"title": title, "split": split, "rows": linked.for_json()} for title, split, linked, _ in views],
        "captures": [
            _capture(name, kind, var, op, lines, [(linked, names) for _, _, linked, names in views])
            for name, kind, var, op in kept
        ],
        "stored": reports[-1]["stored"],
        "symbols": _symbols(var for _, _, var, _ in kept),
    }


def _views(
    files: Sequence[Written], lines: Lines, late: frozenset[str]
) -> Iterator[tuple[str, int, Linked, Mapping[str, str]]]:
    """Yield the views that can be made of files."""
    for title, make in VIEWS.items():
        try:
            made = [*map(make, files)]
        except PrimsplitError:
            continue
        yield _view(title, made, lines, late)


def _view(
    title: str, made: Sequence[FileView], lines: Lines, late: frozenset[str]
) -> tuple[str, int, Linked, Mapping[str, str]]:
    """Return a view: its title, the number of rows in its first pane, all rows, and names in the view by the file's."""
    names = made[0].names
    outline = Outline(made, lines, frozenset(names.get(name, name) for name in late))
    return title, len(outline.panes[0]), Linked(outline.panes), names


def _pane_titles(files: Sequence[Written]) -> list[str]:
    """Return the titles of the panes; one title if the file does not tell a derivative from the rest."""
    if len(files) > 1:
        return ["Forward", "Backward"]
    names = {section.name for section in files[0].sections}
    if not names & {BACKWARD, TANGENT}:
        return ["Forward" if names == {"forward"} else "Program"]
    return ["Forward", "Backward" if BACKWARD in names else "Tangents"]


def _signature(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the function, its arguments and its results as texts."""
    roots = {name: _roots(v["name"] for v in reports[0][name]) for name in ("inputs",)}
    results = _roots(v["name"] for report in reports for v in report["outputs"])
    return [reports[0]["function"], ", ".join(roots["inputs"]), ", ".join(results)]


def _roots(names: Any) -> list[str]:
    """Return `params` for `params.w` and `params.b`."""
    return [*dict.fromkeys(in_one_line(name.partition(".")[0]) for name in names)]


def _file(report: Mapping[str, Any], file: Written) -> dict[str, Any]:
    return {
        "name": os.path.basename(file.path),
        "bytes": file.size,
        "sha256": file.digest,
        "producer": file.producer,
        "sections": {name or "nodes": count for name, count in report["operators"].items()},
    }


def _captures(files: Sequence[Written]) -> list[tuple[str, str, Var, Op | None]]:
    return captured(files[-1], files[0] if len(files) > 1 else None)


def _capture(
    name: str, kind: str, var: Var, op: Op | None, lines: Lines, views: Sequence[tuple[Linked, Mapping[str, str]]]
) -> dict[str, Any]:
    """Return a capture; `terms` are those of its bytes, `names` and `rows` its name and its definition in each view."""
    is_stored = kind not in {"input", "output"}
    count = var.type.nbytes()
    return {
        "name": in_one_line(name),
        "names": [names.get(name, in_one_line(name)) for _, names in views],
        "kind": kind,
        "type": str(var.type),
        "bytes": ("unknown" if count is None else str(count)) if is_stored else "0",
        "size": "unknown" if count is None else str(count),
        "terms": None if count is None else _terms(count),
        "line": None if op is None else lines.of(op),
        "rows": [linked.defined(names.get(name, name), op) for linked, names in views],
    }


def _terms(count: Dim) -> list[list[Any]]:
    """Return a size as terms: `[[16, "N"], [8]]` for 16*N + 8, `[[4, ["max", [[0]], [[1, "T"]]]]]` for 4*max(0, T)."""
    if not isinstance(count, Size):
        return [[int(count)]]
    return [[coefficient, *map(_factor, monomial)] for monomial, coefficient in count.terms]


def _factor(atom: Atom) -> Any:
    return atom if isinstance(atom, str) else [atom.function, *map(_terms, atom.arguments)]


def _symbols(variables: Iterable[Var]) -> list[str]:
    """Return the symbols in the sizes of captures."""
    counts = (var.type.nbytes() for var in variables)
    return sorted({symbol for count in counts if count is not None for symbol in symbols(count)})
