"""Evaluates a Block op by op with NumPy and onnx.reference, independently of onnxruntime, in float64 if asked.

Operators that NumPy has directly are NumPy's; for the others onnx.reference evaluates one node at a time. Sub-blocks
(If, Loop, Scan) and calls of traced functions are evaluated here.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import onnx.numpy_helper
from onnx.reference import ReferenceEvaluator

from primsplit.ir import FLOATS, Block, Const, Op, Type, Value, Var, is_call
from primsplit.ir.dims import Size, symbols
from primsplit.ir.errors import PrimsplitError, RunError
from primsplit.ops.schema import OPSET
from primsplit.testing.operators import NUMPY
from primsplit.testing.recurrent import RECURRENT
from primsplit.testing.windows import SEVERAL

AnyArray = npt.NDArray[Any]
Step = tuple[Op, tuple[AnyArray, ...]]
Running = Generator[Step, None, list[AnyArray]]
Environment = dict[Var, AnyArray]
NUMBERS: Mapping[str, Mapping[int, tuple[int, ...]]] = {
    "NonMaxSuppression": dict.fromkeys((2, 3, 4), (1,)),
    "OneHot": {1: ()},
}
"""Inputs of one number, which may be a scalar or a vector by the standard, and the shape that onnx.reference takes."""


def evaluate(block: Block, arrays: Sequence[npt.ArrayLike], dtype: npt.DTypeLike | None = np.float64) -> list[AnyArray]:
    """The results of a block without captures, for one array per parameter.

    Every floating-point value is computed in `dtype`; None keeps the program's own dtypes.
    """
    return Reference(block, dtype)(*arrays)


def play(block: Block, arrays: Sequence[npt.ArrayLike], dtype: npt.DTypeLike | None = None) -> Iterator[Step]:
    """Yield each op as it runs, with its output values; ops of a sub-block come before the op that holds it."""
    yield from Reference(block, dtype).steps(arrays)


def computing() -> Callable[[Op, Sequence[AnyArray | None]], AnyArray | None]:
    """Return a function that computes the only output of an op on arrays of float64; None where it cannot."""
    reference = Reference(Block("", (), (), ()))

    def compute(op: Op, inputs: Sequence[AnyArray | None]) -> AnyArray | None:
        try:
            return reference.plain(op, list(inputs))[0]
        except (PrimsplitError, TypeError, ValueError, IndexError, KeyError):
            return None

    return compute


class Reference:
    """A block that can be called on arrays many times; see `evaluate`."""

    def __init__(self, block: Block, dtype: npt.DTypeLike | None = np.float64) -> None:
        self.block = block
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.runners: dict[Op, Any] = {}
        self.constants: dict[int, tuple[Const, AnyArray]] = {}

    def __call__(self, *arrays: npt.ArrayLike) -> list[AnyArray]:
        """The results."""
        running = self.steps(arrays)
        while True:
            try:
                next(running)
            except StopIteration as done:
                found: list[AnyArray] = done.value
                return found

    def steps(self, arrays: Sequence[npt.ArrayLike]) -> Running:
        """Run op by op; the generator's value is the list of results."""
        known = {p: self.wide(np.asarray(a)) for p, a in zip(self.block.params, arrays, strict=True)}
        with np.errstate(all="ignore"):
            return (yield from self.run(self.block, known))

    def wide(self, array: AnyArray) -> AnyArray:
        """The array, converted to `dtype` if it is floating point."""
        if self.dtype is None or array.dtype.name not in FLOATS:
            return array
        return array.astype(self.dtype, copy=False)

    def run(self, block: Block, known: Environment) -> Running:
        """The results of a block whose parameters and captures are in `known`.

        Its other values are added to `known`.
        """
        for op in block.ops:
            inputs = [None if v is None else self.read(v, known) for v in op.inputs]
            outputs = yield from self.outputs(op, inputs, known)
            values = tuple(outputs[: len(op.outputs)])
            known.update(zip(op.outputs, values, strict=True))
            yield op, values
        return [self.read(r, known) for r in block.results]

    def read(self, value: Value, known: Environment) -> AnyArray:
        """The array that a Var or Const stands for."""
        if isinstance(value, Var):
            return known[value]
        if id(value) not in self.constants:
            self.constants[id(value)] = (value, self.wide(value.numpy()))
        return self.constants[id(value)][1]

    def outputs(self, op: Op, inputs: list[AnyArray | None], known: Environment) -> Running:
        """The op's results for these inputs."""
        if is_call(op):
            body: Block = op.attributes["body"]
            given = [a for a in inputs if a is not None]
            return (yield from self.run(body, dict(zip(body.params, given, strict=True))))
        if op.kind == "If":
            taken = op.attributes["then_branch" if bool(np.asarray(inputs[0]).reshape(-1)[0]) else "else_branch"]
            return (yield from self.run(taken, dict(known)))
        if op.kind == "Loop":
            return (yield from self.loop(op, inputs, known))
        if op.kind == "Scan":
            return (yield from self.scan(op, inputs, known))
        return self.plain(op, inputs)

    def plain(self, op: Op, inputs: list[AnyArray | None]) -> list[AnyArray]:
        """The results of an op without sub-blocks."""
        runner = self.runners.get(op)
        if runner is None:
            attributes = {name: self.attribute(name, value) for name, value in op.attributes.items()}
            runner = self.runners[op] = _runner(op, attributes, self.dtype)
        try:
            found = runner(inputs)
        except (ValueError, IndexError) as error:
            if isinstance(error, PrimsplitError):
                raise
            told = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise RunError(f"the standard's reference fails in {op.kind}: {told}", place=op.place) from error
        return [self.wide(np.asarray(a)) for a in found]

    def attribute(self, name: str, value: Any) -> Any:
        """An attribute, with floating-point dtypes replaced."""
        if isinstance(value, bytes):
            return value.decode()
        if self.dtype is None:
            return value
        if isinstance(value, np.ndarray):
            return self.wide(value)
        is_dtype = name in {"to", "dtype"} and onnx.helper.tensor_dtype_to_np_dtype(value).name in FLOATS
        if is_dtype and self.dtype.name in FLOATS:
            return int(onnx.helper.np_dtype_to_tensor_dtype(self.dtype))
        return value

    def loop(self, op: Op, inputs: list[AnyArray | None], known: Environment) -> Running:
        """Loop: a trip count, a condition, and carried values."""
        body: Block = op.attributes["body"]
        count = None if inputs[0] is None else int(inputs[0].reshape(-1)[0])
        going = True if len(inputs) < 2 or inputs[1] is None else bool(inputs[1].reshape(-1)[0])
        carried = [np.asarray(a) for a in inputs[2:]]
        stacked: list[list[AnyArray]] = [[] for _ in body.results[1 + len(carried) :]]
        trip = 0
        while going and (count is None or trip < count):
            given = [np.asarray(trip, np.int64), np.asarray(going), *carried]
            results = yield from self.run(body, known | dict(zip(body.params, given, strict=True)))
            going = bool(results[0].reshape(-1)[0])
            carried, rows = results[1 : 1 + len(carried)], results[1 + len(carried) :]
            for column, row in zip(stacked, rows, strict=True):
                column.append(row)
            trip += 1
        types = [r.type for r in body.results[1 + len(carried) :]]
        return [*carried, *(self.stack(c, t, 0, known) for c, t in zip(stacked, types, strict=True))]

    def scan(self, op: Op, inputs: list[AnyArray | None], known: Environment) -> Running:
        """Scan: carried values, and inputs read slice by slice."""
        body: Block = op.attributes["body"]
        number = int(op.attributes["num_scan_inputs"])
        given = [np.asarray(a) for a in inputs]
        carried, scanned = given[: len(given) - number], given[len(given) - number :]
        outputs = len(body.results) - len(carried)
        axes = op.attributes.get("scan_input_axes") or [0] * number
        back = op.attributes.get("scan_input_directions") or [0] * number
        out_axes = op.attributes.get("scan_output_axes") or [0] * outputs
        out_back = op.attributes.get("scan_output_directions") or [0] * outputs
        rows = [np.moveaxis(a, axis, 0)[:: -1 if b else 1] for a, axis, b in zip(scanned, axes, back, strict=True)]
        stacked: list[list[AnyArray]] = [[] for _ in range(outputs)]
        for trip in range(len(rows[0])):
            here = dict(zip(body.params, [*carried, *(r[trip] for r in rows)], strict=True))
            results = yield from self.run(body, known | here)
            carried = results[: len(carried)]
            for column, row in zip(stacked, results[len(carried) :], strict=True):
                column.append(row)
        columns = [c[:: -1 if b else 1] for c, b in zip(stacked, out_back, strict=True)]
        types = [r.type for r in body.results[len(carried) :]]
        return [
            *carried,
            *(self.stack(c, t, axis, known) for c, t, axis in zip(columns, types, out_axes, strict=True)),
        ]

    def stack(self, rows: Sequence[AnyArray], type: Type, axis: int, known: Environment) -> AnyArray:
        """The rows along a new axis; without rows, an empty array whose other sizes are the row type's."""
        if rows:
            return np.stack(rows, axis)
        sizes = read_sizes(known)
        shape = [sizes.get(d.text, 0) if isinstance(d, Size) else d for d in type.shape or ()]
        dtype = self.dtype if self.dtype is not None and type.is_float else type.dtype
        return np.zeros([*shape[:axis], 0, *shape[axis:]], dtype)


