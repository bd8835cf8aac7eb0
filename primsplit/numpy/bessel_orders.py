"""Bessel functions of whole orders: J, I and K, of an order or of an array of them that is known when tracing.

NIST Digital Library of Mathematical Functions, 10.4.1, 10.27.1 and 10.27.3 for orders below 0; 10.29.1 for K upwards.
"""

from collections.abc import Callable

import numpy as np

from primsplit.array import Array, unsupported
from primsplit.broadcasting import expand_to
from primsplit.infer import broadcast_shapes
from primsplit.numpy.arithmetic import literal_power
from primsplit.numpy.bessel import bessel_quotient, oscillating_quotient
from primsplit.numpy.bessel_second import k0, k1
from primsplit.numpy.ufuncs import elementwise
from primsplit.ops import op
from primsplit.passes.compositions.error_function import in_float64

Ordered = Callable[[Array, int], Array]
MOST = 20
"""The largest order."""


def _of_orders(name: str, function: Ordered) -> Callable[[Array, Array], Array]:
    """The ufunc of orders and numbers. Raises UnsupportedFunction for orders that are traced, no whole or too large."""

    def call(v: Array, x: Array) -> Array:
        orders = v.known()
        if orders is None or np.any(orders != np.round(orders)) or np.any(np.abs(orders) > MOST):
            raise unsupported(f"scipy.special.{name}, but of whole known orders up to {MOST},")
        return in_float64(x, lambda wide: _chosen(v, orders, wide, function))

    return call


def _chosen(v: Array, orders: np.ndarray[tuple[int, ...], np.dtype[np.floating]], x: Array, function: Ordered) -> Array:
    """Each order's function where it is asked for."""
    known = sorted({int(order) for order in orders.flat})
    shape = broadcast_shapes(v.shape, x.shape)
    if not known:
        return expand_to(x, shape)
    found = function(x, known[0])
    for order in known[1:]:
        found = op.Where(op.Equal(v, float(order)), function(x, order), found)
    return expand_to(found, shape)


def _first(x: Array, order: int) -> Array:
    """J."""
    count = abs(order)
    found: Array = literal_power(x, count) * oscillating_quotient(x, count)
    return -found if order < 0 and count % 2 else found


def _modified(x: Array, order: int) -> Array:
    """I."""
    found: Array = literal_power(x, abs(order)) * bessel_quotient(x, abs(order))
    return found


def _second(x: Array, order: int) -> Array:
    """K, infinite at 0."""
    last: Array = k0(x)
    found: Array = k1(x)
    for n in range(1, abs(order)):
        last, found = found, last + found * (2.0 * n / x)
    return last if order == 0 else found


jv = elementwise("jv")(_of_orders("jv", _first))
iv = elementwise("iv")(_of_orders("iv", _modified))
kv = elementwise("kv", "kn")(_of_orders("kv", _second))
