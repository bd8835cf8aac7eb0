"""What `export` and `grad` tell of the files that they wrote."""

import os
from collections.abc import Sequence
from typing import Any

from primsplit.cli.output import console, print_json, size_text, table
from primsplit.export import SplitProgram


def tell(name: str, split: SplitProgram, paths: Sequence[str], form: str, seconds: float, *, json: bool) -> None:
    """Print the files, their inputs and outputs, and the number of operators; as JSON where asked."""
    answer = _answer(name, split, paths, form, seconds)
    if json:
        print_json(answer)
    else:
        _show(answer)


def _answer(name: str, split: SplitProgram, paths: Sequence[str], form: str, seconds: float) -> dict[str, Any]:
    joint = split.joint()
    return {
        "function": name,
        "form": form,
        "files": [{"path": p, "bytes": os.path.getsize(p)} for p in paths],
        "inputs": [{"name": n, "type": str(t)} for n, t in zip(joint.inputs, joint.types, strict=True)],
        "outputs": [{"name": n, "type": str(r.type)} for n, r in zip(joint.outputs, joint.block.results, strict=True)],
        "operators": {"forward": len(split.primal.ops), "backward": len(split.pullback.ops)},
        "seconds": round(seconds, 3),
    }


def _show(answer: dict[str, Any]) -> None:
    out = console()
    for file in answer["files"]:
        out.print(f"{file['path']}  {size_text(file['bytes'])}", style="bold", markup=False)
    counts = answer["operators"]
    out.print(
        f"{answer['function']}: {counts['forward']} operators forward, {counts['backward']} backward, "
        f"{answer['seconds']:.2f} s",
        markup=False,
    )
    rows = [("in", v["name"], v["type"]) for v in answer["inputs"]]
    rows += [("out", v["name"], v["type"]) for v in answer["outputs"]]
    out.print(table(("", "name", "type"), rows))
