"""`primsplit grad`: writes an ONNX model together with its gradient."""

import os
import time
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from primsplit.cli import options
from primsplit.cli.audited import files_of_listing, write_audit
from primsplit.cli.failures import command
from primsplit.cli.late import keep_model
from primsplit.cli.options import progress
from primsplit.cli.overwriting import keep_apart
from primsplit.cli.summary import tell
from primsplit.ir.errors import SpecError
from primsplit.programs.export import read_mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDerivation(options.Derivation):
    """The options that say which derivative of a model is wanted: weights are differentiated by their names."""

    wrt: Annotated[
        list[str] | None,
        typer.Option(
            "--wrt",
            metavar="NAME",
            help="An input or initializer to differentiate; 'params' for all weights, which leaves out constants such "
            "as 1/sqrt(d) and running statistics; repeat.",
        ),
    ] = None


@command
def grad(
    model: Annotated[str, typer.Argument(metavar="MODEL.onnx", help="The model to differentiate.")],
    *,
    onnx: Annotated[
        str | None, typer.Option("--onnx", metavar="PATH", help="The file to write; MODEL.grad.onnx here.")
    ] = None,
    asked: ModelDerivation,
    about: options.ModelOptions,
    writing: options.Writing,
    audit: options.Audit = None,
    json: options.Json = False,
) -> None:
    """Write an ONNX model with its gradient, or another derivative, in standard operators.

    Weights that are differentiated become inputs; with --weights defaults they keep their numbers, for runs that pass
    none. A scalar that is the only output is seeded with 1; for other outputs y the cotangent is an input d_y.
    """
    if model.endswith(".py"):
        raise SpecError(f"{model} is no ONNX model", cure=f"For Python files there is primsplit export {model}.")
    keep_apart("--onnx", onnx, model, form=writing.form.value)
    keep_apart("--audit", audit, model)
    keep_model(files_of_listing(audit), model)
    started = time.perf_counter()
    with progress(f"differentiating {model}", quiet=json):
        mode = read_mode("gradient" if asked.mode is None else asked.mode.value)
        program = about.load(model, options.read_specs(asked.spec))
        made = asked.derived(mode, program, wrt=asked.wrt or None, of=asked.of or None)
    path = os.path.splitext(os.path.basename(model))[0] + ".grad.onnx" if onnx is None else onnx
    with progress(f"writing {path}", quiet=json):
        paths = writing.save(made, path, mode)
        write_audit(audit, paths)
    seconds = time.perf_counter() - started
    left_out = program.float_constants if "params" in (asked.wrt or ()) else {}
    told_too: dict[str, Any] = {"left_out": left_out, "branches": program.frozen_branches}
    tell(os.path.basename(model), made, paths, writing.form.value, seconds, **told_too, json=json)
