"""scipy.optimize's minima of functions of traced values: SciPy's to its tolerance, and the derivatives of minima."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import LinearConstraint, lsq_linear, minimize, minimize_scalar, nnls

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads
from tests.frontends.scipy.optimize.exact import check_exact

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
DESIGN = RANDOM.standard_normal((20, 3))
SEEN = (DESIGN @ [1.0, -2, 0.5] + RANDOM.standard_normal(20) > 0) * 1.0
P = np.array([1.0, 2.0])
CONVEX = np.array([[2.0, 0.3], [0.3, 1.0]])


def quadratic(x: Any, p: Any) -> Any:
    return x @ CONVEX @ x / 2 - np.sum(p * x)


def logistic(w: Any, weight: Any) -> Any:
    return np.sum(np.logaddexp(0, DESIGN @ w) - SEEN * (DESIGN @ w)) + weight * np.sum(w**2)


def fitted(weight: Any) -> Any:
    return minimize(logistic, np.zeros(3), args=(weight,), tol=1e-10).x


def fitted_by_hand(weight: Any) -> Any:
    """The same minimum, by Newton's steps in plain NumPy."""
    w = np.zeros(3)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-DESIGN @ w))
        curve = (DESIGN.T * (chance * (1 - chance))) @ DESIGN + 2 * weight * np.eye(3)
        w = w - np.linalg.solve(curve, DESIGN.T @ (chance - SEEN) + 2 * weight * w)
    return w


def mixed(p: Any) -> Any:
    return p[0] * DESIGN[:, 0] - p[1] * DESIGN[:, 1]


def of_positive_columns(p: Any) -> Any:
    """The least squares of the columns that have a share."""
    columns = np.flatnonzero(so.nnls(DESIGN, mixed(P))[0])
    found = np.zeros(3) + 0 * p[0]
    found[columns] = np.linalg.lstsq(DESIGN[:, columns], mixed(p))[0]
    return found


def away(x: Any, p: Any) -> Any:
    return np.sum((x - p) ** 2)


def within(limit: Any, objective: Callable[..., Any] = away, **options: Any) -> Callable[[Any], Any]:
    return lambda p: minimize(objective, np.full(2, 0.2), args=(p,), constraints=limit, **options).x


EXACT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "a quadratic": (lambda p: minimize(quadratic, np.ones(2), args=(p,)).x, lambda p: np.linalg.solve(CONVEX, p), P),
    "its value": (lambda p: minimize(quadratic, np.ones(2), p).fun, lambda p: -p @ np.linalg.solve(CONVEX, p) / 2, P),
    "its gradient": (lambda p: minimize(quadratic, np.ones(2), p).jac, lambda p: 0 * p, P),
    "with its gradient beside it": (
        lambda p: minimize(lambda x: (quadratic(x, p), CONVEX @ x - p), np.ones(2), jac=True).x,
        lambda p: np.linalg.solve(CONVEX, p),
        P,
    ),
    "a logistic regression by its weight": (fitted, fitted_by_hand, np.array(0.7)),
    **{
        name: (
            lambda p, n=name: getattr(so, n)(quadratic, np.ones(2), args=(p,), disp=0),
            lambda p: np.linalg.solve(CONVEX, p),
            P,
        )
        for name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_powell")
    },
    "least squares": (
        lambda p: lsq_linear(DESIGN, mixed(p)).x, lambda p: np.linalg.lstsq(DESIGN, mixed(p), rcond=None)[0], P
    ),
    "least squares within bounds": (
        lambda p: lsq_linear(CONVEX, p, (0.0, np.array([0.1, 9.0]))).x,
        lambda p: np.stack([0.1 + 0 * p[0], CONVEX[:, 1] @ (p - 0.1 * CONVEX[:, 0]) / np.sum(CONVEX[:, 1] ** 2)]),
        P,
    ),
    "least squares that are nowhere negative": (lambda p: nnls(DESIGN, mixed(p))[0], of_positive_columns, P),
}  # fmt: skip


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", EXACT)
def test_a_minimum_is_right_to_rounding_and_so_are_its_derivatives(name: str) -> None:
    check_exact(*EXACT[name])


