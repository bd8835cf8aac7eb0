"""Plain Python branches on traced values: every path is recorded, none is frozen."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import primsplit as ps
from primsplit.ir.errors import ConcretizationError, DtypeError, PrimsplitError, RunError, TraceError
from primsplit.testing import check_grads
from primsplit.tracing.branching import paths
from primsplit.tracing.hooks import HOOKS


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


def signs(x):
    y = 0.0
    for i in range(2):
        if x[i] > 0 and x[i] < 2:
            y = y + np.sin(x[i])
        elif not x[i] < -1:
            y = y - x[i] * x[i]
    return max(y, x[0])


def test_many_branches_become_a_tree() -> None:
    points = ([0.1, -0.2], [-0.1, -2.2], [2.5, 0.4], [-3.0, -3.0])
    first, *others = ((np.array(x),) for x in points)
    check_grads(signs, *first, also_at=others)


def test_what_the_paths_share_is_recorded_once() -> None:
    program = ps.trace(thread_example, ps.spec("float64", [3]))
    assert [op.kind for op in program.block.ops] == ["ReduceSum", "Greater", "If"]


def test_the_same_condition_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HOOKS, "join_branches", lambda *_, **__: None)

    def f(x):
        a = np.sin(x) if x > 0 else x
        return a * 2 if x > 0 else a

    program = ps.trace(f, 1.0)
    assert [op.kind for op in program.block.ops].count("If") == 1
    check_grads(f, 0.3)
    check_grads(f, -0.3)


def test_the_same_condition_is_asked_once_where_an_operand_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HOOKS, "join_branches", lambda *_, **__: None)
    runs = itertools.count()  # the elements that a run takes are not given back

    def f(s, x):
        next(runs)
        a = np.sin(s) if s > x[0] else np.cos(s)
        return a * x[1] if s > x[0] else a

    ps.trace(f, 0.5, np.zeros(2, np.float32))
    assert next(runs) == 3  # two paths, and one of them once more


def test_a_loop_that_must_end_is_unrolled() -> None:
    def halved(x):
        n = 0
        while x > 1 and n < 4:
            x = 0.5 * x
            n += 1
        return x

    for x, gradient in ((0.3, 1.0), (1.5, 0.5), (3.0, 0.25), (100.0, 0.0625)):
        assert ps.grad(halved)(x) == gradient


def test_an_endless_tree_is_refused_with_the_ways_out() -> None:
    def endless(x):
        while x > 1:
            x = 0.5 * x
        return x

    with pytest.raises(ConcretizationError) as caught:
        ps.grad(endless)(9.0)
    told = str(caught.value)
    assert "while x > 1" in told
    assert all(way in told for way in ("ps.cond", "ps.while_loop", "ps.scan", "np.where", "static"))
    assert len(told.splitlines()) < 10


def test_many_branches_one_after_another_are_recorded_once_each() -> None:
    def split_sum(x):
        total = 0.0
        for i in range(7):
            total = total + np.exp(x[i]) if x[i] > 0 else total - np.sin(x[i])
        return total * total

    program = ps.trace(split_sum, ps.spec("float64", [7]))
    assert len(program.block.ops) < 40
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal(7)
        np.testing.assert_allclose(program(x), split_sum(x), rtol=1e-14)
        slope = np.where(x > 0, np.exp(x), -np.cos(x))
        total = np.where(x > 0, np.exp(x), -np.sin(x)).sum()
        np.testing.assert_allclose(ps.grad(program)(x), 2 * total * slope, rtol=1e-13)


def test_more_paths_than_are_recorded_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST", 100)

    def split_sum(x):
        taken = []
        for i in range(12):
            if x[i] > 0:
                taken += [np.exp(x[i])]
        return sum(taken, 0.0)

    with pytest.raises(ConcretizationError, match="more than 100 paths"):
        ps.trace(split_sum, ps.spec("float64", [12]))


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


def test_the_size_of_an_axis_may_decide() -> None:
    def f(x):
        if x.shape[0] > 3:
            return x.sum()
        return (x**2).sum()

    file = ps.split(f, ps.spec("float64", ["N"])).joint()
    np.testing.assert_array_equal(file(np.full(2, 3.0))[1], [6.0, 6.0])
    np.testing.assert_array_equal(file(np.full(5, 3.0))[1], np.ones(5))


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


def test_paths_may_return_numbers_and_arrays() -> None:
    def f(x):
        return 1.0 if x.sum() > 0 else x.sum() ** 2

    assert ps.grad(f)(np.array([1.0]))[0] == 0.0
    assert ps.grad(f)(np.array([-3.0]))[0] == -6.0


def test_paths_that_return_other_structures_are_refused() -> None:
    with pytest.raises(TraceError, match="structure or number of axes"):
        ps.trace(lambda x: x if x.sum() > 0 else (x, x), ps.spec("float64", [2]))


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


def test_paths_that_return_other_dtypes_are_refused() -> None:
    with pytest.raises(DtypeError, match="float32 and float64"):
        ps.trace(lambda x: x if x.sum() > 0 else x.astype(np.float32), ps.spec("float64", [2]))


@pytest.mark.parametrize(
    ("function", "told", "cure"),
    [
        (lambda x: x * float(x.sum()), r"float\(\) was asked of a value", "astype(float)"),
        (lambda x: [x, -x, x[:1]][x.argmax()] * x, "an integer index was asked of a value", "np.take"),
        (lambda x: sum(x[0] for _ in range(x.argmax())), "an integer index was asked of a value", "ps.fori_loop"),
        (lambda x: x if x > 0 else -x, "a condition must be one truth value", "np.where"),
    ],
)
def test_a_python_number_of_a_traced_value_is_refused_at_its_line_with_the_way_out(function, told, cure) -> None:
    """Row T4: nothing that was true of one input alone becomes part of the program."""
    with pytest.raises(PrimsplitError, match=told) as caught:
        ps.trace(function, ps.spec("float64", [3]))
    assert cure in str(caught.value)
    assert "at test_exploring.py:" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


def test_an_index_that_was_searched_for_may_index_an_array() -> None:
    check_grads(lambda x: x[x.argmax()] * x[x.argmin()], np.array([0.3, 1.2, -0.4]), order=2)


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


def test_paths_without_end_are_told_rather_than_the_number_that_the_first_run_asked_for() -> None:
    def sine_or_steps(x):
        if x > 0.5:
            y = x
            for _ in range(300):
                y = 1.01 * y
            return math.sin(y)
        while x < 0.4:
            x = x + 0.001
        return x

    with pytest.raises(ConcretizationError, match=r"(?s)without end.*while x < 0\.4") as caught:
        ps.trace(sine_or_steps, 0.2)
    assert "float()" not in str(caught.value)


def test_paths_that_return_other_containers_are_told_apart() -> None:
    def either(x):
        return {"low": x} if x[0] > 1 else {"high": x}

    with pytest.raises(TraceError, match="return results of another structure") as caught:
        ps.trace(either, np.ones(2))
    assert [told[told.index("{") :] for told in caught.value.because] == ["{'low': *}", "{'high': *}"]


def test_a_step_whose_result_one_side_alone_reads_stays_in_the_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The If that chooses between that result and another value stands before what both sides do alike."""
    monkeypatch.setattr(HOOKS, "join_branches", lambda *_, **__: None)

    def f(x: Any) -> Any:
        b = np.sin(x[1]) if x[0] > 0 else np.cos(x[1])
        c, d = ps.cond(b > 0.2, lambda: (b, x[2]), lambda: (x[2], b * b))
        if x[0] > 0:
            d = np.tanh(x[1])
        return c + 2 * d

    for x in ([0.4, 0.7, 2.0], [-0.4, 0.7, 2.0], [0.4, -0.7, 2.0], [-0.4, 2.7, 2.0]):
        np.testing.assert_allclose(ps.trace(f, ps.spec("float64", [3]))(np.array(x)), f(np.array(x)), rtol=1e-14)


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
