"""A derivative fails where its function does, also if it does not depend on what fails."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.tracing.branching.raising import checked


def constant_of_positive(x):
    assert x.sum() > 0, "positive"
    return np.float64(3.0)


def signs_of_positive(x):
    if x.sum() < 0:
        raise ValueError("positive")
    return np.sign(x).sum()


def counted(x):
    def step(count, v):
        assert v > 0, "positive"
        return count + 1.0, None

    return ps.scan(step, 0.0, x)[0]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "function",
    [constant_of_positive, signs_of_positive, counted, lambda x: counted(x) + (x**2).sum()],
    ids=["constant", "sign", "scan", "beside a gradient"],
)
@pytest.mark.parametrize(
    "derived",
    [
        ps.grad,
        lambda f: lambda x: ps.vjp(f, x)[1](1.0),
        lambda f: lambda x: ps.jvp(f, (x,), (x,))[1],
        lambda f: lambda x: ps.linearize(f, x)[1](x),
        ps.jacobian,
        ps.hessian,
        ps.laplacian,
        lambda f: ps.grad(lambda x: ps.grad(f)(x).sum()),
        lambda f: lambda x: ps.vmap(ps.grad(f))(np.stack([abs(x), x])),
    ],
    ids=["grad", "vjp", "jvp", "linearize", "jacobian", "hessian", "laplacian", "twice", "vmap"],
)
def test_a_derivative_that_does_not_depend_on_what_is_asserted_fails_too(function, derived) -> None:
    program = ps.trace(lambda x: derived(function)(x), ps.spec("float64", [2]))
    found = np.asarray(program(np.ones(2)))
    assert np.isfinite(found).all()
    with pytest.raises(RunError, match="positive"):
        program(-np.ones(2))


def test_a_gradient_of_one_argument_fails_where_the_other_is_refused() -> None:
    def f(x, y):
        if x.sum() < 0:
            raise ValueError("negative")
        return (y**2).sum()

    first, second = ps.grad(f, 0), ps.grad(f, 1)
    np.testing.assert_array_equal(first(np.ones(2), np.ones(2)), np.zeros(2))
    np.testing.assert_array_equal(second(np.ones(2), np.ones(2)), np.full(2, 2.0))
    for gradient in (first, second, ps.grad(lambda x, y: sum(ps.grad(f, (0, 1))(x, y)[0]))):
        with pytest.raises(RunError, match="ValueError: negative"):
            gradient(-np.ones(2), np.ones(2))


X = np.array([0.5, -0.0, 2.0])

FAILS = "raises ValueError: q is above 1"


def scaled(x: Any, q: Any) -> Any:
    """3 x, which needs q to be at most 1."""
    return checked(3.0 * x, q > 1, ValueError("q is above 1"))


def test_derivatives_fail_where_the_function_does_although_they_do_not_need_it() -> None:
    def total(x: Any, q: Any) -> Any:
        return np.sum(scaled(x, q))

    gradient = ps.grad(total)
    np.testing.assert_allclose(gradient(X, 0.5), np.full(3, 3.0))
    for derivative in (gradient, ps.value_and_grad(total), ps.hessian(total)):
        with pytest.raises(RunError, match=FAILS):
            derivative(X, 2.0)
    with pytest.raises(RunError, match=FAILS):
        ps.jvp(scaled, (X, 2.0), (X, 0.0))
