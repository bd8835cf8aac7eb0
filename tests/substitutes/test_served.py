"""What plain NumPy, `math` and SciPy do not hand over is served all the same: lists, buffers, tables and sizes."""

import functools
import math
from collections.abc import Callable
from math import exp
from typing import Any

import numpy
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from numpy import array, zeros
from scipy.special import logsumexp

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
TABLE = np.array([0.5, -1.0, 2.0, 0.25])
MATRIX = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.5, 0.1, 1.1]])


def rotation(x: Any) -> Any:
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0, 0, 1]]) @ x


def filled_by_elements(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] ** (i + 1)
    out += x
    return out * out


def filled_by_rows(x: Any) -> Any:
    out = np.empty((3, 3), dtype=np.float32)
    for i, row in enumerate(out):
        out[i] = i * x
        row[0] = x[0]
    out[:, 1] *= x.astype(np.float32)
    return out.sum(axis=0)


def written_identity(x: Any) -> Any:
    a = np.eye(3)
    a[0, 1] = x[0]
    a[np.array([1, 2]), np.array([2, 0])] = x[1:]
    np.fill_diagonal(a, x)
    np.add.at(a, ([0, 0], [1, 1]), x[2])
    return a @ x


def written_copy(x: Any) -> Any:
    out, other = TABLE.copy(), np.zeros_like(TABLE)
    out[1:] *= x
    np.copyto(other[1:], x)
    return out * other


def indexed_table(x: Any) -> Any:
    i = np.argsort(x)
    return TABLE[i] * x + MATRIX[i, 0] + np.take(TABLE, i) * MATRIX[i][:, i].sum(axis=0)


def lists_of_numbers(x: Any) -> Any:
    parts = [v * v for v in x]
    total = np.sum(parts) + np.mean(parts) + np.max(parts) + np.dot(parts, [1.0, 2.0, 3.0]) + np.linalg.norm(parts)
    return total * np.sqrt(parts) + np.cumsum([x[0], x[1], 1.0]) + np.outer(parts, x)[0] + np.maximum(parts, 0.2)


def joined_in_brackets(x: Any) -> Any:
    return np.r_[x, 1.0, 0:3, x[0]].sum() * np.c_[x, np.ones(3), x * x]


def numbers_of_math(x: Any) -> Any:
    a, b = x[0], x[1]
    s = math.sin(a) * exp(b) + math.sqrt(b) + math.log(b, 3) + math.atan2(a, b) + math.hypot(a, b) + math.pow(b, a)
    return x * (s + math.fsum([a, b, 1]) + math.prod([a, b]) + math.lgamma(b) + math.erf(a) + math.pi + math.tanh(2))


def parts_of_numbers(x: Any) -> Any:
    return x * math.floor(x[1]) + math.ceil(x[0]) * x[0] + math.copysign(x[0], -1.0)


def special_functions(x: Any) -> Any:
    p = scipy.special.softmax(x)
    return logsumexp(x) * p + scipy.special.log_softmax(x) - scipy.special.xlogy(p, p)


def normal_distribution(x: Any) -> Any:
    norm = scipy.stats.norm
    return norm.logpdf(x, x[0], math.exp(x[2])) + norm.cdf(x) + scipy.stats.norm.logcdf(x, scale=2.0) * norm.pdf(x, 0.5)


def linear_algebra(x: Any) -> Any:
    a = MATRIX @ MATRIX.T + np.diag(x * x)
    factor = scipy.linalg.cho_factor(a)
    root = scipy.linalg.cholesky(a, lower=True)
    solved = scipy.linalg.solve(a, x) + scipy.linalg.cho_solve(factor, x)
    return solved + scipy.linalg.solve_triangular(root, x, lower=True) + scipy.linalg.inv(a)[0] * scipy.linalg.det(a)


def imported_inside(x: Any) -> Any:
    import math as mathematics

    import numpy as arrays
    from numpy import arange

    return arrays.array([x[0], mathematics.sin(x[1]), 1.0]) * arange(3)


def names_of_functions(x: Any) -> Any:
    return array([x[0], x[1], x[2]]) + zeros(3)


def statistics_of_elements(x: Any) -> Any:
    out = numpy.full(3, x[0])
    for (i,), v in np.ndenumerate(x):
        out[i] += v * i
    return out + np.fromiter((v * 2.0 for v in x), dtype=float)


SERVED: list[Callable[[Any], Any]] = [
    rotation, filled_by_elements, filled_by_rows, written_identity, written_copy, indexed_table, lists_of_numbers,
    joined_in_brackets, numbers_of_math, parts_of_numbers, special_functions, normal_distribution, linear_algebra,
    imported_inside, names_of_functions, statistics_of_elements,
]  # fmt: skip


