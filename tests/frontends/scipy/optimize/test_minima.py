"""scipy.optimize's minima of functions of traced values: SciPy's to its tolerance, and the derivatives of minima."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, lsq_linear, minimize, minimize_scalar, nnls

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

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


def held(p: Any) -> Any:
    """x[0] is held at 0.5, x[1] is where the rest of the gradient is 0."""
    return minimize(quadratic, np.zeros(2), args=(p + np.array([4.0, 0]),), bounds=[(0, 0.5), (None, None)]).x


def mixed(p: Any) -> Any:
    return p[0] * DESIGN[:, 0] - p[1] * DESIGN[:, 1]


def of_positive_columns(p: Any) -> Any:
    """The least squares of the columns that have a share."""
    columns = np.flatnonzero(so.nnls(DESIGN, mixed(P))[0])
    found = np.zeros(3) + 0 * p[0]
    found[columns] = np.linalg.lstsq(DESIGN[:, columns], mixed(p))[0]
    return found


SUM = {"type": "eq", "fun": lambda x: np.sum(x) - 1}


def away(x: Any, p: Any) -> Any:
    return np.sum((x - p) ** 2)


def with_sum_one(p: Any) -> Any:
    """The least of `quadratic` where x[0] + x[1] = 1, by Lagrange's multiplier."""
    inverse = np.linalg.inv(CONVEX)
    return inverse @ (p + (1 - np.sum(inverse @ p)) / np.sum(inverse))


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
    "what a bound holds": (held, lambda p: np.stack([0.5 + 0 * p[0], p[1] - 0.15]), P),
    "a bound that is traced": (
        lambda p: minimize(lambda x: np.sum((x - 3) ** 2), np.zeros(2), bounds=Bounds(-1.0, p)).x, lambda p: p, P
    ),
    "a number": (
        lambda p: minimize_scalar(lambda t: np.exp(t) - p[0] * t).x, lambda p: np.log(p[0]), P
    ),
    "a number in a bracket": (
        lambda p: minimize_scalar(lambda t, a: (t - a) ** 2, bracket=(-1, 0, 5), args=(p[1],)).x, lambda p: p[1], P
    ),
    "a number within bounds": (
        lambda p: minimize_scalar(lambda t: (t - p[0]) ** 4 + t, bounds=(0, 5)).x,
        lambda p: p[0] - np.cbrt(0.25),
        P,
    ),
    "a number at a bound": (lambda p: minimize_scalar(lambda t: t, bounds=(p[0], 5)).x, lambda p: p[0], P),
    **{
        name: (
            lambda p, n=name: getattr(so, n)(quadratic, np.ones(2), args=(p,), disp=0),
            lambda p: np.linalg.solve(CONVEX, p),
            P,
        )
        for name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_powell")
    },
    "fmin_bfgs with a gradient": (
        lambda p: so.fmin_bfgs(lambda x: quadratic(x, p), np.ones(2), lambda x: CONVEX @ x - p, disp=0),
        lambda p: np.linalg.solve(CONVEX, p),
        P,
    ),
    "fmin_l_bfgs_b": (
        lambda p: so.fmin_l_bfgs_b(
            lambda x, p: (quadratic(x, p), CONVEX @ x - p), np.zeros(2), args=(p,), bounds=[(0, 0.5), (None, None)]
        )[0],
        lambda p: np.stack([0.5 + 0 * p[0], p[1] - 0.15]),
        P + np.array([4.0, 0.0]),
    ),
    "fminbound": (lambda p: so.fminbound(lambda t, a: np.cosh(t - a), 0, 5, (p[0],)), lambda p: p[0], P),
    "brent": (lambda p: so.brent(lambda t, a: np.cosh(t - a), (p[1],), (0, 1)), lambda p: p[1], P),
    "golden": (lambda p: so.golden(lambda t: np.cosh(t - p[1])), lambda p: p[1], P),
    "a sum that is 1": (within(SUM, quadratic), with_sum_one, P),
    "a linear equation": (within(LinearConstraint(np.ones((1, 2)), 1, 1), quadratic), with_sum_one, P),
    "a sum that is 1, of what is not negative": (
        within(SUM, bounds=[(0, None)] * 2), lambda p: np.stack([0 * p[0], 1 + 0 * p[1]]), P + np.array([-1, 3.0])
    ),
    "in a disc": (
        within({"type": "ineq", "fun": lambda x: 1 - x @ x}), lambda p: p / np.linalg.norm(p), P
    ),
    "in a disc, a line's least value": (
        within(NonlinearConstraint(lambda x: x @ x, -np.inf, 1), lambda x, p: p @ x),
        lambda p: -p / np.linalg.norm(p),
        P,
    ),
    "a constraint that is slack": (within({"type": "ineq", "fun": lambda x: 9 - x @ x}), lambda p: p, P),
    "a constraint with arguments, one that holds and one that is slack": (
        lambda p: minimize(away, np.zeros(2), args=(0 * p,), constraints=[
            {"type": "eq", "fun": lambda x, a: x[0] - a, "args": (p[0] ** 2,)},
            {"type": "INEQ", "fun": lambda x: x - np.array([0.5, -1.0])},
        ]).x,
        lambda p: np.stack([p[0] ** 2, 0 * p[1]]),
        P,
    ),
    "between sides": (
        within([LinearConstraint(np.eye(2), [-1, -np.inf], [9, 1.5]), LinearConstraint([[1.0, 0]], 0.5, 0.5)]),
        lambda p: np.stack([0.5 + 0 * p[0], 1.5 + 0 * p[1]]),
        P,
    ),
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


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", EXACT)
def test_a_minimum_is_right_to_rounding_and_so_are_its_derivatives(name: str) -> None:
    function, exact, point = EXACT[name]
    np.testing.assert_allclose(ps.trace(function, point)(point), exact(point), rtol=1e-9, atol=1e-9)
    found, wanted = ps.jacobian(function)(point), ps.jacobian(exact)(point)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


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


