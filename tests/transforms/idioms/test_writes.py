"""Arrays that are written and read element by element cost what their elements do, and hold what NumPy's would."""

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

X = np.random.default_rng(4).uniform(0.5, 1.5, 6)


def recurrence(x: Any, count: int = 6) -> Any:
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, count):
        y[i] = 0.5 * y[i - 1] * x[i] + x[i]
    return y


def backwards(x: Any) -> Any:
    y = np.ones_like(x)
    for i in range(4, -1, -1):
        y[i] = y[i + 1] * x[i]
    return y


def rewritten_places(x: Any) -> Any:
    y = x.copy()
    for i in (2, 4, 2, 0, 2):
        y[i] = y[2] * x[i] + y[5]
    return y


def a_read_in_between(x: Any) -> Any:
    y = x.copy()
    y[0] = 2 * x[1]
    before = np.sum(y)
    y[1] = before * y[0]
    return y * before


def elements_of_a_matrix(x: Any) -> Any:
    a = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            a[i, j] = x[i] * x[j + 3] + (a[i, j - 1] if j else 0.0)
    return a


def rows(x: Any) -> Any:
    a = np.zeros((4, 6))
    a[0] = x
    for i in range(1, 4):
        a[i] = a[i - 1] * x
    return a


def rows_and_elements(x: Any) -> Any:
    a = np.zeros((3, 6))
    a[0] = x
    a[1, 2] = a[0, 1] * x[0]
    a[1] = a[1] + x
    return a


def negative_places(x: Any) -> Any:
    y = np.zeros_like(x)
    y[-1] = x[0]
    y[5] = y[-1] * x[1]
    y[0] = y[5] + y[-1]
    return y


def kept_states(x: Any) -> Any:
    y = np.zeros_like(x)
    states = []
    for i in range(3):
        y[i] = x[i] * x[i + 1]
        states.append(y.copy())
    return np.stack(states)


PROGRAMS: list[Callable[..., Any]] = [
    recurrence, backwards, rewritten_places, a_read_in_between, elements_of_a_matrix, rows, rows_and_elements,
    negative_places, kept_states,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_written_and_read_is_numpys_to_second_order(program: Callable[..., Any]) -> None:
    np.testing.assert_allclose(ps.trace(program, X)(X), program(X), rtol=1e-14)
    weights = np.cos(np.arange(program(X).size)).reshape(program(X).shape)
    ps.testing.check_grads(lambda x: np.sum(program(x) * weights), X, order=2, symbolic=False)


def kinds(program: ps.Program) -> collections.Counter[str]:
    return collections.Counter(node.op_type for node in program.to_onnx().graph.node)


def test_a_recurrence_writes_its_array_once_forward_and_back() -> None:
    made = ps.split(lambda x: np.sum(recurrence(x, 40) ** 2), ps.spec("float64", [40]))
    assert kinds(made.program)["ScatterND"] == 0
    found = kinds(made.joint())
    assert found["ScatterND"] <= 1, "the cotangents of what is read of x, added up"
    assert found["GatherND"] == 0
    assert kinds(made.joint()).total() < 40 * 12


def test_a_longer_recurrence_has_more_nodes_in_proportion() -> None:
    def nodes(count: int) -> int:
        made = ps.split(lambda x: np.sum(recurrence(x, count)), ps.spec("float64", [count]))
        return kinds(made.joint()).total()

    few, many = nodes(25), nodes(100)
    assert many < 4.2 * few


def test_writes_to_some_places_keep_the_others() -> None:
    def marked(x: Any) -> Any:
        y = x * 2
        y[1] = x[0]
        y[3] = x[1] * y[1]
        return y

    made = ps.split(marked, ps.spec("float64", ["N"]))
    assert kinds(made.program)["ScatterND"] == 1
    np.testing.assert_allclose(made.program(X), marked(X), rtol=1e-15)
    slope = made.joint()(X, np.ones(6))[1]
    np.testing.assert_allclose(slope, [3 + X[1], X[0], 2, 0, 2, 2], rtol=1e-15)


def thomas(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The solution of a system of three diagonals."""
    n = len(b)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


def test_what_was_stored_long_before_is_read_where_it_was_computed() -> None:
    n = 80
    a, c, d = np.random.default_rng(0).normal(size=(3, n))
    b = 4 + np.arange(n) / n
    x = np.linalg.solve(np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1), d)
    back = np.linalg.solve(np.diag(b) + np.diag(c[:-1], -1) + np.diag(a[1:], 1), 2 * x)
    made = ps.split(lambda a, b, c, d: np.sum(thomas(a, b, c, d) ** 2), a, b, c, d, seed="ones").joint()
    value, *slopes = made(a, b, c, d)
    np.testing.assert_allclose(value, np.sum(x**2), rtol=1e-13)
    expected = [-back * np.r_[0.0, x[:-1]], -back * x, -back * np.r_[x[1:], 0.0], back]
    np.testing.assert_allclose(slopes, expected, atol=1e-12)
    assert kinds(made)["ScatterND"] <= 4, "one for each array of what is read of it"
