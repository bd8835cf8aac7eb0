"""Print the parts of an audit as tables: lines, captures, states, constants, frozen values, rules."""

import os
from typing import Any

from rich.text import Text

from primsplit.audit.origins import URGENT
from primsplit.audit.sections import NO_LINE
from primsplit.cli.output import console, print_json, size_text, table
from primsplit.ir.plain_text import in_one_line


def show_file(found: dict[str, Any], listing: str) -> None:
    """Print the report of a file below its listing."""
    out = console()
    by = f"  {found['producer']}" if found["producer"] else ""
    told = f"{found['file']}  {size_text(found['bytes'])}{by}  sha256 {found['sha256']}"
    out.print(Text(in_one_line(told), style="bold"), soft_wrap=True)
    heading(f"Listing: {_counts(found['operators'])}")
    out.print(Text(listing), soft_wrap=True)
    _show_ends(found)
    if any(row["source"] or row["place"] != NO_LINE for row in found["lines"]):
        _show_lines(found)
    if found["states"]:
        _show_states(found["states"])
    if found["captures"] or "backward" in found["operators"]:
        _show_captures(found)
    if found["constants"]:
        _show_constants(found["constants"])


def _counts(operators: dict[str, int]) -> str:
    """Return `12 operators forward, 19 backward`, with the tangents among the latter."""
    if "" in operators:
        return f"{operators['']} operators"
    tangent = operators.get("tangent", 0)
    backward = operators.get("backward", 0) + tangent
    told = f", {backward} backward" if backward else ""
    of_them = f" ({tangent} of tangents)" if tangent else ""
    return f"{operators.get('forward', 0)} operators forward{told}{of_them}"


def _show_ends(found: dict[str, Any]) -> None:
    heading("Inputs and outputs")
    rows = [(v["role"], v["name"], v["type"]) for v in found["inputs"]]
    rows += [("output", v["name"], v["type"]) for v in found["outputs"]]
    console().print(table(("", "name", "type"), rows))


def _show_lines(found: dict[str, Any]) -> None:
    heading("Operators a line")
    sections = [name for name in found["lines"][0] if name not in {"place", "source"}]
    rows = [(v["place"], *(v[name] for name in sections), v["source"]) for v in found["lines"]]
    console().print(table(("line", *sections, ""), rows, right=sections))


def _show_constants(constants: list[dict[str, Any]]) -> None:
    heading("Constants: the arrays in the file that the listing shows by name")
    rows = [(c["name"], c["type"], size_text(c["bytes"]), c["value"]) for c in constants]
    console().print(table(("name", "type", "bytes", "value"), rows, right=("bytes",), whole=("type", "bytes")))


def show_split(found: dict[str, Any]) -> None:
    """Print the report of a forward and backward pass before they are optimized."""
    _show_ends(found)
    counts = found["operators"]
    heading(f"Listing: {counts['forward']} operators forward, {counts['backward']} backward")
    console().print(Text(found["listing"]), soft_wrap=True)
    _show_lines(found)
    if found["states"]:
        _show_states(found["states"])
    _show_captures(found)
    if found["recomputed"]:
        show_recomputed(found["recomputed"])


def _show_states(states: list[dict[str, Any]]) -> None:
    heading("States: what calls hand on to the next")
    rows = [
        (s["name"], s["type"], size_text(s["bytes"]), s["initial"], s["input"], s["output"] or "none, it is only read")
        for s in states
    ]
    columns = ("name", "type", "bytes", "starts as", "input", "output")
    console().print(table(columns, rows, right=("bytes",), whole=("type", "bytes")))


def _show_captures(found: dict[str, Any]) -> None:
    heading(f"Captures: what the backward pass reads; {found['stored']} stored for it")
    rows = [(c["name"], c["kind"], c["type"], c["bytes"], c["place"], c["source"]) for c in found["captures"]]
    columns = ("name", "kind", "type", "bytes stored", "line", "")
    console().print(table(columns, rows, right=("bytes stored",), whole=("type", "bytes stored", "line")))


def show_recomputed(recomputed: list[dict[str, Any]]) -> None:
    """Print the values that the backward pass computes again."""
    heading("Computed again: what the backward pass would read otherwise, and does without")
    rows = [
        (c["name"], c["type"], c["bytes"], c["operators"], _cost(c["cost"]), c["place"], c["source"])
        for c in recomputed
    ]
    columns = ("name", "type", "bytes not stored", "operators", "cost", "line", "")
    right = ("bytes not stored", "operators", "cost")
    console().print(table(columns, rows, right=right, whole=("type", "bytes not stored", "line")))


def _cost(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def show_frozen(frozen: list[dict[str, Any]]) -> None:
    """Print the values from outside, the draws in red."""
    is_drawn = any(v.get("origin") == "run time" for v in frozen)
    title = "Draws at run time, and frozen values" if is_drawn else "Frozen values"
    heading(f"{title}: read from outside the arguments, and fixed in the file")
    if not frozen:
        console().print("none")
        return
    rows = [
        (
            Text(v["name"] or "?", "bold red" if v.get("origin") in URGENT else ""),
            v["type"],
            v.get("origin", ""),
            size_text(v["bytes"]) if v["bytes"] else "",
            v["value"],
            v.get("digest", ""),
            *_where(v),
        )
        for v in frozen
    ]
    columns = ("name", "type", "origin", "bytes", "value", "sha256", "line", "")
    console().print(table(columns, rows, right=("bytes",), whole=("type", "origin", "bytes", "sha256", "line")))


def show_rules(used: list[dict[str, Any]], unused: list[dict[str, str]], *, json: bool) -> None:
    """Print which rules made nodes, and which made none."""
    if json:
        print_json({"rules": used, "unused": unused})
        return
    heading("Rules: what made the nodes of the derivatives")
    rows = [(r["rule"], r["part"], r["nodes"], r["form"], r["where"], ", ".join(r["lines"])) for r in used]
    columns = ("rule", "", "nodes", "form", "defined at", "lines")
    console().print(table(columns, rows, right=("nodes",), whole=("defined at",)))
    heading("Rules of yours that made no node")
    if unused:
        console().print(table(("rule", "of", "defined at"), [(r["rule"], r["of"], r["where"]) for r in unused]))
    else:
        console().print("none")


def show_branches(branches: list[dict[str, Any]]) -> None:
    """Print the choices by constants alone."""
    heading("Frozen branches: choices by constants alone")
    rows = [(b["kind"], b["node"], b["condition"], b["value"], b["runs"]) for b in branches]
    console().print(table(("", "node", "condition", "always", ""), rows, whole=("", "always")))


def _where(value: dict[str, Any]) -> tuple[str, str]:
    """The file and line, and the text of the line."""
    if "line" not in value:
        return "", ""
    return f"{os.path.basename(value['file'])}:{value['line']}", value["source"]


def heading(text: str) -> None:
    """Print a heading in bold, after an empty line."""
    console().print(Text(f"\n{text}", style="bold"))
