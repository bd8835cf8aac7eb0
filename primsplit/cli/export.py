"""`primsplit export`: a function of a Python file as ONNX, forward and backward pass."""

import os
import time
from typing import Annotated, Any

import typer

from primsplit.cli import options
from primsplit.cli.failures import command
from primsplit.cli.options import Exported, FormName, progress
from primsplit.cli.output import console, print_json, size_text, table


@command
def export(
    target: options.Target,
    *,
    onnx: Annotated[
        str | None, typer.Option("--onnx", metavar="PATH", help="The file to write; MODEL.onnx here.")
    ] = None,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    form: options.Form = FormName.JOINT,
    dtype: options.Dtype = None,
    json: options.Json = False,
) -> None:
    """Write a NumPy function and its gradient as ONNX.

    Types of inputs come from the file's example_inputs(), from --spec, or from jaxtyping annotations.

    A file may also say its function (main), what to differentiate (wrt), and types (specs, a dict).
    """
    started = time.perf_counter()
    made = Exported(target, spec, wrt, dtype, quiet=json)
    path = onnx or os.path.splitext(os.path.basename(made.file.path))[0] + ".onnx"
    with progress(f"writing {path}", quiet=json):
        paths = made.split.save(path, form.value)
    answer = _answer(made, paths, form, time.perf_counter() - started)
    if json:
        print_json(answer)
    else:
        _show(answer)


def _answer(made: Exported, paths: list[str], form: FormName, seconds: float) -> dict[str, Any]:
    split = made.split
    joint = split.joint()
    return {
        "function": made.file.name,
        "form": form.value,
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
