"""Objects of NumPy and SciPy that hold numbers, and are changed after a program was made: it is made again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse

import primsplit as ps

FACTOR = [2.0]


def _set(array: Any, value: float) -> None:
    array[...] = value


def _grid() -> Any:
    return scipy.interpolate.RegularGridInterpolator(([0.0, 1.0],), np.array([1.0, 3.0]))


CHANGED: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "np.poly1d": (lambda: np.poly1d([1.0, 2.0]), lambda p, x: p(x), lambda p: _set(p.coeffs, 9.0)),
    "Polynomial": (lambda: np.polynomial.Polynomial([1.0, 2.0]), lambda p, x: p(x), lambda p: _set(p.coef, 7.0)),
    "np.vectorize": (
        lambda: np.vectorize(lambda t: t * FACTOR[0]), lambda v, x: v(x), lambda _: FACTOR.__setitem__(0, 5.0)
    ),
    "a sparse matrix": (lambda: scipy.sparse.eye_array(1).tocsr(), lambda a, x: a @ x, lambda a: _set(a.data, 3.0)),
    "CubicSpline": (
        lambda: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]),
        lambda s, x: s(x), lambda s: _set(s.c, 0.5),
    ),
    "RegularGridInterpolator": (_grid, lambda g, x: g(x[:, None]), lambda g: _set(g.values, 4.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_table_is_read_again(name: str) -> None:
    make, use, change = CHANGED[name]
    held, x = make(), np.array([0.4])
    slope = ps.value_and_grad(lambda x: np.sum(use(held, x)))
    before = slope(x)[0]
    change(held)
    after = slope(x)[0]
    assert before != after
    np.testing.assert_allclose(after, np.sum(use(held, x)))
