"""`primsplit export`: writes a function of a Python file, or an ONNX model, as ONNX with forward and backward pass."""

import os
import time
from typing import Annotated

import typer

from primsplit.cli import options
from primsplit.cli.audited import files_of_listing, write_audit
from primsplit.cli.failures import command
from primsplit.cli.grad import grad
from primsplit.cli.late import keep_program
from primsplit.cli.options import Exported, progress
from primsplit.cli.overwriting import files_of_output, keep_apart
from primsplit.cli.summary import tell
from primsplit.ir.errors import SpecError


@command
def export(
    target: options.TargetOrModel,
    *,
    onnx: Annotated[
        str | None,
        typer.Option(
            "--onnx", metavar="PATH", help="The file to write; MODEL.onnx here, of an ONNX model MODEL.grad.onnx."
        ),
    ] = None,
    asked: options.FunctionDerivation,
    model: options.ModelOptions,
    writing: options.Writing,
    audit: options.Audit = None,
    json: options.Json = False,
) -> None:
    """Write a NumPy function and its gradient, or another derivative, as ONNX.

    Types of inputs come from the file's example_inputs(), from --spec, or from jaxtyping annotations.

    A file may also define its function (main), the inputs to differentiate (wrt), and types (specs, a dict).

    For an ONNX model it writes what `primsplit grad` writes, which has more options for models.
    """
    if target.endswith(".onnx"):
        if asked.dtype is not None or asked.branches is not options.BranchesName.EXPLORE:
            raise SpecError("--dtype and --branches are for Python files: a model has its dtypes already")
        grad(target, onnx=onnx, asked=asked, about=model, writing=writing, audit=audit, json=json)
        return
    model.refuse()
    started = time.perf_counter()
    made = Exported(target, asked, quiet=json)
    keep_apart("--onnx", onnx, made.file.path)
    keep_apart("--audit", audit, made.file.path)
    path = os.path.splitext(os.path.basename(made.file.path))[0] + ".onnx" if onnx is None else onnx
    written = [*files_of_output(path, writing.form.value), *files_of_listing(audit)]
    keep_program(written, made.read, lambda: made.recorded)
    with progress(f"writing {path}", quiet=json):
        paths = writing.save(made.derived, path, made.mode)
        write_audit(audit, paths)
    seconds = time.perf_counter() - started
    tell(made.file.name, made.derived, paths, writing.form.value, seconds, drawn=made.drawn(), json=json)
