"""Replace written-out softmax, log-softmax and GELU by one operator each, before differentiation.

A pullback of the pieces keeps the values between them: the scores, their exponentials and the quotients; an operator's
own pullback keeps one array. The operators compute the same up to a few roundings, and the same where numbers are
infinite or NaN. A written-out layer norm stays: onnxruntime's operator computes the variance as a difference of two
large numbers.

```
e = Exp(Sub(x, max(x, axis=1, keepdims=True)))
y = Div(e, ReduceSum(e, [1]))                       ->     y = Softmax(x, axis=1)       # x: float32[3,4]

s = Sub(x, max(x, axis=1, keepdims=True))
y = Sub(s, Log(ReduceSum(Exp(s), [1])))             ->     y = LogSoftmax(x, axis=1)
```
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op
from primsplit.numpy.extrema import NAMED
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.rewrites.rewrites.matching import Node, pattern
from primsplit.tracing.array import Array
from primsplit.transforms.idioms.forms import Idiom, by_kind, replaced

HALF_ROOT = math.sqrt(0.5)


def recognize(block: Block) -> Block:
    """Return the block with operators in the place of ops that write them out; itself if there are none.

    An idiom of which anything else reads an inner value stays.
    """
    return replaced(block, IDIOMS)


def axes_of(reduction: Op) -> tuple[int, ...]:
    """Return the axes of a reduction that keeps them, counted from the front, in order; none if they are unknown."""
    axes = reduction.inputs[1] if len(reduction.inputs) > 1 else None
    source = reduction.inputs[0]
    rank = None if source is None else source.type.rank
    if not isinstance(axes, Const) or not rank or not reduction.attributes.get("keepdims", 1):
        return ()
    return tuple(sorted({int(axis) % rank for axis in axes.numpy().ravel()}))


# The greatest element along an axis, by its name or as files hold it.


def _mended(x: Any, axis: Any, other: Any, nan: Any) -> Node:
    """The maximum that is NaN if x has one, as a file of ours has it."""
    is_nan = pattern.IsNaN(pattern.ReduceSum(pattern.Clip(x, -1.0, 1.0), other, keepdims=1))
    found: Node = pattern.Where(is_nan, nan, pattern.ReduceMax(x, axis, keepdims=1))
    return found


def _softmax(x: Any, top: Node, axis: Any) -> Node:
    powers = pattern.Exp(pattern.Sub(x, top))
    found: Node = pattern.Div(powers, pattern.ReduceSum(powers, axis, keepdims=1))
    return found


def _log_softmax(x: Any, top: Node, axis: Any) -> Node:
    apart = pattern.Sub(x, top)
    found: Node = pattern.Sub(apart, pattern.Log(pattern.ReduceSum(pattern.Exp(apart), axis, keepdims=1)))
    return found


def _along_one_axis(x: Array, *axes: Any) -> str | None:
    """Return why not, unless the axes are one, which is known."""
    found = {_axis(x, axis) for axis in axes}
    return (
        None if len(found) == 1 and None not in found else "the maximum and the sum are not along one and the same axis"
    )


def _axis(x: Array, axis: Any) -> int | None:
    """Return a lone axis, counted from the front, of a vector of axes or of a call's argument."""
    known = axis.known() if isinstance(axis, Array) else np.asarray(axis)
    rank = x.type.rank
    return int(known.reshape(-1)[0]) % rank if known is not None and known.size == 1 and rank else None


def _is_nan(value: Array) -> str | None:
    found = value.value.number if isinstance(value.value, Const) and value.type.is_float else None
    return None if found is not None and bool(np.isnan(found)) else "the maximum is not NaN where an element is"


def _over_maximum(form: Callable[[Any, Node, Any], Node], operator: Callable[..., Array]) -> Iterator[Idiom]:
    """Yield the idioms of an operator over the exponentials of what is below the maximum, for each form of that."""

    def build(x: Array, axis: Array, *others: Any) -> Array:
        return operator(x, axis=_axis(x, axis))

    yield Idiom(
        lambda x, axis, along: form(x, pattern[NAMED["max"]](x, axis=along, keepdims=True), axis),
        _along_one_axis, build, exact="rounds",
    )  # fmt: skip
    yield Idiom(
        lambda x, axis, along: form(x, pattern.ReduceMax(x, along, keepdims=1), axis),
        _along_one_axis, build, exact="rounds",
    )  # fmt: skip

    def is_mended(x: Array, axis: Array, along: Array, other: Array, nan: Array) -> str | None:
        return _along_one_axis(x, axis, along, other) or _is_nan(nan)

    yield Idiom(
        lambda x, axis, along, other, nan: form(x, _mended(x, along, other, nan), axis),
        is_mended, build, exact="rounds",
    )  # fmt: skip
    # A NaN that a run of no elements lacks: `numpy.extrema.unless`.
    yield Idiom(
        lambda x, axis, along, other, nan, i: form(x, _mended(x, along, other, pattern.Gather(nan, i)), axis),
        lambda x, axis, along, other, nan, i: is_mended(x, axis, along, other, nan), build, exact="rounds",
    )  # fmt: skip


# GELU: x/2 (1 + erf(x / sqrt 2)), its three factors in any order, in float32, for which onnxruntime has a kernel.


def _gelu(x: Any, scaled: Node, order: tuple[int, ...]) -> Node:
    factors = (0.5, x, pattern.Add(pattern.Erf(scaled), 1.0))
    first, second, third = (factors[i] for i in order)
    found: Node = pattern.Mul(pattern.Mul(first, second), third)
    return found


def _is_scaled_by(wanted: float) -> Callable[[Array, Array], str | None]:
    def check(x: Array, factor: Array) -> str | None:
        if x.dtype != np.float32:
            return f"onnxruntime has no kernel of Gelu for {x.dtype}"
        known = factor.known() if factor.shape == () else None
        is_wanted = known is not None and abs(float(known) - wanted) <= 1e-7 * wanted
        return None if is_wanted else "the argument of erf is not x / sqrt 2"

    return check


def _gelus(order: tuple[int, ...]) -> Iterator[Idiom]:
    for scale, wanted in ((pattern.Mul, HALF_ROOT), (pattern.Div, 1.0 / HALF_ROOT)):
        yield Idiom(
            lambda x, factor, scale=scale: _gelu(x, scale(x, factor), order),
            _is_scaled_by(wanted), lambda x, factor: op.Gelu(x, approximate="none"), exact="rounds",
        )  # fmt: skip


IDIOMS = by_kind(
    [
        *_over_maximum(_softmax, later.Softmax),
        *_over_maximum(_log_softmax, later.LogSoftmax),
        *(idiom for order in ((0, 1, 2), (0, 2, 1), (1, 2, 0)) for idiom in _gelus(order)),
    ]
)
"""The idioms, by the kind of their outermost op."""
