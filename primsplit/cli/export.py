"""`primsplit export`: writes a function of a Python file, or an ONNX model, as ONNX with forward and backward pass."""

import os
import time
from typing import Annotated, Any

import typer

from primsplit.cli import options
from primsplit.cli.audited import files_of_listing, write_audit
from primsplit.cli.failures import command
from primsplit.cli.grad import grad
from primsplit.cli.late import keep_program
from primsplit.cli.options import Exported, FormName, progress
from primsplit.cli.overwriting import files_of_output, keep_apart
from primsplit.cli.summary import tell
from primsplit.ir.errors import SpecError
from primsplit.programs.export import save_derived


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
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    of: options.Of = None,
    mode: options.Mode = None,
    form: options.Form = FormName.JOINT,
    chunk: options.Chunk = None,
    policy: options.Policy = None,
    dtype: options.Dtype = None,
    branches: options.Branches = options.BranchesName.EXPLORE,
    length: options.Length = None,
    absent: options.Absent = None,
    safe_where: options.SafeWhere = False,
    constant: options.Constant = None,
    provider: options.Provider = options.ProviderName.CPU,
    weights: options.Weights = options.WeightsName.INPUTS,
    runtime: options.Target = None,
    provenance: options.Provenance = options.ProvenanceName.FULL,
    audit: options.Audit = None,
    json: options.Json = False,
) -> None:
    """Write a NumPy function and its gradient, or another derivative, as ONNX.

    Types of inputs come from the file's example_inputs(), from --spec, or from jaxtyping annotations.

    A file may also define its function (main), the inputs to differentiate (wrt), and types (specs, a dict).

    For an ONNX model it writes what `primsplit grad` writes, which has more options for models.
    """
    if target.endswith(".onnx"):
        if dtype is not None or branches is not options.BranchesName.EXPLORE:
            raise SpecError("--dtype and --branches are for Python files: a model has its dtypes already")
        told = {"spec": spec, "length": length, "absent": absent, "safe_where": safe_where, "constant": constant}
        more: dict[str, Any] = {"runtime": runtime, "provenance": provenance, "audit": audit}
        said = {"mode": mode, "form": form, "chunk": chunk, "policy": policy, "provider": provider, "weights": weights}
        grad(target, onnx=onnx, wrt=wrt, of=of, **told, **said, **more, json=json)
        return
    options.Told(length, absent, safe_where=safe_where, constant=constant).refuse()
    started = time.perf_counter()
    made = Exported(
        target, spec, wrt, dtype, quiet=json, mode=mode, chunk=chunk, branches=branches, policy=policy, of=of
    )
    keep_apart("--onnx", onnx, made.file.path)
    keep_apart("--audit", audit, made.file.path)
    path = os.path.splitext(os.path.basename(made.file.path))[0] + ".onnx" if onnx is None else onnx
    written = [*files_of_output(path, form.value), *files_of_listing(audit)]
    keep_program(written, made.read, lambda: made.recorded)
    with progress(f"writing {path}", quiet=json):
        paths = save_derived(
            made.derived, path, made.mode, form.value, provider.value, weights.value, runtime, provenance.value
        )
        write_audit(audit, paths)
    seconds = time.perf_counter() - started
    tell(made.file.name, made.derived, paths, form.value, seconds, drawn=made.drawn(), json=json)
