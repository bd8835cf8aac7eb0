"""Simplify ops that pass a value on: copies, casts, constant conditions.

```
Cast(Cast(x: int32, float64), float32)   ->   Cast(x, float32)
Where(Not(c), x, y)                      ->   Where(c, y, x)
Where(c, 1.0, 0.0)                       ->   Cast(c, float32)
ReduceSum(Cast(c: bool, int64))          ->   Cast(ReduceSum(Cast(c, float64)), int64)
```
"""

from typing import Any

import numpy as np
import onnx

from primsplit.ir import Block, Type, Value, Var, free, same_types
from primsplit.rewrites.rewrites.table import Rewritten, Site, number, rewrite

FLOAT_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOAT_RANGE = {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023}


@rewrite("Identity")
def identity(site: Site) -> Rewritten:
    """A copy is the value."""
    return site.input(0)


@rewrite("Sum", "Max", "Min", "Mean", "Concat")
def of_one(site: Site) -> Rewritten:
    """The sum, extremum or Concat of one value is the value."""
    return site.input(0) if len(site.op.inputs) == 1 else None


@rewrite("Dropout")
def without_training(site: Site) -> Rewritten:
    """Dropout drops nothing unless it trains."""
    mode = site.input(2)
    known = number(mode)
    trains = mode is not None and (known is None or bool(known))
    return None if trains or len(site.op.outputs) > 1 else site.input(0)


@rewrite("Cast")
def cast(site: Site) -> Rewritten:
    """Drop a cast to the value's own dtype; skip a cast before it that lost nothing."""
    x = site.input(0)
    if x is None or x.type.dtype == site.type.dtype:
        return x
    inner = site.maker(x, "Cast")
    source = None if inner is None else inner.inputs[0]
    if source is None or not is_lossless(source.type.dtype, x.type.dtype):
        return None
    if site.type.key[0] not in {"bool", "float32", "float64"} and site.type.dtype.kind not in "iu":
        return None
    return source if source.type.dtype == site.type.dtype else site.becomes("Cast", [source], site.op.attributes)


FEW_BITS = frozenset({"bool", "int8", "uint8", "int16", "uint16"})


@rewrite("ReduceSum")
def sum_of_few_bits(site: Site) -> Rewritten:
    """Sum truth values and integers of at most 16 bits in float64, where fewer than 2**37 have an exact sum.

    A sum of int64 would be written as three such sums: see `decompositions.integers.reduce_sum`.
    """
    made = site.maker(site.input(0), "Cast")
    source = None if made is None else made.inputs[0]
    if source is None or source.type.dtype.name not in FEW_BITS or not _holds_sums(site.type, source.type):
        return None
    wide, total = Var(Type(np.float64, source.type.shape)), Var(Type(np.float64, site.type.shape))
    site.add(site.op.beside("Cast", (source,), (wide,), {"to": onnx.TensorProto.DOUBLE}))
    site.add(site.op.beside("ReduceSum", (wide, *site.op.inputs[1:]), (total,), site.op.attributes))
    return site.becomes("Cast", [total], {"to": int(onnx.helper.np_dtype_to_tensor_dtype(site.type.dtype))})


def _holds_sums(wide: Type, narrow: Type) -> bool:
    """Whether it is a type of 64 bits that has every sum of numbers of the other."""
    return wide.dtype == np.int64 or (wide.dtype == np.uint64 and narrow.dtype.kind in "bu")


def is_lossless(narrow: np.dtype[Any], wide: np.dtype[Any]) -> bool:
    """Whether every value of the one dtype is a value of the other."""
    if narrow == wide or (narrow.kind == "b" and (wide.kind in "iu" or wide.name in FLOAT_BITS)):
        return True
    if narrow.name in FLOAT_BITS:
        return wide.name in FLOAT_BITS and (
            FLOAT_BITS[narrow.name] <= FLOAT_BITS[wide.name] and FLOAT_RANGE[narrow.name] <= FLOAT_RANGE[wide.name]
        )
    if narrow.kind not in "iu":
        return False
    if wide.kind in "iu":
        return np.iinfo(narrow).min >= np.iinfo(wide).min and np.iinfo(narrow).max <= np.iinfo(wide).max
    bits = np.iinfo(narrow).bits - (narrow.kind == "i")
    return wide.name in FLOAT_BITS and bits <= FLOAT_BITS[wide.name] and bits <= FLOAT_RANGE[wide.name]


@rewrite("Where")
def where(site: Site) -> Rewritten:
    """A condition that is constant, or makes no difference, or is negated."""
    condition, x, y = site.op.inputs
    known = number(condition)
    if known is not None:
        chosen = x if bool(known) else y
        return chosen if chosen is not None and same_types(chosen.type, site.type) else None
    if x is y and x is not None and same_types(x.type, site.type):
        return x
    negated = site.maker(condition, "Not")
    if negated is not None:
        return site.becomes("Where", [negated.inputs[0], y, x])
    return _zero_where_equal(site) or _ones_and_zeros(site)


def _zero_where_equal(site: Site) -> Rewritten:
    """A distance that is set to 0 where both are equal is 0 there already, except between two infinities."""
    condition, zero, y = site.op.inputs
    equal, distance, chosen = site.maker(condition, "Equal"), site.maker(y, "Abs"), number(zero)
    if equal is None or distance is None or chosen is None or chosen != 0 or np.signbit(chosen):
        return None
    numbers = [n for v in equal.inputs if (n := number(v)) is not None]
    if y is None or not same_types(y.type, site.type) or not any(np.isfinite(n) for n in numbers):
        return None
    difference = site.maker(distance.inputs[0], "Sub")
    is_of_both = difference is not None and any(
        all(map(_are_same, difference.inputs, both)) for both in (equal.inputs, equal.inputs[::-1])
    )
    return y if is_of_both or (distance.inputs[0] in equal.inputs and 0 in numbers) else None


def _are_same(a: Value | None, b: Value | None) -> bool:
    """Whether they are one value, or two constants of one number."""
    one, other = number(a), number(b)
    return a is b or (one is not None and other is not None and bool(one == other))


def _ones_and_zeros(site: Site) -> Rewritten:
    """A choice between 1 and 0 is a cast: onnxruntime's Where may take ten times as long."""
    condition, x, y = site.op.inputs
    one, other = number(x), number(y)
    if condition is None or one is None or other is None or site.type.key[0] not in {"float32", "float64"}:
        return None
    mask = Type(np.bool_, condition.type.shape)
    if {float(one), float(other)} != {0.0, 1.0} or np.signbit(one) or np.signbit(other):
        return None  # -0.0 is another zero
    if not same_types(mask, Type(np.bool_, site.type.shape)):
        return None
    if one == 0:
        turned = Var(mask)
        site.add(site.op.beside("Not", (condition,), (turned,)))
        condition = turned
    return site.becomes("Cast", [condition], {"to": int(onnx.helper.np_dtype_to_tensor_dtype(site.type.dtype))})


@rewrite("If")
def branch(site: Site) -> Rewritten:
    """An If whose branches return the same outer values is replaced by these.

    For an If that always takes one branch, see `constant_branches`.
    """
    first, second = (site.op.attributes[name] for name in ("then_branch", "else_branch"))
    return first.results if _hand_on_the_same(first, second) else None


def _hand_on_the_same(first: Block, second: Block) -> bool:
    outside = set(free(first))
    return all(a is b and a in outside for a, b in zip(first.results, second.results, strict=True))
