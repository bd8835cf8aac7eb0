"""Decompose recurrent layers in float64: each direction becomes a Loop over the steps.

Sequences are [T, N, size], gates in ONNX's order. As in onnxruntime, the result is 0 beyond the length of a sequence,
and so are the last states of a sequence of length 0.
"""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.ir.dims import Dim, Shape, at_least
from primsplit.ir.errors import DtypeError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.ops.traits import traits
from primsplit.rewrites.decompositions.gates import Activation, Layer, parts, read_layer, spelt, turned
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros

State = Sequence[Array]
Cell = Callable[[Array, State], State]


@fault(
    "float64_gru_has_no_kernel",
    kind="refuses",
    operators=("GRU",),
    says="GRU of float64 loads and is refused when it runs.",
)
@fault(
    "float64_lstm_has_no_kernel",
    kind="refuses",
    operators=("LSTM",),
    says="LSTM of float64 loads and is refused when it runs.",
)
def layer(kind: str, make: Callable[..., Cell], *inputs: Array | None, **attributes: Any) -> tuple[Array, ...]:
    """Return the sequence of each direction and its last states. Raises DtypeError for an unknown hidden size."""
    how = read_layer(kind, attributes)
    if how.is_batch_first:
        return spelt(kind, *inputs, **attributes)
    given: list[Array | None] = [*inputs, None, None, None]
    x, w, r = given[:3]
    if x is None or w is None or r is None:
        raise DtypeError(f"float64 {kind} takes its input, W and R")
    hidden = attributes.get("hidden_size") or r.shape[-1]
    if not isinstance(hidden, int):
        raise DtypeError(f"float64 {kind} cannot have the hidden size {hidden}", cure="Give the weights fixed sizes.")
    w, r, b, lengths, *optional = measured(how, hidden, x.shape[1], inputs)
    state = (x.shape[1], hidden)
    found: list[State] = []
    for d, is_reversed in enumerate(how.backwards):
        bias = zeros((2 * w.shape[1],), x.dtype) if b is None else part(b, d)
        peepholes = None if optional[2] is None else part(optional[2], d)
        start = [zeros(state, x.dtype) if a is None else part(a, d) for a in optional[: how.states]]
        cell = make(part(w, d), part(r, d), bias, activations=how.activations[d], how=how, p=peepholes)
        if lengths is None:
            found.append(_run(x, cell, start, is_reversed=is_reversed))
        else:
            found.append(_run_to(x, cell, start, lengths, is_reversed=is_reversed))
    return tuple(
        op.Concat(*(op.Unsqueeze(each[i], [1 if i == 0 else 0]) for each in found), axis=1 if i == 0 else 0)
        for i in range(1 + how.states)
    )


def measured(how: Layer, hidden: int, batch: Dim, inputs: Sequence[Array | None]) -> tuple[Any, ...]:
    """Return W, R, B, the lengths, two states and the peepholes of a layer, None for those that are absent.

    Sizes that only the run knows are those that follow from the hidden size; a run in which they differ fails.
    """
    given: list[Array | None] = [*inputs, *[None] * (8 - len(inputs))]
    w, r, b, lengths = given[1:5]
    count, rows = len(how.backwards), traits(how.kind).gates * hidden
    state: Shape = (batch, hidden)
    shapes: list[Shape] = [state] * how.states + [(3 * hidden,)] * (how.kind == "LSTM")
    features = () if w is None else w.shape[2:]
    weights = [_of_shape(w, (count, rows, *features)), _of_shape(r, (count, rows, hidden))]
    rest = [_of_shape(a, (count, *s)) for a, s in zip(given[5 : 5 + len(shapes)], shapes, strict=True)]
    rest += given[5 + len(shapes) : 8]
    return (*weights, _of_shape(b, (count, 2 * rows)), lengths, *rest)


def _of_shape(x: Array | None, shape: Shape) -> Array | None:
    return None if x is None else reshape_to(x, shape)


