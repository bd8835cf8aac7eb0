"""The rule of If: an If on the same condition, each side from what it kept."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from tests.rules.checks import slopes

X = np.array([0.3, -0.7, 1.1])


def either(x: Any, w: Any) -> Any:
    """One side keeps a number and an array of its own, the other one an array."""
    return ps.cond(
        x.sum() > 0,
        lambda: np.exp(np.tanh(x.sum())) * np.sin(w * x).sum(),
        lambda: (np.cosh(x) ** 2).sum(),
    )


def plain(x: np.ndarray, w: np.ndarray) -> Any:
    if x.sum() > 0:
        return np.exp(np.tanh(x.sum())) * np.sin(w * x).sum()
    return (np.cosh(x) ** 2).sum()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("spec", [[3], ["N"]])
def test_the_gradient_is_that_of_the_side_that_is_taken(sign: float, spec: list[Any]) -> None:
    x, w = sign * X, np.array([2.0, 0.5, -1.0])
    made = ps.split(either, ps.spec("float64", spec), ps.spec("float64", spec), wrt=(0, 1))
    _, dx, dw = made.joint()(x, w)
    np.testing.assert_allclose(dx, slopes(lambda x: plain(x, w), x), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(dw, slopes(lambda w: plain(x, w), w), rtol=1e-7, atol=1e-8)


def test_an_array_that_one_side_alone_reads_gets_zeros_from_the_other() -> None:
    gradient = ps.grad(either, wrt="w")
    np.testing.assert_array_equal(gradient(-X, np.ones(3)), np.zeros(3))


def test_a_nan_of_the_side_that_is_not_taken_does_no_harm() -> None:
    def f(x: Any) -> Any:
        return ps.cond(x.min() > 0, lambda: np.log(x).sum(), lambda: x.sum() * 3.0)

    np.testing.assert_array_equal(ps.grad(f)(-np.abs(X)), np.full(3, 3.0))


def test_what_both_sides_pass_on_is_no_output_of_the_branch() -> None:
    # The pullback of x * x reads x, which is a parameter: nothing is stored.
    made = ps.split(lambda x: ps.cond(x[0] > 0, lambda: x * x, lambda: x * 2.0), ps.spec("float64", [3]), wrt=0)
    (branch,) = (o for o in walk(made.split.primal) if o.kind == "If")
    assert len(branch.outputs) == 1


def test_the_second_derivative_is_that_of_the_side_that_is_taken() -> None:
    hessian = ps.hessian(lambda x: ps.cond(x.sum() > 0, lambda: (x**3).sum(), lambda: np.exp(2.0 * x).sum()))
    np.testing.assert_allclose(hessian(X), np.diag(6.0 * X))
    np.testing.assert_allclose(hessian(-X), np.diag(4.0 * np.exp(-2.0 * X)))
