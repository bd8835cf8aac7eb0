"""`primsplit rules`: lists which operators and functions are covered, how, and by which test; and the stages."""

from collections import Counter
from typing import Annotated, Any

import typer
from rich.text import Text

from primsplit.audit.coverage import missing_in_file, name_rows, operator_rows
from primsplit.cli import options
from primsplit.cli.failures import NotRightError, command
from primsplit.cli.late import stage_rows
from primsplit.cli.output import console, print_json, table
from primsplit.ir.errors import SpecError

GREEN, YELLOW, RED, DIM = "green", "yellow", "red", "dim"
COLOURS = {"missing": RED, "refused": DIM}


@command
def rules(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only rows with this in their name, as scipy.stats has.")
    ] = None,
    *,
    missing_for: Annotated[
        str | None, typer.Option("--missing-for", metavar="ONNX", help="Only operators of this file without a rule.")
    ] = None,
    names: Annotated[bool, typer.Option("--numpy", help="Only the NumPy and SciPy functions.")] = False,
    operators: Annotated[bool, typer.Option("--onnx", help="Only the operators of ONNX.")] = False,
    pipeline: Annotated[
        bool, typer.Option("--pipeline", help="The stages that a program goes through before it is a file.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Print the coverage table: each operator of ONNX with its kind of rule, each function of NumPy, SciPy and math.

    A row is green only if a test of it passed when the table of tests was made; for a function with a gradient, a test
    that compared its second derivative with central differences. --json includes the test's name.
    """
    if missing_for is not None and (names or operators or name):
        raise SpecError("--missing-for tells of a file's operators alone: a NAME, --numpy and --onnx say nothing more")
    if pipeline:
        _show_pipeline(alone=not (names or operators or name or missing_for), json=json)
        return
    if missing_for is not None:
        _show_missing(missing_for, missing_in_file(missing_for), json=json)
        return
    found = {
        "operators": [] if names and not operators else [r.as_dict() for r in operator_rows()],
        "functions": [] if operators and not names else [r.as_dict() for r in name_rows()],
    }
    if name is not None:
        found = {title: [row for row in rows if name in row["name"]] for title, rows in found.items()}
        if not any(found.values()):
            raise SpecError(f"no operator or function has {name!r} in its name")
    if json:
        print_json({k: v for k, v in found.items() if v})
        return
    for title, rows in found.items():
        if rows:
            _show(title, rows)


def _show_pipeline(*, alone: bool, json: bool) -> None:
    if not alone:
        raise SpecError("--pipeline lists the stages alone: a NAME, --numpy, --onnx and --missing-for say nothing more")
    found = stage_rows()
    if json:
        print_json({"stages": found})
        return
    only = [", ".join(filter(None, (r["only"], r["has"]))) for r in found]
    cells = [
        [r["stage"], r["for"], "rounds" if r["rounds"] else "", needs, r["bench"], r["why"]]
        for r, needs in zip(found, only, strict=True)
    ]
    console().print(table(("stage", "for", "last digits", "only", "bench", ""), cells))


def _show(title: str, rows: list[dict[str, Any]]) -> None:
    out = console()
    out.print(table((title, "status", "tested by", ""), [_cells(r) for r in rows], whole=("status", "tested by")))
    counts = Counter(r["status"] for r in rows)
    told = ", ".join(f"{n} {status}" for status, n in counts.most_common())
    out.print(Text(f"{len(rows)} {title}: {told}; {sum(bool(r['tested']) for r in rows)} tested\n", style="bold"))


def _cells(row: dict[str, Any]) -> list[Any]:
    colour = GREEN if row["tested"] else COLOURS.get(row["status"], YELLOW)
    test = (row["tested"] or "").partition("::")[0].removeprefix("tests/")
    return [Text(row["name"], colour), Text(row["status"], colour), test, row["note"]]


def _show_missing(path: str, found: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        print_json({"file": path, "missing": found})
    elif found:
        rows = [(r["name"], r["count"], r["note"]) for r in found]
        console().print(table(("operator", "nodes", ""), rows, right=("nodes",)))
    else:
        console().print(f"every operator in {path} has a rule", markup=False)
    if found:
        raise NotRightError
