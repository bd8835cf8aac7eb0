"""Define DynamicQuantizeLSTM of `com.microsoft`: integer weights; products round numbers by their range."""

from collections.abc import Sequence
from typing import Any

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.quantized.fake_quantize import straight_through
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.control import scan

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
GATES = ("sigmoid", "tanh", "tanh")


@defines("com.microsoft::DynamicQuantizeLSTM")
def dynamic_quantize_lstm(
    x: Array,
    weights: Array,
    recurrence: Array,
    bias: Array | None,
    lengths: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    peepholes: Array | None,
    scale: Array,
    zero: Array,
    recurrence_scale: Array,
    recurrence_zero: Array,
    *,
    outputs: int = 3,
    hidden_size: int,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float = 0.0,
    direction: str = "forward",
    input_forget: int = 0,
) -> tuple[Array, Array, Array]:
    """Return the states [length, directions, batch, hidden], the last ones, and the last cells.

    `weights` is [directions, features, 4 hidden], the gates in the order i, o, f, c. Rounding is straight through. The
    states of all rows of a step are rounded by one range, as in onnxruntime with one thread: with several it takes the
    range of each thread's rows. Raises UnsupportedFunction for gates of other kinds.
    """
    ways = DIRECTIONS[direction.lower()]
    is_plain = all(name.lower() == GATES[i % 3] for i, name in enumerate(activations))
    if lengths is not None or peepholes is not None or clip or input_forget or not is_plain:
        raise UnsupportedFunction("DynamicQuantizeLSTM is read with its default gates, and rows of one length")
    rounded = _rounded(x)
    first, second = _numbers(weights, scale, zero), _numbers(recurrence, recurrence_scale, recurrence_zero)
    nothing = zeros((len(ways), x.shape[1], hidden_size), x.dtype)
    starts = [nothing if s is None else s for s in (initial_h, initial_c)]
    made = []
    for i, reverse in enumerate(ways):
        given = op.MatMul(rounded, _of(first, i))
        if bias is not None:
            input_bias, state_bias = op.Split(_of(bias, i), axis=0, num_outputs=2, outputs=2)
            given = op.Add(given, op.Add(input_bias, state_bias))
        made.append(_walked(given, _of(second, i), [_of(s, i) for s in starts], reverse=reverse))
    every, h, c = zip(*made, strict=True)
    return _stacked(every, 1), _stacked(h, 0), _stacked(c, 0)


def _walked(given: Array, recurrence: Array, starts: list[Array], *, reverse: bool) -> tuple[Array, Array, Array]:
    """Return the states of each step [length, batch, hidden], the last one, and the last cell."""

    def step(carry: tuple[Array, Array], part: Array) -> tuple[Any, Array]:
        h, c = carry
        total = op.Add(part, op.MatMul(_rounded(h), recurrence))
        i, o, f, g = op.Split(total, axis=-1, num_outputs=4, outputs=4)
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)), types=[c.type])
        h = op.Mul(op.Sigmoid(o), op.Tanh(c), types=[h.type])
        return (h, c), h

    (h, c), every = scan(step, (starts[0], starts[1]), given, reverse=reverse)
    return every, h, c


def _rounded(x: Array) -> Array:
    """Return the numbers of the bytes that they are rounded to by their own range."""
    integers, scale, zero = op.DynamicQuantizeLinear(x, outputs=3)
    return straight_through(op.DequantizeLinear(integers, scale, zero), x)


def _numbers(integers: Array, scale: Array, zero: Array) -> Array:
    """Return weights as numbers; `scale` and `zero` are one for each direction, or for each column."""
    shape = (*scale.shape[:1], 1, scale.shape[1] if scale.ndim == 2 else 1)
    scales, points = reshape_to(scale, shape), reshape_to(op.Cast(zero, to=scale.dtype), shape)
    return op.Mul(op.Sub(op.Cast(integers, to=scale.dtype), points), scales)


def _of(x: Array, direction: int) -> Array:
    return op.Gather(x, direction, axis=0)


def _stacked(parts: Sequence[Array], axis: int) -> Array:
    return op.Concat(*(op.Unsqueeze(part, [axis]) for part in parts), axis=axis)
