"""Calls that plain NumPy, `math` and SciPy do not dispatch are served too: lists, buffers, tables and sizes."""

import dataclasses
import math
import statistics
from collections.abc import Callable
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


def added_at_traced_places(x: Any) -> Any:
    rank = np.argsort(x)
    out = np.zeros((3, 3))
    np.add.at(out, (rank, rank % 2), x)
    np.add.at(out, (0, [rank[0], 1]), [x[0], x[1] * x[2]])
    return out @ x


def written_copy(x: Any) -> Any:
    out, other = TABLE.copy(), np.zeros_like(TABLE)
    out[1:] *= x
    np.copyto(other[1:], x)
    return out * other


def written_where_a_mask_says(x: Any) -> Any:
    placed, put, copied, at, corner = np.ones(3), np.ones(3), TABLE[:3].copy(), np.zeros(3), np.zeros((3, 3))
    np.place(placed, x > 0, [x[0], 7.0])
    np.putmask(put, x < 1, x * 2)
    np.copyto(copied, x, where=x > 0)
    np.put(at, [2, 0], x[:2])
    np.fill_diagonal(corner, x)
    return placed * put + copied * at + corner @ x


def copies_in_an_order(x: Any) -> Any:
    checked = np.asarray_chkfinite(x) * np.asarray_chkfinite([x[0], 2.0, x[1]])
    return np.asfortranarray(np.outer(x, x)) @ np.require([x[0], 1.0, x[1]], np.float64, "C") * checked


def indexed_table(x: Any) -> Any:
    i = np.argsort(x)
    return TABLE[i] * x + MATRIX[i, 0] + np.take(TABLE, i) * MATRIX[i][:, i].sum(axis=0)


def lists_of_numbers(x: Any) -> Any:
    parts = [v * v for v in x]
    total = np.sum(parts) + np.mean(parts) + np.max(parts) + np.dot(parts, [1.0, 2.0, 3.0]) + np.linalg.norm(parts)
    return total * np.sqrt(parts) + np.cumsum([x[0], x[1], 1.0]) + np.outer(parts, x)[0] + np.maximum(parts, 0.2)


def joined_in_brackets(x: Any) -> Any:
    return np.r_[x, 1.0, 0:3, x[0]].sum() * np.c_[x, np.ones(3), x * x]


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


def lists_beside_arrays(x: Any) -> Any:
    """Lists with traced numbers in them where NumPy dispatches on something else, or on nothing."""
    knots = np.concatenate([[x[0]], x[0] + np.cumsum(np.exp(x[1:])), [9.0]])
    table = np.stack([[x[0], x[1], 1.0], [2, 3, x[2]]])
    table = table + np.vstack(([x[0], 1, 2], x)) * np.column_stack([[1, x[1]]] * 3)
    turned = x @ [x[0], 1.0, x[2]] + [x[1], 2, 3] * x + np.tile([x[0], 1, 2], 1) + np.diag([x[0], x[1], 1.0]) @ x
    return np.sum(knots * knots) * turned + table[1] + np.power(x * x, range(3)) + np.add.reduce([x, [x[0], 1.0, 2.0]])


def indexed_by_range(x: Any) -> Any:
    table = np.outer(x, x)
    return table[range(len(x)), [2, 0, 1]] * x[range(3)]


PRIOR = scipy.stats.norm(0.5, 2.0)


def frozen_distributions(x: Any) -> Any:
    made = scipy.stats.norm(x[0], np.exp(x[1]))
    known = scipy.stats.norm(1, scale=2.0)
    return x * (made.logpdf(x).sum() + made.cdf(0.3)) + known.pdf(x) + known.ppf(0.9) + PRIOR.mean()


class Priors:
    """Functions and distributions that a class, an object and their lists hold."""

    rate = scipy.stats.expon

    def __init__(self) -> None:
        self.location = scipy.stats.norm
        self.links: dict[str, Any] = {"log": math.exp, "tables": [TABLE]}


PRIORS = Priors()


def held_by_an_object(x: Any) -> Any:
    known = PRIORS.location.logpdf(x, x[0]) + PRIORS.rate.logpdf(x * x) + PRIORS.links["log"](x[1])
    return known * PRIORS.links["tables"][0][np.argsort(x)]


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """An object without a dictionary."""

    table: Any


SLOTTED = Slotted(TABLE)


def held_in_slots(x: Any) -> Any:
    return SLOTTED.table[np.argsort(x)] * x


SERVED: list[Callable[[Any], Any]] = [
    rotation, filled_by_elements, filled_by_rows, written_identity, added_at_traced_places, written_copy,
    written_where_a_mask_says, copies_in_an_order, indexed_table, lists_of_numbers, joined_in_brackets,
    special_functions, normal_distribution, linear_algebra, imported_inside, names_of_functions,
    statistics_of_elements, lists_beside_arrays, indexed_by_range, frozen_distributions,
    held_by_an_object, held_in_slots,
]  # fmt: skip


@pytest.mark.parametrize("function", SERVED, ids=lambda f: f.__name__)
def test_plain_code_is_recorded_as_it_stands(function: Callable[[Any], Any]) -> None:
    if function is filled_by_rows:
        found = ps.trace(function, X)(X)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, function(X), rtol=1e-6)
    else:
        check_grads(function, X, symbolic=False, order=1, value_tolerance=1e-12)


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
    check_grads(counts_and_orders, X, symbolic=False, order=1)
    assert "If" not in [op.kind for op in ps.trace(counts_and_orders, X).block.ops]


def test_a_function_runs_once_also_where_it_needs_substitutes() -> None:
    runs = []

    def plain(x: Any) -> Any:
        runs.append("plain")
        return np.sum(x)

    def listed(x: Any) -> Any:
        runs.append("listed")
        return np.sum([x[0], x[1]])

    ps.trace(plain, X)
    ps.trace(listed, X)
    assert runs == ["plain", "listed"]


def test_the_numbers_that_a_table_had_are_those_of_the_moment_of_recording() -> None:
    table: npt.NDArray[Any] = np.array([1.0, 2.0, 3.0])
    gradient = ps.grad(lambda x: np.sum(table[np.argsort(x)] * x))
    np.testing.assert_array_equal(gradient(X), table[np.argsort(X)])
    table[:] = 5.0
    np.testing.assert_array_equal(gradient(X), [5.0, 5.0, 5.0])


def test_what_a_library_converts_is_not_told_as_the_users_own_float() -> None:
    with pytest.raises(ps.PrimsplitError) as caught:
        ps.trace(lambda x: statistics.fmean(x), X)
    assert "statistics.fmean asked for it" in str(caught.value)
    assert "x.astype(float)" not in str(caught.value)
