"""Greatest common divisors and least common multiples of integers, which have no gradient."""

import numpy as np

from primsplit.numpy.dense.loop import until
from primsplit.numpy.ufuncs import cast_to, elementwise
from primsplit.ops import op
from primsplit.tracing.array import Array

MOST = 100
"""More divisions than Euclid's algorithm takes for numbers of 64 bits, where Fibonacci's numbers take most."""


@elementwise("gcd")
def gcd(x: Array, y: Array) -> Array:
    """The greatest common divisor by Euclid's algorithm, as many steps as the slowest pair takes; 0 of 0 and 0.

    The least integer has no size in its dtype: what it leaves has one, as its remainder by -1 would end the process.
    """
    wide = np.dtype(np.uint64 if x.dtype == np.uint64 else np.int64)
    first, second = (_size(cast_to(v, wide)) for v in (x, y))
    zero = np.zeros((), wide)

    def step(a: Array, b: Array) -> list[Array]:
        is_last = op.Equal(b, zero)
        rest = _size(op.Mod(a, op.Where(is_last, np.ones((), wide), b)))
        return [op.Where(is_last, a, b), op.Where(is_last, zero, rest)]

    def settled(_: Array, b: Array) -> Array:
        left = op.Not(op.Equal(b, zero))
        return op.Equal(op.ReduceSum(op.Cast(left, to=np.int64), keepdims=0), 0)

    both = op.Mul(first, second)
    start = [op.Add(v, op.Mul(both, zero)) for v in (first, second)]  # both in the shape of the result
    return cast_to(until(settled, step, start, MOST)[0], x.dtype)


@elementwise("lcm")
def lcm(x: Array, y: Array) -> Array:
    """The least common multiple, modulo the range of the dtype; 0 where a number is 0."""
    common = gcd(x, y)
    zero = np.zeros((), x.dtype)
    is_none = op.Equal(common, zero)
    parts = op.Div(_size(x), op.Where(is_none, np.ones((), x.dtype), common))
    return op.Where(is_none, zero, op.Mul(parts, _size(y)))


def _size(x: Array) -> Array:
    return op.Abs(x) if x.dtype.kind == "i" else x