@pytest.mark.slow
def test_second_derivatives_of_minima_are_right() -> None:
    def bottom(p: Any) -> Any:
        return minimize_scalar(lambda t, slope: np.exp(t) - slope * t, args=(np.sin(p[0]),), tol=1e-12).fun

    check_grads(bottom, P, value_tolerance=1e-9)
    in_disc = within({"type": "ineq", "fun": lambda x: 1 - x @ x})
    np.testing.assert_allclose(
        ps.hessian(lambda p: in_disc(p)[0])(P), ps.hessian(lambda p: p[0] / np.linalg.norm(p))(P), rtol=1e-7
    )
    check_grads(lambda p: nnls(DESIGN, mixed(np.sin(p)))[0], P, value_tolerance=1e-9)
    check_grads(lambda p: lsq_linear(CONVEX, np.sin(p), (-0.1, 9.0)).x, P, value_tolerance=1e-9)
    check_grads(lambda p: minimize(quadratic, np.zeros(2), args=(np.sin(p),), tol=1e-12).fun, P, value_tolerance=1e-9)
    np.testing.assert_allclose(
        ps.hessian(lambda p: fitted(p)[1])(np.array(0.7)), ps.hessian(lambda p: fitted_by_hand(p)[1])(np.array(0.7)),
        rtol=1e-6,
    )  # fmt: skip


def test_one_file_finds_minima_of_any_size() -> None:
    def bottom(a: Any) -> Any:
        return minimize(lambda x: np.sum(np.exp(x) - a * x), np.zeros_like(a)).x

    program = ps.trace(ps.grad(lambda a: np.sum(bottom(a))), ps.spec("float64", ["N"]))
    for count in (1, 2, 5):
        a = np.linspace(0.5, 2.0, count)
        np.testing.assert_allclose(program(a), 1 / a, rtol=1e-9)


def test_what_has_no_minimum_is_nan() -> None:
    never = {"type": "eq", "fun": lambda x: x @ x + 1}
    for function in (lambda p: minimize(lambda x: p[0] * np.sum(x), np.zeros(2)).x, within(never)):
        assert np.isnan(ps.trace(function, P)(P)).all()


def test_a_minimum_of_numbers_alone_is_scipys_own() -> None:
    def f(p: Any) -> Any:
        return p * minimize(lambda x: np.sum((x - 1) ** 2), np.zeros(2)).nfev

    assert ps.trace(f, np.array(2.0))(np.array(2.0)) == f(2.0)


REFUSED: list[tuple[str, Callable[[Any], Any], type[Exception]]] = [
    ("traced sides", lambda p: minimize(away, P, p, constraints=LinearConstraint(CONVEX, p, p)), UnsupportedFunction),
    ("callback", lambda p: minimize(quadratic, P, p, callback=print), UnsupportedFunction),
    ("3 bounds for 2", lambda p: minimize(quadratic, P, p, bounds=[(0, 1)] * 3), ShapeError),
    ("one dimension", lambda p: minimize(lambda x: np.sum((x - p) ** 2), np.zeros((2, 2))), ShapeError),
    ("two or three", lambda p: minimize_scalar(lambda t: (t - p[0]) ** 2, bracket=(p[0],)), ShapeError),
    ("two numbers", lambda p: minimize_scalar(lambda t: (t - p[0]) ** 2, bounds=(p[0], 2, 3)), ShapeError),
    ("how many steps", lambda p: so.linprog(p), UnsupportedFunction),
]


@pytest.mark.parametrize(("told", "function", "kind"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_has_no_form_is_refused_at_the_users_line(
    told: str, function: Callable[[Any], Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=told) as caught:
        ps.trace(function, P)
    assert "test_minima.py" in str(caught.value)
