"""Rules of Scan and Loop: what a pullback reads, which way it goes, and steps counted by number or by condition."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk

X = np.array([0.5, -1.0, 2.0, 0.25])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_pullback_walks_the_other_way(reverse: bool) -> None:
    # c -> c x: the gradient of the last carry by x_i is the product of the others.
    def f(xs: Any) -> Any:
        return ps.scan(lambda c, x: (c * x, c), np.float64(1.0), xs, reverse=reverse)[0]

    np.testing.assert_allclose(ps.grad(f)(X), np.prod(X) / X)


@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_stacked_lies_where_its_element_does(reverse: bool) -> None:
    weights = np.arange(1.0, 5.0)

    def f(xs: Any) -> Any:
        return (ps.scan(lambda c, x: (c + x, c + x), np.float64(0.0), xs, reverse=reverse)[1] * weights).sum()

    sums = np.cumsum(weights) if reverse else np.cumsum(weights[::-1])[::-1]
    np.testing.assert_allclose(ps.grad(f)(X), sums)


def test_the_steps_of_a_loop_read_their_number() -> None:
    def f(x: Any, n: Any) -> Any:
        return ps.fori_loop(2, n, lambda i, c: c + x**i, np.float64(0.0))

    gradient = ps.split(f, ps.spec("float64", []), ps.spec("int64", []), wrt=0).joint()
    for n in (2, 3, 6):
        value, slope = gradient(np.float64(1.5), np.int64(n))
        np.testing.assert_allclose(value, sum(1.5**i for i in range(2, n)))
        np.testing.assert_allclose(slope, sum(i * 1.5 ** (i - 1) for i in range(2, n)))


def test_a_linear_loop_stores_no_carries() -> None:
    made = ps.split(lambda x: ps.scan(lambda c, x: (c + 2.0 * x, None), x[0], x)[0], ps.spec("float64", [4, 3]), wrt=0)
    assert all(made.split.kind(c) in {"shape", "input"} for c in made.split.captures)
    assert "Loop" not in {o.kind for o in walk(made.split.pullback)}
