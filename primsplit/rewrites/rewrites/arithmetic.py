"""Simplify arithmetic: neutral elements, signs and powers of two.

```
Mul(x, 1)             ->   x
Add(x, Neg(y))        ->   Sub(x, y)
Div(x, 4)             ->   Mul(x, 0.25)
```
"""

import math
from typing import Any

import numpy as np

from primsplit.ir import Const, Value, same_types
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.rewrites.rewrites import patterns
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.rewrites.rewrites.table import Rewritten, Site, number, rewrite, scalar
from primsplit.tracing.array import Array


def _is_one(value: Value | None) -> bool:
    found = number(value)
    return found is not None and bool(found == 1)


def _is_zero(value: Value | None, *, negative: bool) -> bool:
    """Whether it is the zero of this sign; integers have but one."""
    found = number(value)
    if found is None or found != 0:
        return False
    return found.dtype.kind in "iu" or bool(np.signbit(np.float64(found))) == negative


def _fits(site: Site, value: Value | None) -> bool:
    """Whether the value has the type of the op's output, so that the other operand does not determine its shape."""
    return value is not None and same_types(value.type, site.type)


@rewrite("Mul")
def times_one(site: Site) -> Rewritten:
    """x * 1 = x."""
    x, y = site.op.inputs
    if _is_one(y) and _fits(site, x):
        return x
    return y if _is_one(x) and _fits(site, y) else None


@rewrite("Div", "Pow")
def by_one(site: Site) -> Rewritten:
    """x / 1 = x, x ** 1 = x."""
    x, y = site.op.inputs
    return x if _is_one(y) and _fits(site, x) else None


@rewrite("Add")
def plus_zero(site: Site) -> Rewritten:
    """x + (-0.0) = x; not so x + 0.0, where x may be -0.0."""
    x, y = site.op.inputs
    if _is_zero(y, negative=True) and _fits(site, x):
        return x
    return y if _is_zero(x, negative=True) and _fits(site, y) else None


@rewrite("Sub")
def minus_zero(site: Site) -> Rewritten:
    """x - 0.0 = x, and -0.0 - x = -x."""
    x, y = site.op.inputs
    if _is_zero(y, negative=False) and _fits(site, x):
        return x
    if site.type.is_float and _is_zero(x, negative=True) and _fits(site, y):
        return site.becomes("Neg", [y])
    return None


@rewrite("Add", "Sub")
def plus_negated(site: Site) -> Rewritten:
    """x + (-y) = x - y, x - (-y) = x + y, (-x) + y = y - x."""
    x, y = site.op.inputs
    if (negated := site.maker(y, "Neg")) is not None:
        return site.becomes("Sub" if site.op.kind == "Add" else "Add", [x, negated.inputs[0]])
    if site.op.kind == "Add" and (negated := site.maker(x, "Neg")) is not None:
        return site.becomes("Sub", [y, negated.inputs[0]])
    return None


@rewrite("Mul", "Div")
def signs_cancel(site: Site) -> Rewritten:
    """(-x) * (-y) = x * y, and (-x) * c = x * (-c)."""
    if not site.type.is_float:
        return None
    x, y = site.op.inputs
    left, right = site.maker(x, "Neg"), site.maker(y, "Neg")
    if left is not None and right is not None:
        return site.becomes(site.op.kind, [left.inputs[0], right.inputs[0]])
    if left is not None and (flipped := _negated(y)) is not None:
        return site.becomes(site.op.kind, [left.inputs[0], flipped])
    if right is not None and (flipped := _negated(x)) is not None:
        return site.becomes(site.op.kind, [flipped, right.inputs[0]])
    return None


def _negated(value: Value | None) -> Value | None:
    """Return minus a scalar float constant."""
    found = number(value)
    if value is None or found is None or value.type.rank != 0 or not value.type.is_float:
        return None
    return scalar(-np.asarray(found), value.type.dtype)


@rewrite("Neg")
def negated_twice(site: Site) -> Rewritten:
    """-(-x) = x, and -(x * c) = x * (-c)."""
    x = site.input(0)
    if (inner := site.maker(x, "Neg")) is not None:
        return inner.inputs[0]
    product = site.maker(x, "Mul", "Div")
    if product is None:
        return None
    left, right = product.inputs
    if (flipped := _negated(right)) is not None:
        return site.becomes(product.kind, [left, flipped])
    return site.becomes(product.kind, [flipped, right]) if (flipped := _negated(left)) is not None else None


def _of_floats(x: Array) -> str | None:
    return None if x.type.is_float else "it computes with whole numbers"


# The first two are what the derivatives of 1 - x * x, and of a square that is subtracted, have.
patterns.rewrite(lambda x: pattern.Neg(pattern.Add(x, x)), _of_floats, lambda x: op.Mul(x, -2.0), exact="bit")
patterns.rewrite(lambda x: pattern.Sub(pattern.Neg(x), x), _of_floats, lambda x: op.Mul(x, -2.0), exact="bit")
patterns.rewrite(lambda x: pattern.Not(pattern.Not(x)), None, lambda x: x, exact="bit")
patterns.rewrite(lambda x: pattern.Abs(pattern.Neg(x)), None, later.Abs, exact="bit")


@rewrite("Abs", "Relu", "Floor", "Ceil", "Round", "Sign")
def idempotent(site: Site) -> Rewritten:
    """f(f(x)) = f(x)."""
    return site.input(0) if site.maker(site.input(0), site.op.kind) is not None else None


def _power_of_two(value: Value | None) -> float | None:
    """Return the float constant, if it is plus or minus a power of two."""
    found = number(value)
    if found is None or value is None or not value.type.is_float:
        return None
    factor = float(found)
    return factor if math.isfinite(factor) and abs(math.frexp(factor)[0]) == 0.5 else None


@rewrite("Div")
def by_power_of_two(site: Site) -> Rewritten:
    """x / 2^k = x * 2^-k, if both are normal numbers."""
    x, y = site.op.inputs
    factor = _power_of_two(y)
    if factor is None or y is None or not _is_normal(factor, y.type.dtype) or not _is_normal(1 / factor, y.type.dtype):
        return None
    return site.becomes("Mul", [x, scalar(1 / factor, y.type.dtype)]) if _fits(site, x) else None


def _is_normal(value: float, dtype: np.dtype[Any]) -> bool:
    low, high = {"float64": (-1022, 1023), "float16": (-14, 15)}.get(dtype.name, (-126, 127))
    return 2.0**low <= abs(value) <= 2.0**high


@rewrite("Mul")
def powers_of_two(site: Site) -> Rewritten:
    """(x * 2^j) * 2^k = x * 2^(j+k) for j, k >= 0: smaller factors may round a denormal number in between."""
    x, y = site.op.inputs
    x, y = (x, y) if isinstance(y, Const) else (y, x)
    inner = site.maker(x, "Mul")
    outer_factor = None if inner is None else _power_of_two(y)
    if inner is None or outer_factor is None or y is None:
        return None
    source, constant = inner.inputs if _power_of_two(inner.inputs[1]) is not None else inner.inputs[::-1]
    inner_factor = _power_of_two(constant)
    if inner_factor is None or not _fits(site, source) or min(abs(outer_factor), abs(inner_factor)) < 1:
        return None
    product = outer_factor * inner_factor
    return site.becomes("Mul", [source, scalar(product, y.type.dtype)]) if _is_normal(product, y.type.dtype) else None
