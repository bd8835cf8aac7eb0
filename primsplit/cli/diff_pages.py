"""Show a comparison of two files: as tables and a coloured listing, or as Markdown for a pull request."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from primsplit.cli.audit_tables import heading
from primsplit.cli.late import unified
from primsplit.cli.output import console, plain, size_text, table
from primsplit.ir.plain_text import counted, in_one_line

COLOURS = {"+": "green", "-": "red"}
STATUSES = ("same", "changed", "added", "removed")
Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A title, columns and rows."""


def show(found: Any, numbers: Mapping[str, Any] | None, *, whole: bool, nodes: bool = False) -> None:
    """Print a comparison."""
    out = console()
    for sign, file in zip("-+", (found.before, found.after), strict=True):
        out.print(Text(in_one_line(f"{sign} {_title(file)}"), style=COLOURS[sign]), soft_wrap=True)
    for title, columns, rows in tables_of(found, numbers, nodes=nodes):
        heading(title)
        out.print(table(columns, rows, right=STATUSES))
    if found.changes:
        heading("Statements")
        for line in unified(_shown(found, nodes=nodes), whole=whole):
            out.print(Text(line, style=COLOURS.get(line[:1], "")), soft_wrap=True)
    out.print()
    for note in notes_of(found, numbers, nodes=nodes):
        out.print(plain(note), soft_wrap=True)
    out.print(Text(verdict(found), style="green" if found.is_same else "bold red"), soft_wrap=True)


def as_markdown(found: Any, numbers: Mapping[str, Any] | None, *, whole: bool, nodes: bool = False) -> str:
    """Return a comparison in GitHub's Markdown."""
    names = (f"`{in_one_line(file.path).replace('`', '')}`" for file in (found.before, found.after))
    parts = [f"### {' → '.join(names)}", verdict(found)]
    for title, columns, rows in tables_of(found, numbers, nodes=nodes):
        lines = [columns, ["---:" if c in STATUSES else "---" for c in columns], *rows]
        parts += [f"**{title}**", "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)]
    if found.changes:
        text = "\n".join(unified(_shown(found, nodes=nodes), whole=whole))
        longest = max((len(run) for run in re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        parts.append(f"{fence}diff\n{text}\n{fence}")
    return "\n\n".join([*parts, *map(_cell, notes_of(found, numbers, nodes=nodes))])


def _title(file: Any) -> str:
    by = f"  {file.producer}" if file.producer else ""
    return f"{file.path}  {size_text(file.size)}{by}  sha256 {file.digest[:16]}"


def _cell(text: str) -> str:
    """Return a text that Markdown shows as it is, in a table too."""
    return re.sub(r"([\\`|*_<>\[\]])", r"\\\1", in_one_line(text))


def verdict(found: Any) -> str:
    """Return the number of differences of each kind, in one line."""
    totals = {what: _totals(counts) for what, counts in (("statement", found.shown_counts), ("node", found.counts))}
    if found.is_same:
        moved = f"; {found.moved} of them are for other lines" if found.moved else ""
        return f"No difference: {_are(totals['node']['same'])} the same{moved}."
    what = "statement" if found.mathematics is not None and found.mathematics.changes else "node"
    told = [f"{counted(totals[what][status], what)} {status}" for status in STATUSES[1:] if totals[what][status]]
    told += [f"{counted(found.retyped, 'node')} in other types"] if found.retyped else []
    rows = {"array": found.arrays, "input": found.inputs, "output": found.outputs, "state": found.states}
    told += [counted(len(of), name) for name, of in rows.items() if of]
    told += ["another version of the operators"] if found.opsets else []
    return f"They differ: {', '.join(told)}."


def _totals(counts: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {status: sum(of[status] for of in counts.values()) for status in STATUSES}


def _are(count: int) -> str:
    return f"{counted(count, 'node')} {'is' if count == 1 else 'are'}"


def _shown(found: Any, *, nodes: bool) -> Any:
    return found.changes if nodes else found.shown_changes


def notes_of(found: Any, numbers: Mapping[str, Any] | None, *, nodes: bool = False) -> list[str]:
    """Return what a reader should know beside the tables."""
    notes = [] if numbers is None else _notes_on(numbers)
    hidden = 0 if nodes or found.mathematics is None else found.mathematics.hidden
    if hidden:
        notes.append(f"{hidden} more differ in nodes alone, such as shape plumbing (--nodes).")
    if found.renamed:
        notes.append(f"Renamed: {', '.join(f'{a} is now {b}' for a, b in found.renamed.items())}.")
    if found.retyped:
        notes.append(f"{counted(found.retyped, 'node')} compute in other types, as what they read does.")
    if found.moved and not found.is_same:
        notes.append(f"{_are(found.moved)} the same and for another line.")
    if found.before.producer != found.after.producer:
        notes.append(f"Written by {found.before.producer or '?'}, and now by {found.after.producer or '?'}.")
    return notes


def _notes_on(numbers: Mapping[str, Any]) -> list[str]:
    """Return the samples that outputs were compared at, and why others were not."""
    samples = "; ".join(numbers["samples"])
    is_equal = all(row["absolute"] == 0 for row in numbers["outputs"])
    told = "Outputs are equal" if is_equal else "Outputs were compared"
    return [*([f"{told} at: {samples}."] if samples else []), *(f"Not compared: {note}." for note in numbers["notes"])]


def tables_of(found: Any, numbers: Mapping[str, Any] | None, *, nodes: bool = False) -> list[Table]:
    """Return the tables of a comparison, without empty ones; `nodes` counts nodes in the place of statements."""
    is_node = nodes or found.mathematics is None
    told = found.counts if is_node else found.shown_counts
    counts = [(name or "graph", *(str(of[status]) for status in STATUSES)) for name, of in told.items()]
    columns = ("name", "before", "after")
    outputs = [] if numbers is None else [row for row in numbers["outputs"] if row["absolute"] != 0]
    all_tables: Sequence[Table] = (
        (f"{'Nodes' if is_node else 'Statements'} by section", ("section", *STATUSES), counts),
        ("Arrays", (*columns, "largest difference"), [_array(row) for row in found.arrays]),
        ("Inputs", columns, [_row(row) for row in found.inputs]),
        ("Outputs", columns, [_row(row) for row in found.outputs]),
        ("States", columns, [_row(row) for row in found.states]),
        ("Versions of operators", columns, [_row(row) for row in found.opsets]),
        (
            "Outputs by numbers: the largest differences",
            ("output", "absolute", "relative", "at"),
            [_output(row) for row in outputs],
        ),
    )
    return [(title, heads, rows) for title, heads, rows in all_tables if rows]


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    texts = ("none" if row[side] is None else row[side] or "?" for side in ("before", "after"))
    return (row["name"], *texts)


def _array(row: Mapping[str, Any]) -> tuple[str, ...]:
    sides = (row[side] for side in ("before", "after"))
    texts = ("none" if of is None else f"{of['type']} {of['sha256']}" for of in sides)
    return (row["name"], *texts, "" if row["difference"] is None else f"{row['difference']:.3g}")


def _output(row: Mapping[str, Any]) -> tuple[str, ...]:
    if row["why"]:
        return row["name"], row["why"], "", row["sample"]
    return row["name"], f"{row['absolute']:.3g}", f"{row['relative']:.3g}", row["sample"]
