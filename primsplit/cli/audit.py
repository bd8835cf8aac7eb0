"""`primsplit audit`: lists the gradient of a function, for a person to check."""

import os
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from primsplit.audit.report import report
from primsplit.cli import options
from primsplit.cli.failures import command
from primsplit.cli.loaded import LoadedModel, read_subject
from primsplit.cli.output import console, print_json, print_page, print_text, size_text, table
from primsplit.ir.errors import SpecError


class Style(StrEnum):
    """The format of a listing."""

    TEXT = "text"
    PYTHON = "python"
    HTML = "html"


@command
def audit(
    target: options.TargetOrModel,
    *,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    dtype: options.Dtype = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Only the values that the trace froze: what the function read elsewhere.")
    ] = False,
    style: Annotated[
        Style | None,
        typer.Option(
            "--style",
            help="Only the listing, as text, as Python that traces to it, or as a page of HTML.",
            **options.one_of(Style),
        ),
    ] = None,
    policy: options.Policy = None,
    length: options.Length = None,
    absent: options.Absent = None,
    safe_where: options.SafeWhere = False,
    constant: options.Constant = None,
    json: options.Json = False,
) -> None:
    """List the forward and backward pass of a function or model, with the lines or nodes that they come from.

    Below them it lists the states that calls hand on, the values that the backward pass reads from the forward pass,
    and the values from outside that are frozen into the program.
    """
    if frozen and style is not None:
        raise SpecError("--frozen asks for the frozen values alone, and --style for the listing alone")
    told = options.Told(length, absent, safe_where=safe_where, constant=constant)
    made = read_subject(target, spec, wrt, dtype, quiet=json, told=told, policy=policy)
    if style is not None:
        _show_listing(made.split.listing(style.value), style, json=json)
        return
    if isinstance(made, LoadedModel):
        branches = [branch.as_dict() for branch in made.model.frozen_branches]
        found = {**report(made.split, made.model), "frozen": made.frozen(), "frozen_branches": branches}
    else:
        found = report(made.split, made.file.function)
    if json:
        print_json(found["frozen"] if frozen else found)
        return
    if not frozen:
        _show_split(found)
    _show_frozen(found["frozen"])
    if found.get("frozen_branches"):
        _show_branches(found["frozen_branches"])


def _show_listing(text: str, style: Style, *, json: bool) -> None:
    if json:
        print_json({"style": style.value, "listing": text})
    elif style is Style.HTML:
        print_page(text)
    else:
        print_text(text)


def _show_split(found: dict[str, Any]) -> None:
    _show_program(found)
    if found["states"]:
        _show_states(found["states"])
    _show_captures(found)
    if found["recomputed"]:
        _show_recomputed(found["recomputed"])


def _show_program(found: dict[str, Any]) -> None:
    out = console()
    _heading("Inputs and outputs")
    rows = [(v["role"], v["name"], v["type"]) for v in found["inputs"]]
    out.print(table(("", "name", "type"), rows + [("output", v["name"], v["type"]) for v in found["outputs"]]))
    counts = found["operators"]
    _heading(f"Listing: {counts['primal']} operators forward, {counts['pullback']} backward")
    out.print(Text(found["listing"]), soft_wrap=True)
    _heading("Operators a line")
    lines = [(v["place"], v["primal"], v["pullback"], v["source"]) for v in found["lines"]]
    out.print(table(("line", "forward", "backward", ""), lines, right=("forward", "backward")))


def _show_states(states: list[dict[str, Any]]) -> None:
    _heading("States: what calls hand on to the next")
    rows = [
        (s["name"], s["type"], size_text(s["bytes"]), s["initial"], s["input"], s["output"] or "none, it is only read")
        for s in states
    ]
    columns = ("name", "type", "bytes", "starts as", "input", "output")
    console().print(table(columns, rows, right=("bytes",), whole=("type", "bytes")))


def _show_captures(found: dict[str, Any]) -> None:
    _heading(f"Captures: what the backward pass reads; {found['stored']} stored for it")
    rows = [(c["name"], c["kind"], c["type"], c["bytes"], c["place"], c["source"]) for c in found["captures"]]
    columns = ("name", "kind", "type", "bytes stored", "line", "")
    console().print(table(columns, rows, right=("bytes stored",), whole=("type", "bytes stored", "line")))


def _show_recomputed(recomputed: list[dict[str, Any]]) -> None:
    _heading("Computed again: what the backward pass would read otherwise, and does without")
    rows = [
        (c["name"], c["type"], c["bytes"], c["operators"], _cost(c["cost"]), c["place"], c["source"])
        for c in recomputed
    ]
    columns = ("name", "type", "bytes not stored", "operators", "cost", "line", "")
    right = ("bytes not stored", "operators", "cost")
    console().print(table(columns, rows, right=right, whole=("type", "bytes not stored", "line")))


def _cost(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def _show_frozen(frozen: list[dict[str, Any]]) -> None:
    _heading("Frozen values: read from outside the arguments, and fixed in the file")
    if not frozen:
        console().print("none")
        return
    rows = [
        (v["name"] or "?", v["type"], size_text(v["bytes"]) if v["bytes"] else "", v["value"], *_where(v))
        for v in frozen
    ]
    columns = ("name", "type", "bytes", "value", "line", "")
    console().print(table(columns, rows, right=("bytes",), whole=("type", "bytes", "line")))


def _show_branches(branches: list[dict[str, Any]]) -> None:
    _heading("Frozen branches: choices by constants alone")
    rows = [(b["kind"], b["node"], b["condition"], b["value"], b["runs"]) for b in branches]
    console().print(table(("", "node", "condition", "always", ""), rows, whole=("", "always")))


def _where(value: dict[str, Any]) -> tuple[str, str]:
    """The file and line, and the text of the line."""
    if "line" not in value:
        return "", ""
    return f"{os.path.basename(value['file'])}:{value['line']}", value["source"]


def _heading(text: str) -> None:
    console().print(Text(f"\n{text}", style="bold"))
