"""The backward pass of a loop: a Scan from the last step to the first, for any number of steps."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.rules.checks import slopes

XS = np.array([[0.3, -0.7], [1.1, 0.2], [-0.4, 0.9], [0.5, 0.6]])

W = np.array([0.8, -1.2])


def total(w: Any, xs: Any) -> Any:
    """A Scan that carries two arrays, reads `w` and stacks."""

    def step(carry: Any, x: Any) -> Any:
        h, product = carry
        h = np.tanh(w * h + x)
        return (h, product * (2.0 + h)), np.sin(h) * w

    (h, product), stacked = ps.scan(step, (0.1 * w, np.ones(2)), xs)
    return h.sum() + product.sum() + (stacked**2).sum()


def plain(w: np.ndarray, xs: np.ndarray) -> Any:
    h, product, stacked = 0.1 * w, np.ones(2), 0.0
    for x in xs:
        h = np.tanh(w * h + x)
        product = product * (2.0 + h)
        stacked += ((np.sin(h) * w) ** 2).sum()
    return h.sum() + product.sum() + stacked


@pytest.mark.parametrize("steps", [4, 1, 0])
def test_carries_elements_and_captured_arrays_have_gradients(steps: int) -> None:
    made = ps.split(total, ps.spec("float64", [2]), ps.spec("float64", ["N", 2]), wrt=(0, 1)).joint()
    xs = XS[:steps]
    value, dw, dxs = made(W, xs)
    np.testing.assert_allclose(value, plain(W, xs))
    np.testing.assert_allclose(dw, slopes(lambda w: plain(w, xs), W), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(dxs, slopes(lambda xs: plain(W, xs), xs), rtol=1e-6, atol=1e-8)


def test_a_loop_until_a_condition_goes_back_over_the_steps_that_were_run() -> None:
    def f(x: Any) -> Any:
        return ps.while_loop(lambda c: (c**2).sum() < 50.0, lambda c: c * np.sqrt(2.0 + x), x).sum()

    def by_hand(x: np.ndarray) -> Any:
        c = x
        while (c**2).sum() < 50.0:
            c = c * np.sqrt(2.0 + x)
        return c.sum()

    for x in (np.array([0.5, 1.0]), np.array([7.0, 3.0])):
        np.testing.assert_allclose(ps.grad(f)(x), slopes(by_hand, x), rtol=1e-6)


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
