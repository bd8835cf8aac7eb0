"""Functions applied along axes, places, spaces in equal ratios, histograms of several axes: NumPy's values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_agrees, check_grads, gapped
from tests.versions import is_since

M, T = gapped(3, 4), gapped(2, 3, 4)

APPLIED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a number for each": (lambda x: np.apply_along_axis(lambda v: v[0] * v[-1], 0, x), M),
    "a vector for each": (lambda x: np.apply_along_axis(lambda v: v[:2] * np.sum(v), 1, x), T),
    "a matrix for each": (lambda x: np.apply_along_axis(np.diag, -1, x), T),
    "arguments": (lambda x: np.apply_along_axis(np.quantile, 1, x, 0.3), M),
    "along the only axis": (lambda x: np.apply_along_axis(np.cumsum, 0, x), M[0]),
}


@pytest.mark.parametrize("name", APPLIED)
def test_a_function_applied_along_an_axis_has_numpys_value_and_gradients(name: str) -> None:
    function, x = APPLIED[name]
    check_grads(function, x)


def test_a_function_is_applied_to_no_fewer_than_one_vector() -> None:
    def function(x: Any) -> Any:
        return np.apply_along_axis(np.sum, 1, x)

    program = ps.trace(function, ps.spec("float64", ["N", 3]))
    np.testing.assert_allclose(program(M[:, :3]), M[:, :3].sum(1))
    with pytest.raises(RunError):
        program(np.ones((0, 3)))
    with pytest.raises(ShapeError, match="are 0"):
        ps.trace(function, np.ones((0, 3)))


def test_a_function_applied_over_axes_has_numpys_value_and_gradients() -> None:
    check_grads(lambda x: np.apply_over_axes(np.sum, x, [0, -1]) ** 2, T)
    check_grads(lambda x: np.apply_over_axes(np.cumsum, x, 1), T)
    with pytest.raises(ShapeError, match="correct shape"):
        ps.trace(lambda x: np.apply_over_axes(lambda v, axis: np.sum(v), x, [0]), T)


RATIOS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "logspace": (lambda a, b: np.logspace(a, b, 5), (np.array(-0.3), np.array(0.9))),
    "logspace of vectors": (lambda a: np.logspace(a, 1.0, 3, endpoint=False, axis=1), (M[:, 0],)),
    "logspace of base": (lambda b: np.logspace(0.5, 2.0, 4, base=b), (np.array(2.5),)),
    "logspace of bases": (lambda a, b: np.logspace(a, 2.0, 4, base=b), (np.array(0.4), np.array([2.5, 3.0]))),
    "geomspace": (lambda a, b: np.geomspace(a, b, 5), (np.array(0.4), np.array(7.0))),
    "geomspace below 0": (lambda a: np.geomspace(a, -9.0, 4, endpoint=False), (np.array(-0.5),)),
    "geomspace of vectors": (lambda a: np.geomspace(a, 9.0, 4, axis=-1), (np.array([0.5, 2.0]),)),
}


@pytest.mark.parametrize("name", RATIOS)
def test_numbers_in_equal_ratios_have_numpys_values_and_gradients(name: str) -> None:
    function, args = RATIOS[name]
    check_grads(function, *args)
    check_agrees(function, *args)


def test_the_ends_of_equal_ratios_are_exact_and_0_is_none() -> None:
    a, b = np.array(0.1), np.array(0.7)
    found = ps.trace(lambda a, b: np.geomspace(a, b, 7), a, b)(a, b)
    assert (found[0], found[-1]) == (0.1, 0.7)
    check_agrees(lambda a: np.geomspace(a, 64, 4, dtype=np.float32), np.array(1, np.int32))
    check_agrees(lambda a: np.logspace(a, 3.0, 4, dtype=np.int64), np.array(0.0, np.float32))
    for count in (0, 1):
        check_agrees(lambda a, n=count: np.geomspace(a, 64.0, n), a)
    with pytest.raises(ShapeError, match="cannot include zero"):
        ps.trace(lambda a: np.geomspace(a, 0.0, 4), a)


def test_a_number_of_ratios_may_be_a_size() -> None:
    program = ps.trace(lambda x: ps.numpy.geomspace(1.0, 16.0, x.shape[0]) * x, ps.spec("float64", ["N"]))
    for n in (0, 1, 5):
        np.testing.assert_allclose(program(np.ones(n)), np.geomspace(1.0, 16.0, n))
    program = ps.trace(lambda x: ps.numpy.logspace(0.0, 2.0, x.shape[0]) * x, ps.spec("float64", ["N"]))
    np.testing.assert_allclose(program(np.ones(4)), np.logspace(0.0, 2.0, 4))


@pytest.mark.parametrize("order", ["c", "F"])
def test_places_are_unravelled(order: Any) -> None:
    check_agrees(lambda i: np.unravel_index(i, (2, 3, 4), order), np.arange(24).reshape(4, 6))
    check_agrees(lambda x: x[np.unravel_index(np.argmax(x), x.shape)], M)
    places = np.arange(200, 206, dtype=np.uint8)  # 300 * 200 is no uint8
    check_agrees(lambda i: np.ravel_multi_index((i, i), (300, 7), ("raise", "wrap"), order=order), places)


@pytest.mark.parametrize("trim", ["fb", "f", "b"])
def test_zeros_at_the_ends_are_trimmed(trim: Any) -> None:
    for values in ([0.0, 0.0, 1.5, 0.0, 2.0, 0.0], [0.0, 0.0], [], [1.0]):
        check_agrees(lambda x: np.trim_zeros(x, trim), np.array(values))
        if is_since("numpy", "2.2"):
            check_agrees(lambda x: np.trim_zeros(x, trim, axis=()), np.array(values))
    check_grads(lambda x: np.trim_zeros(np.maximum(x, 0.0), trim) ** 2, np.array([-1.0, 0.5, -2.0, 3.0, -1.0]))


@pytest.mark.parametrize("options", [{}, {"axes": 1}, {"axes": (0, -1)}], ids=str)
def test_frequencies_are_shifted_to_the_middle_and_back(options: Any) -> None:
    for x in (M, T[0, :, :3]):
        check_agrees(lambda x: np.fft.fftshift(x, **options), x)
        check_agrees(lambda x: np.fft.ifftshift(x, **options), x)
    check_grads(lambda x: np.fft.fftshift(x, **options) * np.fft.ifftshift(x, **options), M)


CLOUD = np.random.default_rng(4).normal(size=(50, 2))
MASS = np.random.default_rng(5).uniform(size=50)
EDGES = np.array([-2.0, -0.5, 0.5, 1.0])


def test_histograms_of_several_axes_are_numpys() -> None:
    for options in ({}, {"bins": 3, "density": True}, {"bins": [2, EDGES]}, {"range": [(-1, 1), (-2.0, 1.5)]}):
        check_agrees(lambda x, o=options: _flat(np.histogramdd(x, **o)), CLOUD, symbolic=False)
        check_agrees(lambda x, y, w, o=options: np.histogram2d(x, y, weights=w, **o), *CLOUD.T, MASS)
    check_agrees(lambda x, y: np.histogram2d(x, y, EDGES), *CLOUD.T)


def _flat(found: Any) -> Any:
    return (found[0], *found[1])


def test_the_weights_of_a_histogram_have_gradients() -> None:
    check_grads(lambda w: np.histogramdd(CLOUD[:9] * w[0], [2, 3], weights=w)[0] ** 2, MASS[:9])
    check_grads(lambda w: np.histogram2d(*CLOUD[:9].T * w[0], 2, density=True, weights=w)[0], MASS[:9])


REFUSED: list[tuple[Any, str]] = [
    (np.array2string, "known only at run time"), (lambda x: np.save("x.npy", x), "writes no files"),
    (np.busday_count, "dates"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "because"), REFUSED, ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_refused_says_why_at_the_users_line(function: Any, because: str) -> None:
    with pytest.raises(UnsupportedFunction, match=because) as caught:
        ps.trace(lambda x: function(x) if function is not np.busday_count else function(x, x), M)
    assert "test_slices.py" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10
