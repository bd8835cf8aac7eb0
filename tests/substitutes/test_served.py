"""What plain NumPy, `math` and SciPy do not hand over is served all the same: lists, buffers, tables and sizes."""

import functools
import math
import numbers
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
    return np.asfortranarray(np.outer(x, x)) @ np.require([x[0], 1.0, x[1]], np.float64, "C")


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
    fraction, whole = math.modf(-3 * x[0])
    wrapped = math.remainder(7 * x[0], 2 * x[1]) + math.remainder(x[0], math.pi)
    near = math.isclose(x[0], 0.69) + 2 * math.isclose(x[0], x[1]) + 4 * math.isclose(x[0], 0.6, abs_tol=0.2)
    return (
        x * math.floor(x[1])
        + math.ceil(x[0]) * x[0]
        + math.copysign(x[0], -1.0)
        + math.trunc(x[1]) * math.ldexp(x[0], 3)
    ) * (fraction + whole * x[0] + wrapped + near + math.dist(x, [0.0, 1.0, x[0]]))


@pytest.mark.parametrize("y", [2.0, -2.0, 0.75])
def test_the_remainder_goes_to_the_nearest_multiple_and_to_the_even_one(y: float) -> None:
    for x in (0.0, 0.9, 1.0, 1.1, 2.5, 3.0, 3.5, 5.0, -1.0, -3.0, -4.9, 1e9):
        assert ps.trace(lambda x: math.remainder(x, y), x)(x) == math.remainder(x, y)


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


def rounded(x: Any) -> Any:
    return x * (round(x[1]) + round(x[0], 1)) + round(2.6)


def elements_as_python_numbers(x: Any) -> Any:
    first, second, third = x.tolist()
    return x.astype(np.float32) * x[:1].item() + first * second + third * x.reshape(3, 1).item(2, 0) + x.item(1)


@np.vectorize
def soft_threshold(v: Any) -> Any:
    if v > 0.5:
        return v - 0.5
    if v < -0.5:
        return v + 0.5
    return 0.0 * v


def shifted(v: float, by: float, times: float = 1.0) -> tuple[float, float]:
    return v * by * times, v + by


def vectorized_functions(x: Any) -> Any:
    product, total = np.vectorize(shifted)(x[:, None], x)
    once = np.vectorize(shifted, excluded=["times"], otypes=[float, float])(x, 2.0, times=x[0])[0]
    return soft_threshold(x) * product.sum(axis=0) + total[0] + once + soft_threshold(x[1])


def indexed_by_range(x: Any) -> Any:
    table = np.outer(x, x)
    return table[range(len(x)), [2, 0, 1]] * x[range(3)]


PRIOR = scipy.stats.norm(0.5, 2.0)


def frozen_distributions(x: Any) -> Any:
    made = scipy.stats.norm(x[0], np.exp(x[1]))
    known = scipy.stats.norm(1, scale=2.0)
    return x * (made.logpdf(x).sum() + made.cdf(0.3)) + known.pdf(x) + known.ppf(0.9) + PRIOR.mean()


