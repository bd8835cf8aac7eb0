"""Shapes that only the run knows: what a program claims of them is checked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.broadcasting import axis_back, axis_first

FITS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda v: v.reshape(2).sum(),
    "dot": lambda v: np.dot(np.ones(2), v),
    "difference": lambda v: (v - np.ones(2)).sum(),
    "product": lambda v: (v * np.array([1.0, 2.0])).sum(),
    "broadcast": lambda v: np.broadcast_to(v, (3, 2)).sum(),
    "stack": lambda v: np.stack([v, np.ones(2)]).sum(),
}


@pytest.mark.parametrize("name", FITS)
def test_a_gradient_alone_fails_where_the_sizes_do_not_fit(name: str) -> None:
    """It needs no value, and would have another shape than its argument."""
    gradient = ps.trace(ps.grad(FITS[name]), ps.spec("float64", ["N"]))
    np.testing.assert_allclose(gradient(np.ones(2)), ps.grad(FITS[name])(np.ones(2)))
    with pytest.raises(ValueError, match=r"shape|match|align|dimension|size"):
        FITS[name](np.ones(3))
    with pytest.raises(ps.PrimsplitError):
        gradient(np.ones(3))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_an_axis_is_moved_to_the_front_and_back(axis: int) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(ps.trace(lambda x: axis_first(x, axis), x)(x), np.moveaxis(x, axis, 0))
    np.testing.assert_array_equal(ps.trace(lambda x: axis_back(x, axis), x)(x), np.moveaxis(x, 0, axis))
