"""Sizes that are numbers of the run: an argument, or counted and computed from what the run gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.numpy.agreement import gapped

X = gapped(6)
Function = Callable[[Any, Any], Any]


def written(x: Any, n: Any) -> Any:
    y = np.zeros(len(x) + n)
    y[n:] = x
    padded = np.empty(n + 1)
    padded[0], padded[1:] = x[0], x[:n]
    return np.sum(y * np.arange(len(x) + n)) + np.sum(padded**2 * np.ones(n + 1))


def matrix(x: Any, n: Any) -> Any:
    a = 2 * np.eye(n) + np.tri(n) * x[0]
    places = np.arange(n)
    a[places, places] += np.linspace(0, x[1], n)
    return np.sum(np.linalg.solve(a, np.full((n, 2), x[2])))


def of_a_mask(x: Any, n: Any) -> Any:
    chosen = x[x > n - 1]
    count = int((x > n - 1).sum())
    return np.sum(chosen * np.linspace(0, 1, count)) + np.count_nonzero(x > n - 1) * np.zeros(count + 1)[0]


def in_a_branch(x: Any, n: Any) -> Any:
    if n > 1:
        return np.sum(np.hanning(n) * x[0])
    return x[1] * abs(n - 2)


def in_a_loop(x: Any, n: Any) -> Any:
    return ps.fori_loop(0, n, lambda i, total: total + np.sum(np.ones(i + 1) * x[i] ** 2), 0.0)


FUNCTIONS: dict[str, Function] = {
    "written to": written,
    "matrix": matrix,
    "counted": of_a_mask,
    "branch": in_a_branch,
    "loop": in_a_loop,
    "cut": lambda x, n: np.sum(x[: int(0.5 * n)] ** 2) + np.sum(x[-int(n / 2) - 1 :]),
    "cut a number": lambda x, n: np.sum(np.full(int(abs(x[0] * n) + 0.5), x[1])),
    "grid": lambda x, n: sum(
        np.sum(a * x[0]) for a in np.meshgrid(np.linspace(-1, 1, n), np.geomspace(1, x[1] ** 2, n))
    ),
    "copies": lambda x, n: np.sum(np.tile(x, (n, 2)) * np.repeat(x[:, None], n, axis=1).T.sum()),
    "broadcast": lambda x, n: np.sum(np.broadcast_to(x[0], (n, 2)) ** 2) + np.sum(np.pad(x, (n, 2), mode="edge") ** 2),
    "pad": lambda x, n: np.sum(np.pad(x, n) * np.arange(6 + 2 * n)),
    "triangle": lambda x, n: np.sum(x[0] * np.outer(np.arange(n), x)[np.triu_indices(n)]),
    "range": lambda x, n: np.sum(np.take(x, range(n)) ** 2),
    "narrow integer": lambda x, n: np.sum(np.ones(np.int32(n)) * x[0]) + np.sum(np.zeros(np.uint8(n) + 1) + x[1]),
    "vector": lambda x, n: np.sum(np.zeros(np.array([n, 2])) + x[0]) + np.sum(np.zeros_like(x, shape=(n,)) + x[1]),
    "reshape": lambda x, n: np.sum((np.arange(2 * n) * x[0]).reshape(n, 2)[:, 1]),
    "frequencies": lambda x, n: np.sum(np.fft.fftfreq(n + 1, 0.1)[1:] * x[0] ** 2),
    "transform": lambda x, n: np.sum(np.abs(np.fft.rfft(x, n + 1)) ** 2),
    "bins": lambda x, n: np.sum(np.bincount(np.array([0, 1, 1, 2, 0, 1]), weights=x, minlength=n) ** 2),
    "split": lambda x, n: np.sum(np.split(x, [n])[0] ** 2),
    "delete": lambda x, n: np.sum(np.delete(x, n) * np.arange(5)) + np.sum(np.delete(x, -n - 1) * np.arange(5)),
    "insert": lambda x, n: np.sum(np.insert(x, -n, x[:2] ** 2) * np.arange(8)) + np.insert(x, n, x[3] ** 2)[n],
    "mean": lambda x, n: n * np.mean(x[0] * np.ones(n + 1)) + np.var(x[1] * np.arange(n + 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_of_the_run_may_be_a_size(name: str) -> None:
    function = FUNCTIONS[name]
    made = ps.split(lambda x, n: function(x, n), ps.spec("float64", ["N"]), ps.spec("int64", []), wrt="x").joint()
    for n in (3, 1, 0):
        value, gradient = made(X, np.int64(n))
        np.testing.assert_allclose(value, function(X, n), rtol=1e-12, atol=1e-12)
        steps = 1e-5 * np.eye(len(X))
        slopes = [(function(X + step, n) - function(X - step, n)) / 2e-5 for step in steps]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: np.sum(np.zeros(n) + x[0]),
        lambda x, n: np.sum(np.arange(n) * np.ones(n) * x[0]),
        lambda x, n: np.sum(np.tile(x, n)),
        lambda x, n: np.sum(np.delete(x, 7 * n)),
        lambda x, n: np.sum(np.insert(x, 7 * n, x)),
        lambda x, n: np.sum(x.reshape(n + 5)),
        lambda x, n: np.sum(x.reshape(2, n + 3)),
    ],
)
def test_a_run_fails_where_the_number_is_no_size_that_numpy_takes(function: Function) -> None:
    made = ps.trace(lambda x, n: function(x, n), ps.spec("float64", ["N"]), ps.spec("int64", []))
    with pytest.raises((ValueError, IndexError)):
        function(X, -1)
    with pytest.raises(ps.PrimsplitError):
        made(X, np.int64(-1))


def test_a_negative_number_takes_the_way_of_the_functions_own_except() -> None:
    def made(x: Any) -> Any:
        try:
            return np.zeros(int(x[0])).sum() + x[0] ** 2
        except ValueError:
            return 3 * x[0]

    program = ps.trace(made, ps.spec("float64", [1]))
    gradient = ps.grad(made)
    for value, slope in [(-2.0, 3.0), (2.0, 4.0)]:
        x = np.array([value])
        assert program(x) == made(x)
        np.testing.assert_allclose(gradient(x), [slope])


def test_reshape_to_minus_one_that_the_run_computes_is_no_error_of_numpys() -> None:
    def made(x: Any) -> Any:
        try:
            return np.sum(x.reshape(int(x[0]), 2))
        except ValueError:
            return 3 * x[0]

    program = ps.trace(made, ps.spec("float64", [2]))
    assert program(np.array([1.0, 2.0])) == 3
    with pytest.raises(RunError, match=r"-1 is known as a literal only(?s:.*)test_asked_sizes\.py:\d+ in made"):
        program(np.array([-1.0, 2.0]))


def test_a_loop_over_the_range_of_such_a_number_is_told_of_loops() -> None:
    def total(x: Any, n: Any) -> Any:
        return sum(x[i] for i in range(n))

    with pytest.raises(ps.PrimsplitError, match=r"(?s)asks for a size, which.*ps\.fori_loop.*branches='guard'"):
        ps.trace(total, X, ps.spec("int64", []))


NEGATIVE = {
    "zeros": lambda n, x: np.zeros((2, n)),
    "ones": lambda n, x: np.ones(n) * x[0],
    "full": lambda n, x: np.full(n, x[0]),
    "empty": lambda n, x: np.empty((n, 2)),
    "zeros_like": lambda n, x: np.zeros_like(x, shape=n),
    "eye": lambda n, x: np.eye(n),
    "eye of columns": lambda n, x: np.eye(3, n),
    "linspace": lambda n, x: np.linspace(x[0], 1, n),
    "tile": lambda n, x: np.tile(x, (2, n)),
    "repeat": lambda n, x: np.repeat(x, n),
    "broadcast_to": lambda n, x: np.broadcast_to(x[0], (n,)),
    "resize": lambda n, x: np.resize(x, (n, 2)),
    "pad": lambda n, x: np.pad(x, n),
    "fft": lambda n, x: np.fft.fft(x, n).real,
    "fftfreq": lambda n, x: np.fft.fftfreq(n),
    "length": lambda n, x: len(np.ones(n)),
    "loop": lambda n, x: sum(np.sum(np.ones(n) * x[0] * k) for k in range(3)),
    "branch": lambda n, x: np.sum(np.ones(n)) if x[0] > 0 else x[1],
    "read before": lambda n, x: np.sum(x) * n + np.sum(np.zeros(n)),
}
SIZES: list[tuple[Callable[[Any], Any], tuple[int, ...]]] = [
    (lambda x: x.shape[0] - 3, (1, 2)),
    (lambda x: x.shape[0] // 2 - 2, (1, 3)),
    (lambda x: 3 - len(x), (4, 5)),
    (lambda x: min(x.shape[0] - 3, 4), (2,)),
]


@pytest.mark.parametrize("name", NEGATIVE)
def test_a_negative_size_is_numpys_error(name: str) -> None:
    for size, counts in SIZES:

        def function(x: Any, size: Any = size) -> Any:
            return NEGATIVE[name](size(x), x)

        program = ps.trace(function, ps.spec("float64", ["N"]))
        for count in counts:
            with pytest.raises(ValueError, match=r"negative|[Ii]nvalid number") as numpys:
                function(np.arange(1.0, count + 1))
            with pytest.raises(RunError, match=r"negative|[Ii]nvalid number") as found:
                program(np.arange(1.0, count + 1))
            assert isinstance(found.value, type(numpys.value))


@pytest.mark.parametrize(
    "made", [np.hanning, np.kaiser, np.tri, np.fft.rfftfreq, lambda n: np.diag_indices(n)[0], np.arange]
)
def test_a_negative_size_is_none_where_numpy_takes_it_so(made: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        return made(x.shape[0] - 3, 2.0) if made is np.kaiser else made(x.shape[0] - 3)

    program = ps.trace(function, ps.spec("float64", ["N"]))
    for count in (1, 2, 5):
        np.testing.assert_allclose(program(np.ones(count)), function(np.ones(count)), rtol=1e-12)


def test_a_size_that_may_be_negative_has_its_gradients_and_the_functions_own_except() -> None:
    def products(x: Any) -> Any:
        try:
            y = np.zeros(x.shape[0] - 3)
        except ValueError:
            return 3 * np.sum(x)
        y[:] = x[3:] * x[:-3]
        return np.sum(y**2)

    x = gapped(5)
    np.testing.assert_allclose(ps.grad(products)(x[:2]), [3, 3])
    slopes = [(products(x + s) - products(x - s)) / 2e-6 for s in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(ps.grad(products)(x), slopes, rtol=1e-6, atol=1e-8)
