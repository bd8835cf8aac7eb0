"""Replace written-out layer norms by calls with a rule of their own, before differentiation.

A pullback of the pieces keeps the deviations from the mean beside their quotients by the standard deviation, and takes
a pass for each path between them; the norm's own (`norm_rule.py`) keeps the quotients. The values are computed as they
are written: onnxruntime's LayerNormalization computes the variance as a difference of two large numbers.

```
m = ReduceMean(x, [-1]); c = Sub(x, m)
v = ReduceMean(Mul(c, c), [-1])            ->     y = call::norm(x), whose body is these ops
y = Div(c, Sqrt(Add(v, 1e-5)))
```
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from primsplit.ir import Block, Const, Op, Renaming, Value, Var, readers, rename
from primsplit.ir.dims import same_shape
from primsplit.numpy import statistics
from primsplit.numpy.axes import many_axes
from primsplit.rules.activity import active_vars, needed_vars
from primsplit.tracing.calls.named import arguments_of
from primsplit.transforms.idioms.norm_rule import WrittenNorm
from primsplit.transforms.idioms.recognize import axes_of

DTYPES = frozenset({"float32", "float64"})


def recognize_norms(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Block:
    """Return the block with a call for each norm that the gradient goes through; itself if there are none.

    `wrt` and `of` are the positions of parameters and results. A norm of which anything else reads an inner value
    stays.
    """
    if not any(op.kind == "ReduceMean" for op in block.ops):
        return block
    program = _Program(block)
    norms = [norm for op in block.ops if (norm := _norm(op, program)) is not None]
    active = active_vars(block.ops, [block.params[i] for i in wrt]) if norms else set()
    needed = needed_vars(block.ops, active, [block.results[i] for i in of]) if norms else set()
    wanted = [norm for norm in norms if norm.y in needed]
    if not wanted:
        return block
    calls = {id(norm.ops[-1]): norm.call() for norm in wanted}
    inside = {id(op) for norm in wanted for op in norm.ops}
    ops = (calls.get(id(op), op) for op in block.ops if id(op) in calls or id(op) not in inside)
    return Block(block.name, block.params, tuple(ops), block.results)


class _Program:
    """The maker and the readers of each value; results are read by None."""

    def __init__(self, block: Block) -> None:
        self.made_by: dict[Value | None, Op] = {v: op for op in block.ops for v in op.outputs}
        self.place = {id(op): at for at, op in enumerate(block.ops)}
        self.readers = readers(block.ops, block.results)

    def op(self, value: Value | None, *kinds: str) -> Op | None:
        """Return the op that computes the value, if it is of one of these kinds."""
        op = self.made_by.get(value)
        return op if op is not None and op.kind in kinds else None

    def only_reader(self, value: Var) -> Op | None:
        """Return the op that alone reads the value."""
        reading = self.readers.get(value, [])
        return reading[0] if len(reading) == 1 else None


@dataclass(slots=True)
class _Norm:
    """The ops of a norm, their inputs, and the values that its derivative reads."""

    x: Value
    value: Var
    spread: Var
    axes: tuple[int, ...]
    ops: list[Op] = field(default_factory=list)
    affine: tuple[Value, ...] = ()

    @property
    def y(self) -> Var:
        """The norm: the last op's result."""
        return self.ops[-1].outputs[0]

    def call(self) -> Op:
        """Return the ops as one call, which holds a copy of them."""
        inputs = (self.x, *self.affine)
        params = tuple(Var(v.type, v.hint) for v in inputs)
        renaming: Renaming = {v: p for v, p in zip(inputs, params, strict=True) if isinstance(v, Var)}
        ops = tuple(rename(op, renaming) for op in self.ops)
        y, value, spread = (renaming[v] for v in (self.y, self.value, self.spread))
        divides = any(op.kind == "Div" and op.outputs[0] is self.value for op in self.ops)
        rule = WrittenNorm(Block("norm", params, ops, (y, value, spread)), self.axes, not divides)
        return Op(
            "call::norm",
            inputs,
            (self.y,),
            {"body": Block("norm", params, ops, (y,)), "rule": rule},
            self.ops[-1].place,
        )


def _norm(last: Op, program: _Program) -> _Norm | None:
    """Match (x - mean x) / sqrt(variance + epsilon), the standardized x, with a scale and bias of its rows after it."""
    for centred, spread in _quotients(last, program):
        inner = _standardized(last, centred, spread, program)
        if inner is not None and _is_closed(inner.ops, program):
            return _with_affine(inner, program)
    return None


def _quotients(op: Op, program: _Program) -> Iterator[tuple[Op, Op]]:
    """Yield the Sub of a quotient, or of a product with a reciprocal, and the op of the divisor or the reciprocal."""
    if op.kind not in {"Div", "Mul"} or op.outputs[0].type.key[0] not in DTYPES:
        return
    kinds = ("Sqrt",) if op.kind == "Div" else ("Reciprocal", "call::reciprocal_root")
    for one, other in (op.inputs,) if op.kind == "Div" else (op.inputs, op.inputs[::-1]):
        centred, spread = program.op(one, "Sub"), program.op(other, *kinds)
        if centred is not None and spread is not None:
            yield centred, spread