def read_sizes(known: Mapping[Var, AnyArray]) -> dict[str, int]:
    """The value of each symbolic size that these arrays determine."""
    found: dict[str, int] = {}
    for var, array in known.items():
        for dim, size in zip(var.type.shape or (), array.shape, strict=False):
            if isinstance(dim, Size) and symbols(dim):
                found.setdefault(dim.text, size)
    return found


def _runner(op: Op, attributes: dict[str, Any], wide: np.dtype[Any] | None) -> Any:
    """A function from the op's inputs to its outputs."""
    function = NUMPY.get(op.kind)
    if wide is not None and op.kind == "Cast" and op.outputs[0].type.is_float:
        return lambda inputs: (np.asarray(inputs[0]).astype(wide),)
    if function is not None and len(op.outputs) == 1:
        return lambda inputs: (function(*inputs, **attributes),)
    several = SEVERAL.get(op.kind, RECURRENT.get(op.kind))
    if several is not None and len(op.outputs) > 1:
        return lambda inputs: several(*inputs, **attributes)
    evaluator = _evaluator(op, attributes, wide)
    shapes = NUMBERS.get(op.kind, {})

    def run(inputs: Sequence[AnyArray | None]) -> Any:
        given = {i: a for i, a in enumerate(inputs) if a is not None}
        return evaluator.run(None, {f"x{i}": a.reshape(shapes.get(i, a.shape)) for i, a in given.items()})

    return run


