"""NumPy's functions with symbols for sizes, run at 1 and 0, to second order: those that other tests fix sizes of.

Then runs in which two sizes do not fit, as NumPy would say.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import by_symbols, check_grads, gapped

X, Y = gapped(3, 4, seed=1), gapped(3, 4, seed=2)
V, W = gapped(5, seed=4), gapped(5, seed=5)
WINDOWS = np.lib.stride_tricks

Row = tuple[Callable[..., Any], tuple[Any, ...]]


def parts(found: Any) -> Any:
    return (found.real, found.imag)


def twice(x: Any, y: Any) -> Any:
    return np.concatenate([x + 1j * y, y + 1j * x], axis=1)


def put(x: Any, values: Any) -> Any:
    x = x * 2
    np.put_along_axis(x, np.array([[0]]), values, axis=1)
    return x


def flat(x: Any) -> Any:
    x = x * 2
    x.flat[0] = x[0, 0] ** 2
    return x.flat[0] * x


def partitioned(x: Any) -> Any:
    x = x * 2
    x.partition(0)
    return x


FUNCTIONS: dict[str, Row] = {
    "broadcast_shapes": (lambda x, y: np.zeros(np.broadcast_shapes(x.shape, y.shape)) + x * y, (X, Y)),
    "unravel_index": (lambda x: x * np.unravel_index([0, 0], x.shape)[1][0] + x, (X[:1, :1],)),
    "ravel_multi_index": (lambda x: x * np.ravel_multi_index(([0], [0]), x.shape) + x, (X[:1, :1],)),
    "angle": (lambda x, y: np.angle(x + 1j * y), (X, Y)),
    "conjugate": (lambda x, y: parts(np.conjugate(x + 1j * y) * 1j), (X, Y)),
    "astype": (lambda x: (*parts(x.astype(complex) * 2j), x.astype(np.float64)), (X,)),
    "r_": (lambda v, w: np.r_[v, 2.0, w], (V, W)),
    "c_": (lambda v, w: np.c_[v, w], (V, W)),
    "r_ with new axes": (lambda v: np.r_["0,2", v, v**2] * np.r_["0,2,1", v, v], (V,)),
    "r_ in columns": (lambda v: np.r_["-1,3,0", v, v**2], (V,)),
    "array": (lambda x: np.array([x, x * 2], like=x) * np.array([x, x]), (X,)),
    "full": (lambda x, y: np.full(x.shape, y[0], like=x) * np.full(x.shape, x), (X, Y)),
    "asarray": (lambda x: np.asarray([x, x * 2], like=x) * np.asarray([x, x]), (X,)),
    "array like another": (lambda x, y: np.array(x, like=x) * np.full(x.shape, y[0], like=x), (X, Y)),
    "asarray_chkfinite": (lambda x: np.asarray_chkfinite([x, x**2]), (X,)),
    "require": (lambda x: np.require([x, x**2]), (X,)),
    "block": (lambda x, y: np.block([[x, y], [y * x, x]]), (X, Y)),
    "dstack": (lambda x, y: np.dstack([x, y * x]), (X, Y)),
    "vsplit": (lambda x, y: np.vsplit(np.concatenate([x, y]), 2), (X, Y)),
    "insert": (lambda x: np.insert(x, 0, x[:, 0] ** 2, axis=1), (X,)),
    "insert from the end": (lambda x: np.insert(x, -1, x[:1] ** 2, axis=0), (X,)),
    "insert at places": (lambda x: np.insert(x, [1, 0], x[:, :1] ** 2, axis=1), (X,)),
    "insert of many": (lambda x, y: np.insert(x, 1, y, axis=0), (X, Y)),
    "insert in a row": (lambda x: np.insert(x, 1, x[:, 0]), (X,)),
    "delete": (lambda x: np.delete(x, 0, axis=1), (X,)),
    "delete of several": (lambda x: np.delete(x, [1, 0, 1], axis=1) ** 2, (X,)),
    "delete of none": (lambda x: np.delete(x, [], axis=1) ** 2, (X,)),
    "delete from the end": (lambda x: np.delete(x, [-1, 0], axis=1) ** 2, (X,)),
    "delete of a slice": (lambda x: np.delete(x, slice(None, None, 2), axis=0) ** 2, (X,)),
    "delete by a mask": (lambda x: np.delete(x, x[0] > 0, axis=1) ** 2, (X,)),
    "delete where the run says": (lambda x: np.delete(x, np.argmax(x, axis=1), axis=1) ** 2, (X,)),
    "unstack": (lambda x, y: np.unstack(np.stack([x, y * x])), (X, Y)),
    "choose": (lambda x, y: np.choose((x > 0).astype(int), [x * y, y]), (X, Y)),
    "compress": (lambda x: np.compress(x[0] > 0, x, axis=1) ** 2, (np.abs(X),)),
    "put_along_axis": (put, (X, X[:, :1])),
    "flat": (flat, (X,)),
    "partition": (partitioned, (X,)),
    "argpartition": (lambda x: x * np.argpartition(x, 0, axis=0), (X,)),
    "windows": (lambda x: WINDOWS.sliding_window_view(x, 1, axis=1) ** 2, (X,)),
    "as_strided": (lambda v: WINDOWS.as_strided(v * 2, (v.shape[0], 2), (8, 0)), (V,)),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda row: np.sum(row**2) * row, 1, x), (X,)),
    "linspace": (lambda v, w: np.linspace(v, w, 4), (V, W)),
    "gradient": (lambda x: np.gradient(np.concatenate([x, x**2]), axis=0), (X,)),
    "bincount": (lambda v: np.bincount(np.arange(v.shape[0]), v**2, 7), (V,)),
    "bincount of a size": (lambda v: np.bincount(np.arange(v.shape[0]) // 2, v**2, v.shape[0] + 1) + v.sum(), (V,)),
    "histogram": (lambda v: np.histogram(0.0 * v + 0.5, 3, (0.0, 1.0), weights=v**2)[0], (V,)),
    "histogram2d": (lambda v: np.histogram2d(v * 0, v * 0, 2, weights=v**2)[0], (V,)),
    "histogramdd": (lambda x, v: np.histogramdd(x * 0, 2, [(-1.0, 1.0)], weights=v**2)[0], (V[:, None], V)),
    "nancumsum": (lambda x: np.nancumsum(x, axis=1) * np.nancumprod(x, axis=1), (X,)),
    "nanquantile": (lambda x: np.nanquantile(x, 0.3, axis=0) + np.nanpercentile(x, 60, axis=0), (X,)),
    "nanvar": (lambda x: np.nanvar(np.concatenate([x, x**2]), axis=0, ddof=1), (X,)),
    "interp": (lambda x: np.interp([0.1, 2.5], np.arange(2.0 * x.size), np.concatenate([x, x**2]).reshape(-1)), (X,)),
    "corrcoef": (lambda v, w: np.corrcoef(np.r_[v, 2.0, -1.0], np.r_[w, 0.5, 3.0]), (V, W)),
    "cross": (lambda v, w: np.cross(np.stack([v, w, v * w], 1), np.stack([w, v**2, v], 1)), (V, W)),
    "linalg.cross": (lambda v, w: np.linalg.cross(np.stack([v, w, v * w]), np.stack([w, v**2, v]), axis=0), (V, W)),
    "poly": (lambda v: np.poly(np.asarray(v)), (V,)),
    "polydiv": (lambda v, w: np.polydiv(v, w), (V, W[:3])),
    "polyfit": (lambda v, w: np.polyfit(v, w, 0), (V, W)),
    "lstsq": (lambda x, y: np.linalg.lstsq(x, y)[0], (X.T, Y.T)),
    "fft2": (lambda x, y: parts(np.fft.fft2(x + 1j * y)) + parts(np.fft.ifft2(x + 1j * y)), (X, Y)),
    "fftn": (lambda x, y: parts(np.fft.fftn(x + 1j * y)) + parts(np.fft.ifftn(x + 1j * y)), (X, Y)),
    "rfft2": (lambda x: parts(np.fft.rfft2(x)) + parts(np.fft.rfftn(x)), (X,)),
    "rfft": (lambda x: parts(np.fft.rfft(x[:, ::2])), (X,)),
    "rfft of an even length": (lambda x: parts(np.fft.rfft(np.concatenate([x[::3], x] * 2).reshape(-1))), (X,)),
    "irfft2": (lambda x, y: np.fft.irfft2(twice(x, y)) * np.fft.irfftn(1j * twice(x, y)), (X, Y)),
}
NONE = {"bincount", "interp", "poly", "polyfit", "rfft of an even length"}
"""Of nothing NumPy has no answer, or one of another dtype or rank."""


@pytest.mark.sweep(24)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_any_sizes_is_numpys_with_second_derivatives(name: str) -> None:
    function, args = FUNCTIONS[name]
    resize = (1,) if name in NONE else (1, 0)
    check_grads(lambda *given: function(*given), *args, value_tolerance=1e-10, resize=resize)


def test_a_cast_to_float32_has_the_gradient_of_one_to_float64() -> None:
    # Of whole numbers, which float32 holds: differences of what is linear are exact for any step.
    check_grads(lambda x: x.astype(np.float32) * 2, np.rint(3 * X), step=10.0)


def written(x: Any, y: Any) -> Any:
    x = x * 1
    x[:] = y
    return x


def added_to(x: Any, y: Any) -> Any:
    x = x * 1
    x += y
    return x


def written_through(x: Any, mask: Any) -> Any:
    x = x * 1
    x[mask] = 0.0
    return x


def written_through_a_mask(x: Any, y: Any) -> Any:
    x = x * 1
    x[y > 0] = 0.0
    return x


def placed(x: Any, y: Any) -> Any:
    x = x * 1
    np.place(x, y > 0, [1.0, 2.0])
    return x


def put_by_a_mask(x: Any, y: Any) -> Any:
    x = x * 1
    np.putmask(x, y > 0, [1.0, 2.0])
    return x


def copied_by_a_mask(x: Any, y: Any) -> Any:
    x = x * 1
    np.copyto(x, 5.0, where=y > 1)
    return x


def copied(x: Any, y: Any) -> Any:
    x = x * 1
    np.copyto(x, y, where=x[:1] > 1)
    return x


def partitioned_at_3(x: Any, y: Any) -> Any:
    x = x * y
    x.partition(3)
    return x


MISMATCHED: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "dot": (np.dot, (3,), (1,)),
    "dot of a known size": (lambda x, y: np.dot(np.arange(3.0), y) + x[0], (3,), (1,)),
    "vdot": (np.vdot, (1,), (3,)),
    "vecdot": (np.vecdot, (2, 3), (2, 1)),
    "inner": (np.inner, (3, 1), (2, 3)),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), (3, 1), (2, 3)),
    "einsum of a diagonal": (lambda x, y: np.einsum("ii", x) * y, (4, 3), (1,)),
    "solve": (lambda x, y: np.linalg.solve(x + 3 * np.eye(3), y), (3, 3), (4,)),
    "mask": (lambda x, y: x[y > 0], (3,), (2,)),
    "mask that is known": (lambda x, y: x[[True, False, True]] * y, (4,), (1,)),
    "mask of columns that is known": (lambda x, y: x[:, np.array([True, False])] * y, (2, 3), (1,)),
    "write through a mask that is known": (lambda x, y: written_through(x, [True, False]) * y, (1,), (1,)),
    "mask of columns": (lambda x, y: x[:, y > 0], (2, 3), (2,)),
    "mask that is transposed": (lambda x, y: x[y > 0], (2, 3), (3, 2)),
    "write": (written, (1,), (3,)),
    "addition in place": (added_to, (1, 3), (3, 3)),
    "write through a mask": (written_through_a_mask, (3,), (1,)),
    "broadcast_to": (lambda x, y: np.broadcast_to(y, x.shape), (2, 1), (2,)),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y)[1] * 1, (2,), (3,)),
    "broadcast_arrays of nothing": (lambda x, y: np.broadcast_arrays(x, y)[0] * 1, (0,), (2,)),
    "weights of an average": (lambda x, y: np.average(x, weights=y), (3,), (1,)),
    "weights of a histogram": (lambda x, y: np.histogram(x, 3, (-9, 9), weights=y)[0], (3,), (1,)),
    "values of an interpolation": (lambda x, y: np.interp(0.5, x, y), (3,), (4,)),
    "known values of an interpolation": (lambda x, y: np.interp(y, x, [1.0, 2.0]), (3,), (4,)),
    "concatenate": (lambda x, y: np.concatenate([x, y], axis=2), (2, 3, 2), (3, 2, 2)),
    "concatenate of no elements": (lambda x, y: np.concatenate([x, y]), (1, 2), (0, 1)),
    "mask of one row": (lambda x, y: x[y > 0], (2, 4), (1, 4)),
    "mask of one column": (lambda x, y: x[y > 0], (2, 4), (2, 1)),
    "place by a mask of one row": (placed, (2, 4), (1, 4)),
    "place by a row": (placed, (2, 4), (4,)),
    "putmask by a mask of one column": (put_by_a_mask, (2, 4), (2, 1)),
    "putmask by a row": (put_by_a_mask, (2, 4), (4,)),
    "copyto by a larger mask": (copied_by_a_mask, (1, 4), (2, 4)),
    "copyto of more": (copied, (1, 4), (2, 4)),
    "partition": (lambda x, y: np.partition(x, 3) * y, (3,), (1,)),
    "partition from the end": (lambda x, y: np.partition(x, -4) * y, (3,), (1,)),
    "partition in place": (partitioned_at_3, (3,), (1,)),
    "partition of no axes": (lambda x, y: np.partition(x, 3, axis=None) * y, (1, 3), (1,)),
    "partition of each row": (lambda x, y: ps.vmap(lambda row: np.partition(row, 3))(x) * y, (2, 3), (1,)),
    "delete of each row": (lambda x, y: ps.vmap(lambda row: np.delete(row, 3))(x) * y, (2, 3), (1,)),
    "mask of each row": (lambda x, y: ps.vmap(lambda u: u[y > 0].sum())(x), (2, 3, 4), (1, 4)),
    "argpartition": (lambda x, y: np.argpartition(x, (0, 3)) * y, (3,), (1,)),
    "lexsort": (lambda x, y: np.lexsort((x, y)), (3,), (4,)),
    "points of a gradient": (np.gradient, (3,), (2,)),
    "gradient of one element": (lambda x, y: np.gradient(x) * y, (1,), (1,)),
    "gradient along a column of one element": (lambda x, y: np.gradient(x, axis=0) * y, (1, 3), (1,)),
    "gradient of order 2 of no columns": (lambda x, y: np.gradient(x, axis=0, edge_order=2) * y, (2, 0), (1,)),
    "windows that are too long": (lambda x, y: WINDOWS.sliding_window_view(x, 2, axis=1) * y[0], (2, 1), (1,)),
    "gradient of order 2 of two": (lambda x, y: np.gradient(x, edge_order=2) * y, (2,), (1,)),
    "ravel_multi_index": (lambda x, y: np.ravel_multi_index((x.astype(int),), (2,)) * y, (2,), (1,)),
    "ravel_multi_index below": (lambda x, y: np.ravel_multi_index((x.astype(int) - 2,), (2,)) * y, (2,), (1,)),
    "unravel_index": (lambda x, y: np.unravel_index(x.astype(int), (2, 1))[0] * y, (2,), (1,)),
    "unravel_index below": (lambda x, y: np.unravel_index(x.astype(int) - 2, (2, 1))[0] * y, (2,), (1,)),
    "determinant of no rows": (lambda x, y: np.linalg.det(x) * y, (0, 2), (1,)),
}
"""Sizes for which NumPy raises, of two arrays whose sizes are all symbols."""


@pytest.mark.parametrize("function", [placed, put_by_a_mask])
def test_a_mask_that_is_written_through_has_as_many_elements_in_any_shape(function: Callable[..., Any]) -> None:
    x, mask = X, Y.reshape(2, 6)
    np.testing.assert_array_equal(ps.trace(function, *by_symbols((x, mask)))(x, mask), function(x, mask))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", MISMATCHED)
def test_a_run_whose_sizes_numpy_refuses_fails(name: str) -> None:
    function, *shapes = MISMATCHED[name]
    arrays = [np.arange(1.0, 1 + np.prod(s)).reshape(s) for s in shapes]
    with pytest.raises((ValueError, TypeError, IndexError)):
        function(*arrays)
    program = ps.trace(function, *by_symbols(tuple(arrays)))
    with pytest.raises(ps.PrimsplitError, match=r"test_symbolic_sizes\.py"):
        program(*arrays)


OF_NOTHING: dict[str, Callable[..., Any]] = {
    "max": lambda x: x.max(axis=0),
    "max of all": np.max,
    "min": lambda x: np.min(x, axis=0, keepdims=True),
    "max of whole numbers": lambda x: np.max(x.astype(np.int8), axis=0),
    "min of truth values": lambda x: np.min(x > 0, axis=0),
    "ptp": lambda x: np.ptp(x, axis=0),
    "maximum.reduce": np.maximum.reduce,
    "fmin.reduce": np.fmin.reduce,
    "argmax": lambda x: np.argmax(x, axis=0),
    "argmin of all": np.argmin,
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanargmin": lambda x: np.nanargmin(x, axis=0),
    "quantile": lambda x: np.quantile(x, 0.3, axis=0),
    "an end's quantile": lambda x: np.quantile(x, 1, axis=0),
    "percentiles": lambda x: np.percentile(x, [10, 20], axis=0, method="lower"),
    "weighted average": lambda x: np.average(x, axis=0, weights=x * 0 + 1),
    "least norm": lambda x: np.linalg.norm(x, -np.inf, axis=0),
}
"""Functions that NumPy has no result of, for no rows."""


@pytest.mark.parametrize("name", OF_NOTHING)
def test_a_run_of_no_elements_fails_where_numpy_has_no_result(name: str) -> None:
    function = OF_NOTHING[name]
    with pytest.raises((ValueError, IndexError, ZeroDivisionError)):
        function(np.zeros((0, 3)))
    program = ps.trace(function, ps.spec("float64", ["N", 3]))
    np.testing.assert_allclose(program(X[:, :3]), function(X[:, :3]))
    with pytest.raises(ps.PrimsplitError, match=r"test_symbolic_sizes\.py"):
        program(np.zeros((0, 3)))


def test_nothing_along_an_axis_that_is_not_reduced_is_no_error() -> None:
    def function(x: Any) -> Any:
        weighted = np.average(x, axis=0, weights=x * 0 + 1)
        return x.max(axis=0), np.argmax(x, axis=0), np.quantile(x, 0.3, axis=0), np.nanmin(x, axis=0), weighted

    found = ps.trace(function, ps.spec("float64", ["N", "M"]))(np.zeros((3, 0)))
    for each, wanted in zip(found, function(np.zeros((3, 0))), strict=True):
        np.testing.assert_array_equal(each, wanted, strict=True)


def test_quantiles_of_no_whole_numbers_are_nan_where_nan_is_passed_over() -> None:
    def function(x: Any) -> Any:
        return np.nanquantile(x, 0.3, axis=0)

    np.testing.assert_array_equal(
        ps.trace(function, ps.spec("int32", ["N", 3]))(np.zeros((0, 3), np.int32)), [np.nan] * 3
    )


def test_a_quotient_of_sizes_is_that_of_other_sizes_where_there_are_no_rows() -> None:
    """Python raises ZeroDivisionError for 0 // 0 and 0 / 0, which docs/conventions.md tells."""
    whole = ps.trace(lambda x: np.sum(x) + x.size // x.shape[0], ps.spec("float64", ["N", 3]))
    divided = ps.trace(lambda x: np.sum(x) + x.size / x.shape[0], ps.spec("float64", ["N", 3]))
    assert whole(np.ones((4, 3))) == divided(np.ones((4, 3))) == 15.0
    assert whole(np.ones((0, 3))) == 3.0
    assert np.isnan(divided(np.ones((0, 3))))
    with pytest.raises(ps.PrimsplitError):
        ps.trace(lambda x: np.sum(x) + 12 // x.shape[0], ps.spec("float64", ["N", 3]))(np.ones((0, 3)))