def _standardized(last: Op, centred: Op, spread: Op, program: _Program) -> _Norm | None:
    """Return the norm without scale and bias, if the ops are one."""
    root = program.op(spread.inputs[0], "Sqrt") if spread.kind == "Reciprocal" else spread
    x, mean = centred.inputs[0], program.op(centred.inputs[1], "ReduceMean")
    if root is None or mean is None or x is None or mean.inputs[0] is not x or not (axes := axes_of(mean)):
        return None
    ops = {id(op): op for op in (last, centred, spread, root, mean)}
    variance: Value | None = root.inputs[0]
    added = program.op(variance, "Add")
    if added is not None:
        ops[id(added)] = added
        one, other = added.inputs
        variance = one if _is_scalar(other) else other
        if not (_is_scalar(other) or _is_scalar(one)):
            return None
    steps = _of_name(variance, x, axes, program) or _of_deviations(variance, centred, axes, program)
    if steps is None:
        return None
    ops.update((id(op), op) for op in steps)
    ordered = sorted(ops.values(), key=lambda op: program.place[id(op)])
    return _Norm(x, last.outputs[0], spread.outputs[0], axes, ordered)


def _of_name(variance: Value | None, x: Value, axes: tuple[int, ...], program: _Program) -> list[Op] | None:
    """Return the call of `np.var` for x over the axes that a value is."""
    call = program.op(variance, "call::var")
    told = None if call is None else arguments_of(call, statistics.variance)
    if call is None or told is None or call.inputs[0] is not x or told["ddof"]:
        return None
    return [call] if many_axes(told["axis"], x.type.rank or 0) == axes else None


def _of_deviations(variance: Value | None, centred: Op, axes: tuple[int, ...], program: _Program) -> list[Op] | None:
    """Return the ops of a mean of squared deviations, where these are `centred`, or computed again."""
    steps: list[Op] = []
    total = program.op(variance, "ReduceMean")
    if total is None:
        quotient = program.op(variance, "Div")
        total = quotient and program.op(quotient.inputs[0], "ReduceSum")
        if quotient is None or total is None or not _is_count(quotient.inputs[1], total, axes):
            return None
        steps.append(quotient)
    square = program.op(total.inputs[0], "Mul", "Pow", "call::square")
    if square is None or axes_of(total) != axes or not _is_square(square):
        return None
    deviations = program.op(square.inputs[0], "Sub")
    steps += [total, square]
    if deviations is None or deviations is centred:
        return None if deviations is None else steps
    x, again = centred.inputs[0], program.op(deviations.inputs[1], "ReduceMean")
    if deviations.inputs[0] is not x or again is None or again.inputs[0] is not x or axes_of(again) != axes:
        return None
    return [*steps, deviations, again]


def _is_square(op: Op) -> bool:
    """Whether the op is x x, x**2 or a call of np.square."""
    if op.kind == "Pow":
        exponent = op.inputs[1]
        return _is_known_number(exponent, 2.0)
    return len(set(map(id, op.inputs))) == 1


def _is_count(value: Value | None, total: Op, axes: tuple[int, ...]) -> bool:
    """Whether the value is the number of elements in each sum."""
    source = total.inputs[0]
    assert source is not None
    assert source.type.shape is not None
    sizes = [source.type.shape[axis] for axis in axes]
    return all(isinstance(n, int) for n in sizes) and _is_known_number(value, math.prod(int(n) for n in sizes))


def _is_known_number(value: Value | None, number: float) -> bool:
    """Whether the value is a constant scalar that is this number."""
    return isinstance(value, Const) and value.is_small and value.type.shape == () and float(value.numpy()) == number


def _is_scalar(value: Value | None) -> bool:
    return isinstance(value, Const) and value.type.shape == ()


def _with_affine(norm: _Norm, program: _Program) -> _Norm:
    """Return the norm with a scale, or a scale and a bias, of one row each, if nothing else reads it."""
    shape = norm.value.type.shape
    if shape is None or norm.axes != tuple(range(norm.axes[0], len(shape))):
        return norm
    for kind in ("Mul", "Add"):
        op = program.only_reader(norm.y)
        if op is None or op.kind != kind:
            break
        one, other = op.inputs
        row = other if one is norm.y else one
        if (
            row is None
            or row is norm.y
            or row.type.shape is None
            or not same_shape(row.type.shape, shape[norm.axes[0] :])
        ):
            break
        norm.ops.append(op)
        norm.affine = (*norm.affine, row)
    return norm


def _is_closed(ops: Sequence[Op], program: _Program) -> bool:
    """Whether only these ops read their outputs, the last one's result aside."""
    own = {id(op) for op in ops}
    inner = (v for op in ops[:-1] for v in op.outputs)
    return all(id(reader) in own for v in inner for reader in program.readers.get(v, ()))
