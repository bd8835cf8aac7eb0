"""Prints a summary of the files that `export` and `grad` wrote."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from primsplit.audit.frozen import Frozen
from primsplit.audit.report import operators
from primsplit.cli.output import console, print_json, size_text, table
from primsplit.ir.frozen_branches import FrozenBranch
from primsplit.programs.api import SplitProgram
from primsplit.programs.export import Derived
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram

SHOWN = 4
"""The most names in a sentence, as those of operators without a tangent if a gradient is 0."""


def tell(
    name: str,
    made: Derived,
    paths: Sequence[str],
    form: str,
    seconds: float,
    *,
    drawn: Sequence[Frozen] = (),
    left_out: Mapping[str, str] | None = None,
    branches: Sequence[FrozenBranch] = (),
    json: bool,
) -> None:
    """Print the files, their inputs and outputs, and the number of operators; as JSON if requested.

    `drawn` are the calls of random generators whose numbers the files hold, `left_out` the constants of a model that
    are not among its weights, with the reason, `branches` a model's choices by constants alone.
    """
    told = {"drawn": [d.as_dict() for d in drawn], "left_out": dict(left_out or {})}
    answer = {**_answer(name, made, paths, form, seconds), **told, "frozen_branches": [b.as_dict() for b in branches]}
    if json:
        print_json(answer)
    else:
        _show(answer)
        for branch in branches:
            console().print(f"\nFrozen branch: {branch}.", markup=False)


def _answer(name: str, made: Derived, paths: Sequence[str], form: str, seconds: float) -> dict[str, Any]:
    joint = made if isinstance(made, Program) else made.joint()
    return {
        "function": name,
        "form": form if len(paths) == 1 else "split",
        "files": [{"path": p, "bytes": os.path.getsize(p)} for p in paths],
        "inputs": [{"name": n, "type": str(t)} for n, t in zip(joint.inputs, joint.types, strict=True)],
        "outputs": [{"name": n, "type": str(r.type)} for n, r in zip(joint.outputs, joint.block.results, strict=True)],
        "without_rank": _without_rank(joint),
        "zero": made.zero_table() if isinstance(made, SplitProgram) else [],
        "merged": made.merged_table() if isinstance(made, SplitProgram) else [],
        "operators": _operators(made),
        "seconds": round(seconds, 3),
    }


def _without_rank(joint: Program) -> list[str]:
    """The inputs of unknown rank, or if there are none the outputs, without those that follow from them."""
    inputs = [n for n, t in zip(joint.inputs, joint.types, strict=True) if t.rank is None]
    outputs = [n for n, r in zip(joint.outputs, joint.block.results, strict=True) if r.type.rank is None]
    told = {f"d_{name}" for name in (*joint.inputs, *joint.outputs)}
    return [n for n in inputs if n not in told] or [n for n in outputs if n not in told]


def _operators(made: Derived) -> dict[str, int]:
    """The number of operators in each part."""
    if isinstance(made, SplitProgram):
        return {"forward": len([*operators(made.primal)]), "backward": len([*operators(made.pullback)])}
    if isinstance(made, PushedProgram):
        return {"forward": len([*operators(made.primal)]), "tangent": len([*operators(made.tangent)])}
    return {"in all": len([*operators(made.block)])}


def _few(names: Sequence[str]) -> str:
    """Return the first few of some names, and how many more there are."""
    return ", ".join(names if len(names) <= SHOWN else [*names[:SHOWN], f"{len(names) - SHOWN} more"])


def _show(answer: dict[str, Any]) -> None:
    out = console()
    for file in answer["files"]:
        out.print(f"{file['path']}  {size_text(file['bytes'])}", style="bold", markup=False)
    counts = answer["operators"]
    told = ", ".join(f"{n} {'operators ' if i == 0 else ''}{part}" for i, (part, n) in enumerate(counts.items()))
    out.print(f"{answer['function']}: {told}, {answer['seconds']:.2f} s", markup=False)
    rows = [("in", v["name"], v["type"]) for v in answer["inputs"]]
    rows += [("out", v["name"], v["type"]) for v in answer["outputs"]]
    out.print(table(("", "name", "type"), rows))
    for row in answer["zero"]:
        ends = row["through"]
        told = _few(ends)
        why = f"acts on the results through operators without a tangent alone: {told}" if told else "acts on no result"
        out.print(f"\n{row['name']} is 0: {row['input']} {why}.", markup=False)
    for row in answer["drawn"]:
        place = f"{os.path.basename(row['file'])}:{row['line']}"
        told = "drew while the file was written: each run of it has the same numbers. ps.random draws in each run."
        out.print(f"\n{row['name']} at {place} {told}", markup=False)
    for why in dict.fromkeys(answer["left_out"].values()):
        names = [name for name, reason in answer["left_out"].items() if reason == why]
        out.print(f"\n{_few(names)} is no weight: {why}. To differentiate by it: --wrt {names[0]}.", markup=False)
    for row in answer["merged"]:
        told = (
            f"is one number everywhere, and read by {row['readers']} operators: it may be several parameters that the"
        )
        out.print(f"\n{row['name']} {told} exporter wrote once. Its gradient is the sum of theirs.", markup=False)
    if missing := answer["without_rank"]:
        told = "no rank, as in the model. onnxruntime runs such a file, onnx.checker refuses it."
        out.print(f"\n{', '.join(missing)}: {told}\nTo say the rank: --spec '{missing[0]}:[N,3]'.", markup=False)
