"""The cases of onnx's backend tests, loaded: the node cases, and the folders of models with their data."""

import contextlib
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.programs.api import SplitProgram
from primsplit.tracing import trees
from tools.node_differences import Verdict, refused
from tools.node_wide import wide_inputs, widened

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = ("pytorch-converted", "pytorch-operator", "simple", "light")


@dataclass
class Case:
    """A model with inputs and the outputs that are expected of it, as nested lists of arrays; None: not given."""

    name: str
    model: onnx.ModelProto
    inputs: list[Any]
    expected: list[Any]
    is_large: bool = False
    """Whether this is a light network: its weights are one number, and no result depends on the picture."""
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        initialized = {t.name for t in self.model.graph.initializer}
        self.names = [v.name for v in self.model.graph.input if v.name not in initialized]
        self.inputs = [_array(x) for x in self.inputs]
        self.expected = [_array(x) for x in self.expected]

    def load(self, path: Path, model: onnx.ModelProto) -> Any:
        """The program of the case's model or another form of it. Raises PrimsplitError."""
        onnx.save(model, path)
        pairs = list(zip(self.names, self.inputs, strict=False))
        lengths = {name: len(x) for name, x in pairs if isinstance(x, list)}
        return ps.load(str(path), lengths=lengths, given={name: False for name, x in pairs if x is None})


@dataclass
class Loaded:
    """A case as a program with its inputs, and the same in float64 where there is such a form."""

    case: Case
    program: Any
    inputs: list[Any]
    wide: "Loaded | None" = None


def run(program: Any, arrays: list[Any]) -> list[Any]:
    """The results of a program's file for arrays in the order of its inputs. Raises RunError."""
    return list(program.session().run(dict(zip(program.inputs, arrays, strict=True))))


def split_of(program: Any) -> SplitProgram | Verdict:
    """The split of a program, or why there is none."""
    try:
        made = ps.split(program)
    except PrimsplitError as error:
        return refused(error)
    return made if made.split.targets else ("zero", "")


def load_wide(case: Case, folder: Path, inputs: list[Any]) -> Loaded | None:
    """The case in float64; None where the standard has no such model, or there are no kernels and compositions."""
    if all(x.dtype == np.float64 for x in inputs if x.dtype.name in {"float16", "bfloat16", "float32", "float64"}):
        return None
    try:
        model = widened(case.model)
        program = case.load(folder / "wide.onnx", model)
        arrays = wide_inputs(model, inputs)
        program.check_arrays(arrays)
        program.session()
    except (PrimsplitError, ValueError, RuntimeError):
        return None
    return Loaded(case, program, arrays)


def node_cases(only: str | None, named: str) -> list[Case]:
    """The node cases that hold an operator, or all, and have this in their name."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return [
        Case(c.name, c.model, list(inputs), list(expected))
        for c in found
        if named in c.name and c.model is not None and _holds(c.model, only)
        for inputs, expected in (c.data_sets or [])[:1]
    ]


def folder_cases(folder: str, only: str | None, named: str) -> list[Case]:
    """The cases of one of `FOLDERS`, the first data set of each."""
    if folder == "light":
        return [_light(path) for path in sorted((DATA / folder).glob("*.onnx")) if named in path.stem]
    found = []
    for place in sorted((DATA / folder).iterdir()):
        if named in place.name and (place / "model.onnx").exists():
            model = onnx.load(place / "model.onnx")
            if _holds(model, only):
                graph, data = model.graph, place / "test_data_set_0"
                found.append(
                    Case(place.name, model, _read(data, "input", graph.input), _read(data, "output", graph.output))
                )
    return found


def _light(path: Path) -> Case:
    """A network and onnx's own picture for it: i / n for i below n (onnx.backend.test.runner)."""
    model = onnx.load(path)
    initialized = {t.name for t in model.graph.initializer}
    image = next(v for v in model.graph.input if v.name not in initialized)
    shape = [d.dim_value for d in image.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    picture = (np.arange(count).reshape(shape) / count).astype(np.float32)
    tensor = onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
    return Case(path.stem, model, [picture], [tensor], is_large=True)


def _read(folder: Path, kind: str, declared: Any) -> list[Any]:
    """The arrays, sequences and optional values of a data set."""
    found: list[Any] = []
    for i, value in zip(range(len(list(folder.glob(f"{kind}_*.pb")))), declared, strict=False):
        content = (folder / f"{kind}_{i}.pb").read_bytes()
        if value.type.HasField("sequence_type"):
            found.append(onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(content)))
        elif value.type.HasField("optional_type"):
            found.append(onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(content)))
        else:
            found.append(onnx.TensorProto.FromString(content))
    return found


def _holds(model: onnx.ModelProto, only: str | None) -> bool:
    return only is None or any(n.op_type == only for n in model.graph.node)


def _array(value: Any) -> Any:
    """The array that a case holds as a number or a protobuf; anything else as it is."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def told(values: list[Any], program: Any) -> list[Any]:
    """The arrays of a model's outputs as its program gives them, which tells some sequences in tensors."""
    form = trees.unflatten(program.result, range(len(program.outputs)))
    found: list[Any] = []
    for value, one in zip(values, form if len(values) > 1 else [form], strict=True):
        if isinstance(one, dict):
            rank = max((x.ndim for x in value or []), default=0)
            shapes = np.array([(*x.shape, *[-1] * (rank - x.ndim)) for x in value or []], np.int64)
            parts = {"elements": np.concatenate([x.reshape(-1) for x in value or []]), "shapes": shapes}
            found += [{**parts, "given": np.array(value is not None)}[name] for name in sorted(one)]
        else:
            found += [np.stack(value)] if isinstance(value, list) and not isinstance(one, list) else flat([value])
    return found


def flat(values: Any) -> list[Any]:
    """The arrays of sequences among them; nothing for an optional value that is not given."""
    return [array for value in values if value is not None for array in (value if isinstance(value, list) else [value])]