SERVED: list[Callable[[Any], Any]] = [
    rotation, filled_by_elements, filled_by_rows, written_identity, added_at_traced_places, written_copy,
    written_where_a_mask_says, copies_in_an_order, indexed_table, lists_of_numbers,
    joined_in_brackets, numbers_of_math, parts_of_numbers, special_functions, normal_distribution, linear_algebra,
    imported_inside, names_of_functions, statistics_of_elements, lists_beside_arrays, rounded, vectorized_functions,
    indexed_by_range, frozen_distributions,
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
    assert ps.trace(lambda x: x * math.dist(x, [1, 2, 3]) + math.modf(x[0])[1], x)(x).dtype == np.float32
    assert ps.trace(lambda x: x * np.sum([x[0], x[1]]), x)(x).dtype == np.float32


def test_the_numbers_that_a_table_had_are_those_of_the_moment_of_recording() -> None:
    table: npt.NDArray[Any] = np.array([1.0, 2.0, 3.0])
    gradient = ps.grad(lambda x: np.sum(table[np.argsort(x)] * x))
    np.testing.assert_array_equal(gradient(X), table[np.argsort(X)])
    table[:] = 5.0
    np.testing.assert_array_equal(gradient(X), [5.0, 5.0, 5.0])


def test_an_element_is_a_python_number_in_any_dtype_of_the_array() -> None:
    x = X.astype(np.float32)
    found = ps.trace(elements_as_python_numbers, x)(x)
    assert found.dtype == elements_as_python_numbers(x).dtype == np.float32
    np.testing.assert_allclose(found, elements_as_python_numbers(x), rtol=1e-6)
    check_grads(lambda x: x.sum().item() * x[1].item(), X)
    check_grads(lambda x: sum(v * v for v in (x * x).tolist()), X, symbolic=False)
    with pytest.raises(ps.PrimsplitError, match="array of size 1"):
        ps.trace(lambda x: x.item(), X)


def test_a_vectorized_function_is_recorded_once_for_any_number_of_elements() -> None:
    made = ps.split(lambda x: np.sum(soft_threshold(x) ** 2), ps.spec("float64", ["M", "N"])).joint()
    for shape in ((2, 3), (1, 5), (0, 2)):
        x = np.linspace(-2.0, 2.0, shape[0] * shape[1]).reshape(shape)
        wanted = np.sign(x) * np.maximum(np.abs(x) - 0.5, 0.0)
        value, gradient = made(x)
        np.testing.assert_allclose(value, np.sum(wanted**2))
        np.testing.assert_allclose(gradient, 2 * wanted)
    np.testing.assert_array_equal(soft_threshold(np.array([1.0, 0.0])), [0.5, 0.0])


SIGNATURES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a sum of each row": (np.vectorize(lambda v: v @ v, signature="(n)->()"), (MATRIX,)),
    "each row scaled": (np.vectorize(lambda v, s: v / (s + v.sum()), signature="(n),()->(n)"), (MATRIX, X)),
    "a matrix and all rows": (np.vectorize(lambda a, v: a @ v, signature="(m, n),(n)->(m)"), (MATRIX[:2], MATRIX)),
    "two results": (
        np.vectorize(lambda v: (v[0] * v, v.sum()), signature="(n)->(n),()"),
        (MATRIX * TABLE[:, None, None],),
    ),
    "no axes before those": (np.vectorize(lambda v: v[::-1] * v, signature="(n)->(n)"), (X,)),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_vectorized_function_with_a_signature_takes_the_axes_that_it_names(name: str) -> None:
    vectorized, given = SIGNATURES[name]
    check_grads(lambda *args: vectorized(*args), *given, order=2, symbolic=False)
    found, wanted = ps.trace(lambda *args: vectorized(*args), *given)(*given), vectorized(*given)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_axes_of_a_signature_that_differ_are_told_at_the_users_line() -> None:
    product = np.vectorize(lambda v, w: v @ w, signature="(n),(n)->()")
    with pytest.raises(ps.errors.ShapeError, match=r"n of .* is 3 and 4") as caught:
        ps.trace(lambda x: product(x, TABLE), X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def extremes_of_many(x: Any) -> Any:
    ordered = sorted(x, reverse=True)
    return max(x) * min(v * v for v in x) + ordered[1] ** 2 + sorted(x)[2] + max(0, x[0]) + min(x[1], 0.5)


def warped_distance(x: Any) -> Any:
    """Dynamic time warping: a minimum of three for each pair."""
    n, m = 5, 4
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = abs(x[i] - x[5 + j]) + min(total[i, j + 1], total[i + 1, j], total[i, j])
    return total[-1, -1]


@pytest.mark.parametrize("function", [extremes_of_many, warped_distance], ids=lambda f: f.__name__)
def test_extremes_of_python_choose_without_a_branch_where_there_would_be_too_many(function: Any) -> None:
    x = np.random.default_rng(0).normal(size=10)
    check_grads(function, x, symbolic=False)
    single = ps.trace(function, x.astype(np.float32))
    assert single(x.astype(np.float32)).dtype == function(x.astype(np.float32)).dtype
    assert not any(op.kind == "If" for op in single.block.ops)


def test_the_first_of_equal_extremes_is_chosen() -> None:
    x = np.array([2.0] * 8)
    np.testing.assert_array_equal(ps.grad(lambda x: max(x))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: min(x))(x), np.eye(8)[0])


def test_extremes_of_sizes_are_sizes() -> None:
    def f(x: Any) -> Any:
        return np.zeros(2).sum() + np.sum(x[: min(len(x), 3)]) * max(len(x), 2)

    made = ps.trace(f, ps.spec("float64", ["N"]))
    for n in (0, 1, 2, 5):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(made(x), f(x))


def test_a_function_of_scipy_that_is_not_served_is_named() -> None:
    with pytest.raises(ps.PrimsplitError) as caught:
        ps.trace(lambda x: scipy.stats.skellam.logpmf(3, x[1], 1.0), X)
    assert "rv_discrete.logpmf asked for it" in str(caught.value)
    assert "ps.primitive" in str(caught.value)
    with pytest.raises(ps.PrimsplitError, match=r"entropy of scipy.stats.norm"):
        ps.trace(lambda x: scipy.stats.norm(x[0], 1).entropy(), X)


def test_a_class_is_asked_for_as_numpy_would_answer() -> None:
    asked: list[Any] = []

    def f(x: Any, s: Any, n: Any) -> Any:
        assert isinstance(x, np.ndarray)
        assert not isinstance(x, float | list)
        assert isinstance(x, ps.Array)
        asked.extend([isinstance(x[0], float), isinstance(x[0], numbers.Real), isinstance(x[0], np.ndarray)])
        assert np.isscalar(x[0])
        assert not np.isscalar(x)
        asked.extend([isinstance(s, float), isinstance(n, int), isinstance(x[0] * s > 1, np.bool_), told(x), told(s)])
        return x * s

    @functools.singledispatch
    def told(value: Any) -> str:
        return "something"

    told.register(np.ndarray, lambda value: "array")
    told.register(float, lambda value: "float")
    assert ps.trace(f, X, 2.0, 3)(X, 2.0, 3) is not None
    assert asked == [True, True, False, True, True, True, "array", "float"]
    single: list[bool] = []
    ps.trace(lambda x: single.append(isinstance(x[0], float)) or x, X.astype(np.float32))
    assert single == [False]


def pairs_of_points(points: Any) -> Any:
    """The sum over pairs of points, however many there are."""
    i, j = np.triu_indices(len(points), k=1)
    apart = np.sqrt(((points[i] - points[j]) ** 2).sum(axis=-1))
    between = points @ points.T
    between[np.diag_indices_from(between)] = 2.0
    between[np.diag_indices(len(points))] += 1.0
    below = between[np.tril_indices_from(between, -1)]
    return np.sum(1.0 / apart) + np.sum(between) + np.sum(below**2) + between[np.triu_indices_from(between)].sum()


def test_indices_of_triangles_and_diagonals_are_made_for_any_size() -> None:
    made = ps.split(pairs_of_points, ps.spec("float64", ["N", 3])).joint()
    for n in (0, 1, 2, 5):
        points = np.random.default_rng(n).normal(size=(n, 3))
        value, gradient = made(points)
        np.testing.assert_allclose(value, pairs_of_points(points), rtol=1e-12)
        assert gradient.shape == points.shape
    check_grads(pairs_of_points, np.random.default_rng(1).normal(size=(4, 3)), symbolic=False)
    with pytest.raises(ps.PrimsplitError, match="of equal length"):
        ps.trace(lambda x: x[np.diag_indices_from(x)], np.ones((2, 3)))


def test_python_numbers_in_brackets_give_way_to_the_arrays_dtype() -> None:
    def f(x: Any) -> Any:
        return np.r_[-np.inf, x, 1, x[0]]

    for dtype in (np.float32, np.float64):
        x = X.astype(dtype)
        found = ps.trace(f, x)(x)
        assert found.dtype == f(x).dtype == dtype
        np.testing.assert_array_equal(found, f(x))
