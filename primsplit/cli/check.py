"""`primsplit check`: compares a function's exported file with plain NumPy and central differences."""

import os
import tempfile
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress
from rich.text import Text

from primsplit.cli import options
from primsplit.cli.failures import NotRightError, command, user_output_to_stderr
from primsplit.cli.late import check_derived, check_file, open_file, open_pair
from primsplit.cli.loaded import LoadedModel, Subject, name_of, read_subject
from primsplit.cli.options import FormName
from primsplit.cli.output import console, plain, print_json, progress_console, table
from primsplit.programs.export import save_derived

COLOURS = {"ok": "green", "wrong": "red", "unclear": "yellow"}


@command
def check(
    target: options.TargetOrModel,
    *,
    onnx: Annotated[
        str | None, typer.Option("--onnx", metavar="PATH", help="Check this file, instead of a fresh one.")
    ] = None,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    mode: options.Mode = None,
    form: options.Form = FormName.JOINT,
    dtype: options.Dtype = None,
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", min=0.0, help="The relative error admitted of a gradient.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For the random directions and cotangents.")] = 0,
    model: options.RunOptions,
    json: options.Json = False,
) -> None:
    """Compare the exported file with the function itself, run by onnxruntime and by plain NumPy.

    Values are compared with the function's own, derivatives with its central differences in float64; the Hessian and
    products with it, with those of the gradient beside them. An ONNX model is compared with the standard's reference,
    at random inputs unless --inputs gives some. The exit status is 1 unless every row is ok.
    """
    asked = options.FunctionDerivation(spec=spec, wrt=wrt, dtype=dtype, mode=mode)
    made = read_subject(target, asked, model, quiet=json)
    with tempfile.TemporaryDirectory(prefix="primsplit-") as scratch:
        path = onnx or os.path.join(scratch, "fresh.onnx")
        if onnx is None:
            save_derived(made.derived, path, made.mode, form.value)
        rows = _rows(made, _open(path, made.mode, form), tolerance, seed, quiet=json)
    right = all(r["verdict"] == "ok" for r in rows)
    answer = {"function": name_of(made), "file": onnx, "form": form.value, "mode": made.mode, "rows": rows, "ok": right}
    if isinstance(made, LoadedModel):
        answer["frozen_branches"] = [branch.as_dict() for branch in made.model.frozen_branches]
    if json:
        print_json(answer)
    else:
        _show(made, answer)
    if not right:
        raise NotRightError


def _open(path: str, mode: str, form: FormName) -> Any:
    is_pair = form is FormName.SPLIT or (mode == "linearize" and form is FormName.JOINT)
    if not is_pair:
        return open_file(path)
    stem, second = os.path.splitext(path)[0], "backward" if mode == "gradient" else "linear"
    return open_pair(f"{stem}.forward.onnx", f"{stem}.{second}.onnx")


def _rows(made: Subject, file: Any, tolerance: float | None, seed: int, *, quiet: bool) -> list[dict[str, Any]]:
    given, outputs = made.arguments, len(made.split.program.outputs)
    against = "the reference" if isinstance(made, LoadedModel) else "plain NumPy"
    parts: tuple[Any, ...] = (made.split, given.function, given.values, file)
    named: dict[str, Any] = {"tolerance": tolerance, "seed": seed, "against": against}
    if made.derived is made.split:
        checking = check_file(*parts, **named)
        total = outputs + len(made.split.gradient_names)
    else:
        checking = check_derived(made.derived, *parts, second=made.mode in {"hvp", "hessian"}, **named)
        total = len(checking.program.outputs)
    rows = []
    with Progress(console=progress_console(quiet=quiet), transient=True) as bar, user_output_to_stderr():
        task = bar.add_task("checking", total=total)
        for row in checking.rows():
            rows.append(row.as_dict())
            bar.update(task, advance=1, description=escape(plain(f"checking {row.name}").plain))
    return rows


def _show(made: Subject, answer: dict[str, Any]) -> None:
    out = console()
    columns = ("name", "type", "against", "error", "verdict", "")
    out.print(table(columns, [_cells(r) for r in answer["rows"]], right=("error",), whole=columns[2:5]))
    drawn = " at random inputs" + ("" if isinstance(made, LoadedModel) else ": the file has no example_inputs()")
    drawn = drawn if made.arguments.drawn else ""
    wrong = sum(r["verdict"] != "ok" for r in answer["rows"])
    told = f"{wrong} of {len(answer['rows'])} not ok" if wrong else "all ok"
    out.print(Text(f"{answer['function']}: {told}{drawn}", style="red" if wrong else "green"))
    for branch in made.model.frozen_branches if isinstance(made, LoadedModel) else ():
        out.print(Text(f"Frozen branch: {branch}", style="yellow"))
    if drawn and isinstance(made, LoadedModel) and any(r["verdict"] == "unclear" for r in answer["rows"]):
        out.print(Text("Inputs that the model is made for are told by --inputs PATH.npz, or --range NAME:LOW,HIGH."))


def _cells(row: dict[str, Any]) -> list[Any]:
    error = "" if row["error"] is None else f"{row['error']:.1e}"
    against = row["against"].removeprefix("central ")
    return [row["name"], row["type"], against, error, Text(row["verdict"], COLOURS[row["verdict"]]), row["note"]]
