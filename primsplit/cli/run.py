"""`primsplit run`: runs an ONNX file, or the export of a Python file, on arrays from a file."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from primsplit.cli import options
from primsplit.cli.array_files import write_npz
from primsplit.cli.arrays import Arrays, as_declared, as_stored, read_arrays
from primsplit.cli.failures import command
from primsplit.cli.inputs import examples
from primsplit.cli.late import keep_model, keep_program, open_file
from primsplit.cli.options import Exported, progress
from primsplit.cli.output import console, print_json, table
from primsplit.cli.overwriting import keep_apart
from primsplit.cli.states import read_states, write_states
from primsplit.ir import Type
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.errors import SpecError
from primsplit.ir.names import StatePair
from primsplit.programs.program import Program
from primsplit.programs.userfile import read_target
from primsplit.programs.wholes import joined
from primsplit.tracing.specs import check_array, check_expressions, check_names

Ran = tuple[Arrays, Callable[[], None]]
"""The outputs of a run, and a function that writes its states for the next run."""


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
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="PATH",
            help="The .npz that states are read from, where it is there, and written to for the next run.",
        ),
    ] = None,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    dtype: options.Dtype = None,
    json: options.Json = False,
) -> None:
    """Run a file with onnxruntime.

    A Python file is exported in memory first. Its example_inputs() are used for inputs that are not given, and ones for
    cotangents and tangents.

    A complex array is two inputs or outputs, z.real and z.imag: in an .npz, z stands for both.

    States that a program keeps from run to run start at their first values, or with --state where the last run left
    them.
    """
    keep_apart("--out", out, read_target(target)[0], inputs, state)
    keep_apart("--state", state, read_target(target)[0], inputs)
    if out is not None and os.path.splitext(out)[1] not in {"", ".npz", ".npy"}:
        raise SpecError(f"--out {out} must be an .npz, or an .npy for one output")
    written = [path for path in (out, state) if path is not None]
    if target.endswith(".onnx"):
        if spec or wrt or dtype:
            raise SpecError("--spec, --wrt and --dtype are for Python files: an ONNX file has its inputs already")
        keep_model(written, target)
        outputs, hand_on = _run_file(target, inputs, state, quiet=json)
    else:
        made = Exported(target, options.FunctionDerivation(spec=spec, wrt=wrt, dtype=dtype), quiet=json)
        keep_program(written, made.read, lambda: _program(made))
        outputs, hand_on = _run_model(made, inputs, state)
    if out is not None:
        _save(out, outputs)
    hand_on()  # a run whose outputs cannot be written is no step: it can be run again
    if json:
        print_json({"outputs": [_told(n, a) for n, a in outputs.items()], "file": out})
    else:
        rows = [(v["name"], v["type"], v["value"]) for v in (_told(n, a) for n, a in outputs.items())]
        console().print(table(("name", "type", "value"), rows))


def _run_file(path: str, inputs: str | None, state: str | None, *, quiet: bool) -> Ran:
    with progress(f"loading {path}", quiet=quiet):
        file = open_file(path)
    return _run_with(file.inputs, file.states, file, {}, inputs, state)


def _program(made: Exported) -> Program:
    return made.derived if isinstance(made.derived, Program) else made.derived.joint()


def _run_model(made: Exported, inputs: str | None, state: str | None) -> Ran:
    program = _program(made)
    types = dict(zip(program.inputs, program.types, strict=True))

    def call(arrays: Arrays) -> Arrays:
        return dict(zip(program.outputs, program.session().run(arrays), strict=True))

    known: Arrays = {} if made.arguments.drawn else examples(made.derived, made.arguments.values)
    return _run_with(types, program.named.states, call, known, inputs, state)


def _run_with(
    types: Mapping[str, Type],
    states: Sequence[StatePair],
    call: Callable[[Arrays], Arrays],
    examples: Arrays,
    inputs: str | None,
    state: str | None,
) -> Ran:
    """The outputs for examples, states, and the arrays of a file, which take precedence; and the writer of states."""
    held = {pair.input for pair in states}
    given = {} if inputs is None else read_arrays(inputs, [n for n in types if n not in held])
    told = {n: as_declared(a, types[n].dtype) if n in types else a for n, a in given.items()}
    arrays = {**examples, **read_states(states, state), **told}
    if inputs is None and (missing := [name for name in types if name not in arrays]):
        cure = "Give them with --inputs PATH.npz; or a Python file says them in example_inputs()."
        raise SpecError(f"there are no numbers for {', '.join(missing)}", cure=cure)
    check_names(list(types), arrays)
    sizes: dict[str, int] = {}
    for name, wanted in types.items():
        check_array(arrays[name], name, wanted, sizes)
    check_expressions(((n, arrays[n].shape, t) for n, t in types.items()), sizes)
    outputs = call({name: arrays[name] for name in types})
    return outputs, lambda: None if state is None else write_states(states, state, arrays, outputs)


def _save(path: str, results: Arrays) -> None:
    outputs = {name: as_stored(array) for name, array in joined(results).items()}
    if not path.endswith(".npy"):
        write_whole(path, lambda file: write_npz(file, outputs))
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
