"""`primsplit run`: an ONNX file, or a Python file's function with its gradient, on arrays from a file."""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from primsplit.cli import options
from primsplit.cli.arrays import Arrays, as_declared, as_stored, read_arrays
from primsplit.cli.failures import command
from primsplit.cli.late import open_file
from primsplit.cli.options import Exported, progress
from primsplit.cli.output import console, print_json, table
from primsplit.errors import SpecError
from primsplit.programs.program import arrays_of
from primsplit.specs import check_names
from primsplit.whole import write_whole


@command
def run(
    target: Annotated[str, typer.Argument(metavar="FILE", help="An ONNX file, or model.py, or model.py:loss.")],
    *,
    inputs: Annotated[
        str | None,
        typer.Option("--inputs", metavar="PATH", help="An .npz with an array an input, or an .npy of the only input."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="PATH", help="The .npz for the outputs, or .npy of the only one.")
    ] = None,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    dtype: options.Dtype = None,
    json: options.Json = False,
) -> None:
    """Run a file with onnxruntime.

    A Python file is exported in memory first, and its example_inputs() stand for inputs that are not given.
    """
    if target.endswith(".onnx"):
        if spec or wrt or dtype:
            raise SpecError("--spec, --wrt and --dtype are for Python files: an ONNX file has its inputs already")
        outputs = _run_file(target, inputs, quiet=json)
    else:
        outputs = _run_model(Exported(target, spec, wrt, dtype, quiet=json), inputs)
    if out is not None:
        _save(out, outputs)
    if json:
        print_json({"outputs": [_told(n, a) for n, a in outputs.items()], "file": out})
    else:
        rows = [(v["name"], v["type"], v["value"]) for v in (_told(n, a) for n, a in outputs.items())]
        console().print(table(("name", "type", "value"), rows))


def _run_file(path: str, inputs: str | None, *, quiet: bool) -> Arrays:
    with progress(f"loading {path}", quiet=quiet):
        file = open_file(path)
    given = {} if inputs is None else read_arrays(inputs, list(file.inputs))
    arrays = {n: as_declared(a, file.inputs[n].dtype) if n in file.inputs else a for n, a in given.items()}
    file.check(arrays)
    outputs: Arrays = file(arrays)
    return outputs


def _run_model(made: Exported, inputs: str | None) -> Arrays:
    program = made.split.joint()
    arrays: Arrays = {} if made.arguments.drawn else _examples(made)
    given = {} if inputs is None else read_arrays(inputs, list(program.inputs))
    check_names(list(program.inputs), {**arrays, **given})
    types = dict(zip(program.inputs, program.types, strict=True))
    leaves = [as_declared({**arrays, **given}[n], types[n].dtype) for n in program.inputs]
    found = program.session()(*program.check_arrays(leaves))
    return dict(zip(program.outputs, found, strict=True))


def _examples(made: Exported) -> Arrays:
    """The example inputs by name; ones for cotangents, whose sizes are those of the results."""
    point = arrays_of(made.split.program, made.arguments.values)
    arrays = dict(zip(made.split.program.inputs, point, strict=True))
    if made.split.seed_names:
        values = made.split.program.session()(*point)
        seeds = (np.ones_like(values[i]) for i in made.split.split.of)
        arrays.update(zip(made.split.seed_names, seeds, strict=True))
    return arrays


def _save(path: str, results: Arrays) -> None:
    outputs = {name: as_stored(array) for name, array in results.items()}
    if not path.endswith(".npy"):
        write_whole(path, lambda file: np.savez(file, **outputs))  # type: ignore[arg-type]
        return
    if len(outputs) != 1:
        raise SpecError(f"an .npy file holds one array, and there are {len(outputs)} outputs", cure="Write an .npz.")
    write_whole(path, lambda file: np.save(file, next(iter(outputs.values()))))


def _told(name: str, array: npt.NDArray[Any]) -> dict[str, Any]:
    shown = array.astype(np.float64) if array.dtype.name == "bfloat16" else array
    if array.size <= 4:
        value = str(shown.tolist())
    elif array.dtype.kind == "b":
        value = f"{int(array.sum())} of {array.size} true"
    else:
        value = f"{shown.min():.6g} to {shown.max():.6g}, mean {shown.mean():.6g}"
    return {"name": name, "type": f"{array.dtype.name}[{','.join(map(str, array.shape))}]", "value": value}