def part(x: Array, direction: int) -> Array:
    """Return one direction of an array whose first axis is directions."""
    return op.Squeeze(op.Slice(x, [direction], [direction + 1], [0]), [0])


def within(lengths: Array, count: Dim) -> Array:
    """Return whether each step belongs to its sequence: bool [T, N, 1]."""
    steps = op.Range(0, op.Squeeze(Array(tracing.size_vector([count])), [0]), 1, types=[Type("int64", (count,))])
    column = op.Unsqueeze(steps, [1, 2])
    return op.Less(column, op.Unsqueeze(op.Cast(lengths, to="int64"), [0, 2]))


def reversed_to(x: Array, lengths: Array | None) -> Array:
    """Reverse sequences in time; with lengths, elements beyond them stay."""
    if lengths is None:
        return op.Slice(x, [-1], [-(2**62)], [0], [-1], types=[x.type])
    return op.ReverseSequence(x, op.Cast(lengths, to="int64"), time_axis=0, batch_axis=1)


def _run(x: Array, cell: Cell, start: State, *, is_reversed: bool) -> list[Array]:
    """Return the first state of every step, then the last states."""
    count = op.Squeeze(op.Shape(x, start=0, end=1), [0])

    def step(iteration: Array, held: State) -> tuple[State, Array]:
        t = op.Sub(op.Sub(count, 1), iteration) if is_reversed else iteration
        new = cell(op.Gather(x, t, axis=0), held)
        return new, new[0]

    collected, *ends = _looped(x, step, start, count)
    if not at_least(x.shape[0], 1):
        ends = [op.Where(op.Greater(count, 0), end, 0.0) for end in ends]
    return [reversed_to(collected, None) if is_reversed else collected, *ends]


def _run_to(x: Array, cell: Cell, start: State, lengths: Array, *, is_reversed: bool) -> list[Array]:
    """Return the result of `_run` for sequences of these lengths: beyond them a state stays as it is."""
    x = reversed_to(x, lengths) if is_reversed else x
    belongs = within(lengths, x.shape[0])
    count = op.Squeeze(op.Shape(x, start=0, end=1), [0])

    def step(iteration: Array, held: State) -> tuple[State, Array]:
        here = op.Gather(belongs, iteration, axis=0)
        new = cell(op.Gather(x, iteration, axis=0), held)
        return [op.Where(here, n, h) for n, h in zip(new, held, strict=True)], op.Where(here, new[0], 0.0)

    collected, *ends = _looped(x, step, start, count)
    collected = reversed_to(collected, lengths) if is_reversed else collected
    is_run = op.Unsqueeze(op.Greater(lengths, 0), [1])
    return [collected, *(op.Where(is_run, end, 0.0) for end in ends)]


def _looped(x: Array, step: Callable[[Array, State], tuple[State, Array]], start: State, count: Array) -> list[Array]:
    """Return the stacked results of all steps, then the last states."""
    with tracing.recording(place=tracing.current().place) as inner:
        iteration, condition = inner.param(Type("int64", ())), inner.param(Type("bool", ()))
        held = [inner.param(a.type) for a in start]
        new, kept = step(Array(iteration), [Array(h) for h in held])
        results: list[Value] = [condition, *(a.value for a in new), kept.value]
    body = tracing.close("step", [iteration, condition, *held], inner, results)
    sequence = Type(x.dtype, (x.shape[0], *start[0].shape))
    inputs = [count.value, None, *(a.value for a in start)]
    is_run = at_least(x.shape[0], 1)
    stacked = sequence if is_run else Type(x.dtype, (x.shape[0], fresh("rows"), fresh("rows")))
    types = [*(a.type for a in start), stacked]
    made = tracing.emit("Loop", inputs, {"body": body}, outputs=len(types), types=types)
    *ends, collected = map(Array, made)
    if not is_run:
        # Of no steps, onnxruntime stacks rows whose sizes it does not know.
        whole = op.Concat(op.Shape(x, start=0, end=1), op.Shape(start[0]), axis=0)
        collected = op.Reshape(collected, whole, allowzero=1, types=[sequence])
    return [collected, *ends]