def test_second_derivatives_by_older_functions_are_right() -> None:
    def line(t: Any, a: Any) -> Any:
        return (t - a) ** 2 + np.exp(0.5 * t)

    def bottoms(p: Any) -> Any:
        a, start = np.sin(p), np.zeros(2)
        found = [search(quadratic, start, args=(a,), disp=0) for search in (so.fmin, so.fmin_cg, so.fmin_bfgs)]
        found.append(so.fmin_powell(quadratic, start, args=(a,), disp=0))
        found.append(so.fmin_l_bfgs_b(quadratic, start, args=(a,), approx_grad=True, bounds=[(None, 0.1), (-1, 5)])[0])
        lines = [so.fminbound(line, -4, 4, (a[0],)), so.brent(line, (a[1],)), so.golden(line, (a[0],), (-1, 0))]
        return [quadratic(x, a) for x in found] + [line(t, a[i]) for t, i in zip(lines, (0, 1, 0), strict=True)]

    check_grads(bottoms, P, value_tolerance=1e-7, symbolic=False)


def test_one_file_finds_minima_of_any_size() -> None:
    def bottom(a: Any) -> Any:
        return minimize(lambda x: np.sum(np.exp(x) - a * x), np.zeros_like(a)).x

    program = ps.trace(ps.grad(lambda a: np.sum(bottom(a))), ps.spec("float64", ["N"]))
    for count in (1, 2, 5):
        a = np.linspace(0.5, 2.0, count)
        np.testing.assert_allclose(program(a), 1 / a, rtol=1e-9)


def test_a_valley_is_followed_to_its_end_as_scipy_does() -> None:
    def end(p: Any) -> Any:
        return minimize(lambda x: (p - x[0]) ** 2 + 50 * (x[1] - x[0] ** 2) ** 2, np.array([-1.2, 1.0])).x

    np.testing.assert_allclose(ps.trace(end, np.array(1.3))(np.array(1.3)), [1.3, 1.69], rtol=1e-12)
    np.testing.assert_allclose(ps.jacobian(end)(np.array(1.3)), [1.0, 2.6], rtol=1e-9)


def test_a_start_on_top_of_a_hill_is_left_for_a_minimum() -> None:
    def lowest(p: Any) -> Any:
        return minimize(lambda x: np.cos(p * x[0]) + 0.1 * x[0] ** 2, np.array([0.3])).x[0]

    found = ps.trace(lowest, np.array(2.0))(np.array(2.0))
    np.testing.assert_allclose(found, lowest(2.0), rtol=1e-6)
    np.testing.assert_allclose(-2 * np.sin(2 * found) + 0.2 * found, 0, atol=1e-12)


def test_two_constraints_that_say_the_same_have_a_value_and_no_derivative() -> None:
    twice = within([SUM, {"type": "eq", "fun": lambda x: 2 * np.sum(x) - 2}], quadratic)
    np.testing.assert_allclose(ps.trace(twice, P)(P), with_sum_one(P), rtol=1e-7)
    assert not np.isfinite(ps.jacobian(twice)(P)).any()


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