def _evaluator(op: Op, attributes: dict[str, Any], wide: np.dtype[Any] | None) -> Any:
    """onnx.reference's evaluator of one op."""
    domain, _, kind = op.kind.rpartition("::")
    inputs = [f"x{i}" if v is not None else "" for i, v in enumerate(op.inputs)]
    outputs = [f"y{i}" for i in range(len(op.outputs))]
    given = {k: onnx.numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
    node = onnx.helper.make_node(kind, inputs, outputs, domain=domain, **given)
    declared = [_declared(f"x{i}", v.type, wide) for i, v in enumerate(op.inputs) if v is not None]
    graph = onnx.helper.make_graph(
        [node], kind, declared, [_declared(n, v.type, wide) for n, v in zip(outputs, op.outputs, strict=True)]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(domain, OPSET if not domain else 1)])
    try:
        return ReferenceEvaluator(model)
    except (RuntimeError, NotImplementedError) as error:
        raise PrimsplitError(f"onnx.reference does not run {op.kind}: {error}", place=op.place) from None


def _declared(name: str, type: Type, wide: np.dtype[Any] | None) -> onnx.ValueInfoProto:
    known = np.dtype(np.float64) if wide is not None and wide.name not in FLOATS else wide  # longdouble is no tensor's
    dtype = known if known is not None and type.is_float else type.dtype
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(dtype), None)