def rnn_cell(w: Array, r: Array, b: Array, *, activations: Sequence[Activation], **others: Any) -> Cell:
    """h = f(x w^T + h r^T + b)."""
    f = activations[0].value
    w_t, r_t, bias = turned(w), turned(r), op.Add(*parts(b, 2))
    return lambda x, held: [f(op.Add(op.Add(op.MatMul(x, w_t), op.MatMul(held[0], r_t)), bias))]


def gru_cell(w: Array, r: Array, b: Array, *, activations: Sequence[Activation], how: Layer, **others: Any) -> Cell:
    """The update z, the reset and the proposal p: h = (1 - z) p + z h."""
    f, g = activations
    w_t, r_t = turned(w), turned(r)
    b_w, b_r = parts(b, 2)
    r_p, b_p = parts(r_t, 3)[2], parts(b_r, 3)[2]

    def cell(x: Array, held: State) -> State:
        h = held[0]
        of_x, of_h = op.Add(op.MatMul(x, w_t), b_w), op.Add(op.MatMul(h, r_t), b_r)
        x_z, x_r, x_p = parts(of_x, 3)
        h_z, h_r, h_p = parts(of_h, 3)
        z, reset = f.value(op.Add(x_z, h_z)), f.value(op.Add(x_r, h_r))
        seen = op.Mul(reset, h_p) if how.is_linear_first else op.Add(op.MatMul(op.Mul(reset, h), r_p), b_p)
        p = g.value(op.Add(x_p, seen))
        return [op.Add(op.Mul(op.Sub(1.0, z), p), op.Mul(z, h))]

    return cell


def lstm_cell(
    w: Array, r: Array, b: Array, *, activations: Sequence[Activation], how: Layer, p: Array | None, **others: Any
) -> Cell:
    """Gates i, o, f and proposal g: c = f c + i g, h = o tanh(c); peepholes of i, o, f read c."""
    gate_function, of_proposal, of_cell = activations
    w_t, r_t, bias = turned(w), turned(r), op.Add(*parts(b, 2))
    peepholes = None if p is None else parts(p, 3)
    shown = Activation(of_cell.name, of_cell.alpha, of_cell.beta)

    def gate(x: Array, c: Array, which: int) -> Array:
        return gate_function.value(x if peepholes is None else op.Add(x, op.Mul(c, peepholes[which])))

    def cell(x: Array, held: State) -> State:
        h, c = held
        i, o, f, g = parts(op.Add(op.Add(op.MatMul(x, w_t), op.MatMul(h, r_t)), bias), 4)
        taken = gate(i, c, 0)
        kept = op.Sub(1.0, taken) if how.is_forget_coupled else gate(f, c, 2)
        new = op.Add(op.Mul(kept, c), op.Mul(taken, of_proposal.value(g)))
        return [op.Mul(gate(o, new, 1), shown.value(new)), new]

    return cell


def composition(kind: str, make: Callable[..., Cell]) -> Callable[..., tuple[Array, ...]]:
    """Return the decomposition of one kind of layer."""
    return lambda *inputs, **attributes: layer(kind, make, *inputs, **attributes)


def spelling(kind: str) -> Callable[..., tuple[Array, ...]]:
    """Return the decomposition of one kind of layer that onnxruntime reads otherwise."""
    return lambda *inputs, **attributes: spelt(kind, *inputs, **attributes)


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    kind: composition(kind, make) for kind, make in (("RNN", rnn_cell), ("GRU", gru_cell), ("LSTM", lstm_cell))
}
SPELT: dict[str, Callable[..., Any]] = {kind: spelling(kind) for kind in COMPOSITIONS}
