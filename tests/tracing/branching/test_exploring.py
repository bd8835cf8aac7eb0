"""Plain Python branches on traced values: every path is recorded, none is frozen."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import primsplit as ps
from primsplit.ir.errors import ConcretizationError, RunError, TraceError
from primsplit.testing import check_grads
from primsplit.tracing.branching import exploring


def low_or_high(x):
    """Fixture F4."""
    if x[0] > 1:
        return x[0] ** 3
    return x[0] ** 2


def thread_example(x):
    """Fixture F5 as its thread writes it; the frozen branch would answer 1.08 each at the first point."""
    t = x.sum()
    return t**3 if t > 1 else t**2


def inner_and_outer(z):
    """Fixture F6."""

    def inner(x, y):
        return 2 * y if x > 0 else 3 * y**2

    return z.sum() * inner(z[0], z[1])


@pytest.mark.parametrize(
    ("function", "x", "value", "gradient"),
    [
        (low_or_high, [0.1], 0.01, [0.2]),
        (low_or_high, [1.1], 1.331, [3.63]),
        (low_or_high, [0.5], 0.25, [1.0]),
        (thread_example, [0.1, 0.2, 0.3], 0.36, [1.2] * 3),
        (thread_example, [1.1, 1.2, 1.3], 46.656, [38.88] * 3),
        (thread_example, [0.0, 1.1, 1.0], 9.261, [13.23] * 3),
        (inner_and_outer, [1.0, 2.0], 12.0, [4.0, 10.0]),
        (inner_and_outer, [-1.0, 2.0], 12.0, [12.0, 24.0]),
    ],
)
def test_one_file_takes_the_branch_that_its_input_takes(function, x, value, gradient) -> None:
    file = ps.split(function, ps.spec("float64", [len(x)])).joint()
    found, d_x = file(np.array(x))
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(d_x, gradient, rtol=1e-10)
    check_grads(function, np.array(x), order=2)


def test_a_loop_that_must_end_is_unrolled() -> None:
    def halved(x):
        n = 0
        while x > 1 and n < 4:
            x = 0.5 * x
            n += 1
        return x

    for x, gradient in ((0.3, 1.0), (1.5, 0.5), (3.0, 0.25), (100.0, 0.0625)):
        assert ps.grad(halved)(x) == gradient


def test_an_assertion_fails_when_the_program_is_run() -> None:
    def logarithm(x):
        assert x.sum() > 0, "the sum must be positive"
        return np.log(x.sum())

    for function in (logarithm, ps.grad(logarithm), ps.grad(lambda x: ps.grad(logarithm)(x).sum())):
        program = ps.trace(function, ps.spec("float64", [2]))
        assert np.isfinite(program(np.array([1.0, 2.0]))).all()
        with pytest.raises(RunError, match="raises AssertionError: the sum must be positive") as caught:
            program(np.array([-1.0, -2.0]))
        assert "assert x.sum() > 0" in str(caught.value)


def test_an_error_on_every_path_is_raised_at_once() -> None:
    def never(x):
        if x > 0:
            raise ValueError("no")
        raise ValueError("never")

    with pytest.raises(ValueError, match="no"):
        ps.trace(never, 1.0)


def test_branches_inside_of_bodies_are_explored_there() -> None:
    def f(xs):
        def step(c, x):
            if x > 0:
                c = np.tanh(c + x)
            elif c > 0.2:
                c = c * x
            return c, c

        c, ys = ps.scan(step, 0.3, xs)
        return c + (ys**2).sum()

    check_grads(f, np.array([0.3, -0.4, -0.2, -0.1, 0.7]), order=2)


def test_a_function_that_takes_other_elements_each_time_cannot_be_explored() -> None:
    calls = itertools.count(1)

    def f(x):
        y = x * next(calls)
        return np.sin(y) if x > 0 else y

    with pytest.raises(TraceError, match="run again"):
        ps.trace(f, 1.0)


def test_the_policy_error_refuses_branches() -> None:
    with pytest.raises(ConcretizationError, match="a branch depends") as caught:
        ps.trace(thread_example, ps.spec("float64", [3]), branches="error")
    assert "t**3 if t > 1" in str(caught.value)


@pytest.mark.parametrize(("x", "slope", "curvature"), [(2.0, 12.0, 12.0), (-2.0, 1.0, 0.0)])
def test_forward_mode_and_batches_follow_branches_too(x, slope, curvature) -> None:
    def f(x):
        return x**3 if x > 0 else x

    assert float(ps.jvp(f, (x,), (1.0,))[1]) == slope
    assert float(ps.hessian(f)(x)) == curvature
    assert float(ps.linearize(f, x)[1](1.0)) == slope
    both = ps.vmap(ps.grad(f))(np.array([x, -x]))
    assert both[0] == slope
    assert float(ps.hvp(lambda v: f(v[0]))(np.array([x]), np.array([1.0]))[0]) == curvature


@pytest.mark.parametrize(
    ("solved", "name"),
    [
        (lambda a: scipy.optimize.bracket(lambda x: (x - a) ** 2)[0], "bracket raised BracketError"),
        (
            lambda a: scipy.optimize.line_search(
                lambda x: ((x - a) ** 2).sum(), lambda x: 2 * (x - a), np.zeros(1), np.ones(1)
            )[0],
            "a branch was asked",
        ),
    ],
    ids=["bracket", "line_search"],
)
def test_what_scipy_asks_of_traced_values_is_told_at_the_line_that_calls_it(solved, name) -> None:
    with pytest.raises(ConcretizationError, match=name) as caught:
        ps.grad(solved)(2.0)
    told = str(caught.value)
    assert "at test_exploring.py:" in told
    assert "ps.primitive" in told
    assert len(told.splitlines()) < 10


def test_a_search_that_branches_in_python_has_its_substitute() -> None:
    def root(a):
        return scipy.optimize.root_scalar(lambda x: x * x - a, x0=1.0, fprime=lambda x: 2 * x).root

    assert abs(ps.grad(root)(2.0) - 0.5 / np.sqrt(2.0)) < 1e-12


def test_an_error_of_the_users_own_function_inside_of_scipy_stays_what_it_is() -> None:
    def failing(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ps.grad(lambda a: scipy.optimize.brentq(failing, 0.0, 1.0) * a)(2.0)


def test_the_error_of_the_run_that_came_further_is_told() -> None:
    def differently(x):
        sine = math.sin(x)
        return [sine] if sine > 0 else [sine, sine]

    with pytest.raises(TraceError, match="return results of another structure"):
        ps.trace(differently, 0.5)


def divided(x: Any) -> Any:
    k = 0.0 if x[0] > 0 else x[1]
    try:
        return 1.0 / k
    except ZeroDivisionError:
        return 7.0


def of_float32(x: Any) -> Any:
    k = 0.1
    if x[0] > 0:
        k = x[1]
    return (k * np.ones(2, np.float32)).astype(np.float64)[0] * 1e7 - 1e6


def without_a_method(x: Any) -> Any:
    k = 2.0
    if x[0] > 0:
        k = x[1]
    try:
        return k.sum() + 1.0  # type: ignore[attr-defined]
    except AttributeError:
        return x[2]


def of_truths(x: Any) -> Any:
    b = True if x[0] > 0 else x[1] > 0
    return b + b + x[2]


@pytest.mark.parametrize("function", [divided, of_float32, without_a_method, of_truths])
def test_a_number_of_pythons_and_one_of_numpys_are_told_apart(function: Callable[[Any], Any]) -> None:
    program = ps.trace(function, ps.spec("float64", [3]))
    for x in ([0.7, -1.3, 0.4], [-0.6, 1.2, -0.8], [1.7, 0.9, 2.2], [-1.1, -0.7, -2.3]):
        np.testing.assert_allclose(program(np.array(x)), function(np.array(x)), rtol=1e-12)


def test_a_loop_without_an_end_is_named_before_the_index_that_joins_would_serve() -> None:
    table = [1.0, 2.0, 3.0]

    def turned(angle: Any) -> Any:
        while angle > np.pi:
            angle = angle - 2 * np.pi
        return angle

    def f(x: Any) -> Any:
        nearest = np.argmin([(x[0] - t) ** 2 for t in table])
        return turned(x[0] + [x[0] - t for t in table][nearest])

    with pytest.raises(ConcretizationError) as raised:
        ps.trace(f, ps.spec("float64", [2]))
    first, place, *others = str(raised.value).splitlines()
    assert "the loop ends by its numbers alone" in first
    assert "while angle > np.pi" in place
    assert "an integer index was asked of a value" in others[0]


def descended(x: Any) -> Any:
    i, j, cost = 6, 6, 0.0
    while i > 0 and j > 0:
        cost = cost + np.sin(x[i] - x[j])
        if cost > 0.3:
            i -= 1
        elif cost > 0:
            j -= 1
        else:
            i, j = i - 1, j - 1
    return cost


def test_few_costly_paths_of_a_loop_without_a_known_end_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All paths of a loop that goes back through a table were followed, for minutes, before it was refused."""
    calls = itertools.count()

    def counted(x: Any) -> Any:
        next(calls)
        return descended(x)

    monkeypatch.setattr(exploring, "LONGEST_OF_LOOP", 2**9)
    with pytest.raises(ConcretizationError) as refused:
        ps.trace(counted, ps.spec("float64", [7]))
    assert "the loop ends by its numbers alone: give it a most number" in str(refused.value).splitlines()[0]
    assert next(calls) < 60