@pytest.mark.parametrize("function", SERVED, ids=lambda f: f.__name__)
def test_plain_code_is_recorded_as_it_stands(function: Callable[[Any], Any]) -> None:
    tolerance = {filled_by_rows: 1e-6}.get(function, 1e-12)
    point = np.array([0.7, 1.9, 0.4]) if function is numbers_of_math else X
    if function is filled_by_rows:
        found = ps.trace(function, point)(point)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, function(point), rtol=tolerance)
        return
    check_grads(function, point, symbolic=False, value_tolerance=tolerance)


def made_by_size(x: Any) -> Any:
    n = x.shape[0]
    y = np.zeros(n) + np.arange(n) + np.linspace(0.0, 1.0, n) + np.eye(n).sum(axis=0) + np.full((2, n), 3.0)[1]
    y[0] = x[0]
    return y * x / len(x) + np.tri(n) @ x


def weighted_by_rank(x: Any) -> Any:
    return np.arange(len(x)) * np.sort(x) + np.repeat(TABLE[:1], len(x))


@pytest.mark.parametrize("function", [made_by_size, weighted_by_rank])
def test_arrays_of_a_size_that_only_the_run_knows_are_made(function: Callable[[Any], Any]) -> None:
    check_grads(function, X, resize=(1, 2, 5))


def counts_and_orders(x: Any) -> Any:
    order, count, steps = np.array([2, 0, 1]), np.zeros(3, int), []
    for k in order:
        if k > 0:
            steps.append(x[k] * k)
        count[k] += 1
    weights = np.array([1.0, 2.0]) * 2
    if weights[0] > 1 and np.sum(count) == 3:
        steps = [s * weights[1] for s in steps]
    for i in range(count[1]):
        steps.append(x[i])
    return np.array(steps)


def test_numbers_that_are_known_stay_python_numbers_and_branches_of_them_are_none() -> None:
    check_grads(counts_and_orders, X, symbolic=False)
    assert "If" not in [op.kind for op in ps.trace(counts_and_orders, X).block.ops]


def test_a_function_that_is_recorded_as_it_is_runs_once_and_another_twice() -> None:
    runs = []

    def plain(x: Any) -> Any:
        runs.append("plain")
        return np.sum(x)

    def listed(x: Any) -> Any:
        runs.append("listed")
        return np.sum([x[0], x[1]])

    ps.trace(plain, X)
    ps.trace(listed, X)
    assert runs == ["plain", "listed", "listed"]


def in_a_loop(x: Any) -> Any:
    def step(carry: Any, now: Any) -> Any:
        return np.array([carry[0] + now, carry[1] * 0.5]), math.sin(now)

    carry, collected = ps.scan(step, np.zeros(2), x)
    return np.sum(carry) + np.sum(collected)


def in_a_gradient(x: Any) -> Any:
    return np.sum(ps.grad(lambda y: np.prod([y[0], y[1], 2.0]))(x))


def in_branches(x: Any) -> Any:
    if x[0] > 0:
        return np.linalg.norm([x[0], x[1]])
    return math.exp(x[2])


@ps.primitive
def area(x: Any) -> Any:
    return np.prod([x[0], x[1]])


@pytest.mark.parametrize("function", [in_a_loop, in_a_gradient, in_branches, lambda x: area(x) * x[2]])
def test_inner_functions_are_served_too(function: Callable[[Any], Any]) -> None:
    gradient = ps.grad(function)
    for point in (X, -X):
        steps = [(function(point + h) - function(point - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient(point), steps, rtol=1e-6, atol=1e-8)


class Model:
    def __init__(self) -> None:
        self.table = TABLE * 2

    def __call__(self, x: Any) -> Any:
        return np.sum(np.array([x[0], x[1]]) * self.table[:2])


def doubled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def twice(x: Any) -> Any:
        return 2.0 * np.sum([function(x), 1.0])

    return twice


@pytest.mark.parametrize(
    "function",
    [
        Model(),
        Model().__call__,
        doubled(lambda x: np.prod([x[0], x[2]])),
        functools.partial(lambda scale, x: scale * np.max([x[0], x[1]]), 3.0),
    ],
)
def test_objects_methods_decorators_and_partials_are_served(function: Callable[[Any], Any]) -> None:
    check_grads(function, X, symbolic=False)


def test_a_python_number_stays_one() -> None:
    x = np.ones(3, np.float32)
    assert ps.trace(lambda x: x * math.sin(x[0]), x)(x).dtype == np.float32
    assert ps.trace(lambda x: x * np.sum([x[0], x[1]]), x)(x).dtype == np.float32


def test_the_numbers_that_a_table_had_are_those_of_the_moment_of_recording() -> None:
    table: npt.NDArray[Any] = np.array([1.0, 2.0, 3.0])
    gradient = ps.grad(lambda x: np.sum(table[np.argsort(x)] * x))
    np.testing.assert_array_equal(gradient(X), table[np.argsort(X)])
    table[:] = 5.0
    np.testing.assert_array_equal(gradient(X), [5.0, 5.0, 5.0])
