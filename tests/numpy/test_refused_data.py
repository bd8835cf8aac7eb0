"""Data for which NumPy or Python raises: the run fails, and says the error; other data have the value of NumPy."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError


class Case(NamedTuple):
    """A function, data that it takes, and data that it refuses."""

    function: Callable[[Any], Any]
    good: Any
    bad: Any


def array(*values: Any) -> Any:
    return np.array(values, dtype=np.float64)


def whole(*values: int) -> Any:
    return np.array(values)


TABLE = array(1, 2, 3)
CASES = {
    "int of NaN": Case(lambda x: int(x) * 1.0, 1.5, math.nan),
    "int of infinity": Case(lambda x: int(x) * 1.0, -1.5, -math.inf),
    "int of an element": Case(lambda x: int(x[0]) * 2.0, array(1.5, 2), array(math.nan, 2)),
    "int of a float32": Case(lambda x: int(x) * 1.0, np.float32(2.5), np.float32(math.inf)),
    "round of NaN": Case(lambda x: round(x) * 1.0, 2.5, math.nan),
    "round of infinity": Case(lambda x: round(x) * 1.0, -3.5, math.inf),
    "math.floor": Case(lambda x: math.floor(x) * 1.0, -1.5, math.nan),
    "math.ceil": Case(lambda x: math.ceil(x) * 1.0, -1.5, math.inf),
    "math.trunc": Case(lambda x: math.trunc(x) * 1.0, -1.5, math.nan),
    "range of int": Case(lambda x: np.zeros(int(x)).sum() + x, 2.5, math.nan),
    "bincount": Case(lambda i: np.bincount(i, minlength=3), whole(0, 1), whole(0, -1)),
    "bincount with weights": Case(lambda i: np.bincount(i, array(1, 2), 3), whole(0, 1), whole(-2, 1)),
    "polyfit at a missing number": Case(lambda x: np.polyfit(x, array(2, 1, 4), 1), TABLE, array(1, math.nan, 3)),
    "polyfit at infinity": Case(lambda x: np.polyfit(x, array(2, 1, 4), 1, rcond=1e-3), TABLE, array(1, math.inf, 3)),
    "polyfit at zeros": Case(lambda x: np.polyfit(x, array(2, 1, 4), 1), TABLE, array(0, 0, 0)),
    "polyfit with weights of 0": Case(lambda w: np.polyfit(TABLE, array(2, 1, 4), 1, w=w), TABLE, array(0, 0, 0)),
    "covariance of a fit at one site": Case(
        lambda x: np.polyfit(x, array(2, 1, 4), 1, cov=True)[1], TABLE, array(2, 2, 2)
    ),
    "percentile": Case(lambda q: np.percentile(TABLE, q), 50.0, 150.0),
    "percentile below 0": Case(lambda q: np.percentile(TABLE, q), 50.0, -1.0),
    "quantile of NaN": Case(lambda q: np.quantile(TABLE, q), 0.5, math.nan),
    "nanquantile": Case(lambda q: np.nanquantile(TABLE, q), 0.5, 1.5),
    "nanpercentile": Case(lambda q: np.nanpercentile(TABLE, q), 50.0, 101.0),
    "quantiles": Case(lambda q: np.quantile(TABLE, q), array(0.1, 0.5), array(0.1, 1.5)),
    "a method of quantile": Case(lambda q: np.quantile(TABLE, q, method="hazen"), 0.5, 2.0),
    "weighted quantile": Case(
        lambda q: np.quantile(TABLE, q, weights=array(1, 2, 1), method="inverted_cdf"), array(0.1), array(1.5)
    ),
    "weights of a quantile": Case(
        lambda w: np.quantile(TABLE, 0.3, weights=w, method="inverted_cdf"), array(1, 2, 1), array(1, -2, 1)
    ),
    "aweights of a covariance": Case(lambda w: np.cov(np.eye(3), aweights=w), array(1, 2, 1), array(-0.1, 2, 1)),
    "aweights without a sum": Case(lambda w: np.cov(np.eye(3), aweights=w), array(1, 2, 1), array(0, 0, 0)),
    "range of a histogram": Case(lambda r: np.histogram(TABLE, 3, (r, 4.0))[0], 0.0, math.nan),
    "range of a histogram in the wrong order": Case(lambda r: np.histogram(TABLE, 3, (r, 4.0))[0], 0.0, 5.0),
    "fweights of a covariance": Case(lambda w: np.cov(np.eye(3), fweights=w), whole(1, 2, 1), whole(1, -2, 3)),
    "period of an interpolation": Case(lambda p: np.interp(0.5, TABLE, TABLE, period=p), 2.0, 0.0),
    "digitize": Case(lambda b: np.digitize(TABLE, b), array(0, 1, 2), array(0, 2, 1)),
    "digitize, falling": Case(lambda b: np.digitize(TABLE, b, right=True), array(2, 1, 0), array(1, 2, 0)),
    "digitize, a missing edge": Case(lambda b: np.digitize(TABLE, b), array(0, 1, 2), array(math.nan, 1, 2)),
    "digitize, a missing edge in front": Case(lambda b: np.digitize(TABLE, b), array(2, 1, 0), array(math.nan, 1, 2)),
    "histogram of NaN": Case(lambda x: np.histogram(x, 3)[0], array(1, 2), array(1, math.nan)),
    "histogram of infinity": Case(lambda x: np.histogram(x, 3)[0], array(1, 2), array(1, -math.inf)),
    "edges of a histogram": Case(lambda b: np.histogram(TABLE, b)[0], array(0, 1, 2), array(0, 2, 1)),
    "histogram_bin_edges": Case(lambda x: np.histogram_bin_edges(x, 3), array(1, 2), array(math.nan, 2)),
    "histogram2d": Case(lambda x: np.histogram2d(x, array(1, 2), 3)[0], array(1, 2), array(1, math.nan)),
    "histogramdd": Case(lambda x: np.histogramdd(x, 3)[0], np.eye(2), np.full((2, 2), math.inf)),
    "average": Case(lambda w: np.average(array(1, 2), weights=w), array(1, 2), array(1, -1)),
    "average along an axis": Case(
        lambda w: np.average(np.eye(2), weights=w, axis=1), array([1, 2], [1, 1]), array([1, 2], [1, -1])
    ),
    "nanargmax": Case(np.nanargmax, array(1, 2), array(math.nan, math.nan)),
    "argmax of nothing": Case(lambda x: np.argmax(x[x > 0]), array(1, 2), array(-1, -2)),
    "unravel_index": Case(lambda i: np.unravel_index(i, (2, 2))[0], whole(0, 1), whole(0, 5)),
    "integer powers": Case(lambda k: 2**k, whole(1, 2), whole(1, -2)),
    "reduceat": Case(lambda i: np.add.reduceat(TABLE, i), whole(0, 1), whole(0, 5)),
    "repeat": Case(lambda n: np.repeat(TABLE, n), whole(1, 2, 1), whole(3, -1, 2)),
    "choose": Case(lambda i: np.choose(i, [array(1, 2), array(3, 4)]), whole(0, 1), whole(0, -1)),
    "geomspace": Case(lambda s: np.geomspace(s, 10.0, 3), 1.0, 0.0),
    "a whole number over zero": Case(lambda x: (7 // int(x)) * 1.0, 2.5, 0.5),
    "a remainder of zero": Case(lambda x: (7 % int(x)) * 1.0, 2.5, 0.5),
    "divmod by zero": Case(lambda x: divmod(7, int(x))[1] * 1.0, 2.5, 0.5),
    "a shift by less than zero": Case(lambda x: (1 << int(x)) * 1.0, 2.5, -2.5),
    "zeros of fewer than none": Case(lambda x: np.zeros((2, int(x))).sum() + x, 2.5, -2.5),
    "ones of fewer than none": Case(lambda x: np.ones(int(x)).sum() + x, 0.5, -1.0),
    "full of fewer than none": Case(lambda x: np.full(int(x), 3.0).sum() + x, 2.5, -2.5),
    "eye of fewer than none": Case(lambda x: np.eye(3, int(x)).sum() + x, 2.5, -2.5),
    "identity of fewer than none": Case(lambda x: np.identity(int(x)).sum() + x, 2.5, -2.5),
    "tile fewer than no times": Case(lambda x: np.tile(x, int(x)).sum() + x, 2.5, -2.5),
    "broadcast_to fewer than none": Case(lambda x: np.broadcast_to(x, (int(x),)).sum() + x, 2.5, -2.5),
    "resize to fewer than none": Case(lambda x: np.resize(x, int(x[0])).sum(), array(5.5, 1), array(-2.5, 1)),
    "linspace of fewer than none": Case(lambda x: np.linspace(0, 1, int(x)).sum() + x, 2.5, -2.5),
    "geomspace of fewer than none": Case(lambda x: np.geomspace(1, 3, int(x)).sum() + x, 2.5, -2.5),
    "pad by fewer than none": Case(lambda x: np.pad(TABLE, int(x)).sum() + x, 2.5, -2.5),
    "fft of fewer than none": Case(lambda x: np.abs(np.fft.fft(x, int(x[0]))), array(3.5, 1), array(-2.5, 1)),
    "vander of fewer than none": Case(lambda x: np.vander(x, int(x[0])).sum(), array(3.5, 1), array(-2.5, 1)),
    "indices of fewer than none": Case(lambda x: np.indices((int(x), 2)).sum() + x, 2.5, -2.5),
    "bincount to fewer than none": Case(lambda x: np.bincount(whole(0, 1), minlength=int(x)), 3.5, -2.5),
    "asarray_chkfinite": Case(lambda x: np.asarray_chkfinite(x) * 2.0, array(1, 2), array(1, math.inf)),
}

MATRIX, MISSING = array([2, 1], [1, 3]), array([2, math.nan], [1, 3])
ROOTED = array(1, -3, 2)
CASES |= {
    f"roots of {'complex' if unit != 1 else 'real'} {kind}": Case(
        lambda p, unit=unit: np.real(np.roots(unit * p)), ROOTED, bad
    )
    for unit in (1, 1j)
    for kind, bad in {
        "NaN": array(1, math.nan, 2),
        "NaN first": array(math.nan, 1, 2),
        "NaN last": array(1, 2, math.nan),
        "infinity": array(1, math.inf, 2),
        "NaN behind a 0": array(0, math.nan, 2),
    }.items()
}
CASES |= {
    "roots that outgrow floats": Case(lambda p: np.roots(p).real, ROOTED, array(1e-300, 1e300, 1)),
    "roots of poly1d": Case(lambda p: np.poly1d(p).r.real, ROOTED, array(1, math.nan, 2)),
    "poly of a matrix": Case(np.poly, MATRIX, MISSING),
    "poly of an infinite matrix": Case(np.poly, MATRIX, MATRIX * math.inf),
    "cond": Case(np.linalg.cond, MATRIX, MISSING),
    "cond of a stack": Case(lambda a: np.linalg.cond(np.stack([MATRIX, a])), MATRIX, MISSING),
    "the smallest singular value": Case(lambda a: np.linalg.cond(a, -2), MATRIX, MISSING),
    "cond of complex matrices": Case(lambda a: np.linalg.cond(a * 1j), MATRIX, MISSING),
    **{
        f"the matrix norm {order}": Case(lambda a, order=order: np.linalg.norm(a, order), MATRIX, MISSING)
        for order in (2, -2, "nuc")
    },
    "matrix_norm": Case(lambda a: np.linalg.matrix_norm(a, ord=2), MATRIX, MISSING),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_data_that_numpy_refuses_fail_in_the_run_with_its_error(case: Case) -> None:
    with pytest.raises((ValueError, ArithmeticError, IndexError)) as theirs, np.errstate(all="ignore"):
        case.function(case.bad)
    program = ps.trace(case.function, case.good)
    np.testing.assert_allclose(program(case.good), case.function(case.good), rtol=1e-12)
    with pytest.raises(RunError, match=f"raises {theirs.type.__name__}: "):
        program(case.bad)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, q: np.percentile(x, q),
        lambda x, q: np.sum(np.bincount(np.array([0, 1, 2]) - int(q > 100.0) * 3, x)),
        lambda x, q: np.average(x, weights=np.array([1.0, 1.0, 1.0]) * (q <= 100.0)),
    ],
    ids=["percentile", "bincount", "average"],
)
def test_the_gradient_fails_where_the_value_does(function: Callable[..., Any]) -> None:
    gradient = ps.grad(function)
    assert np.all(np.isfinite(gradient(TABLE, 50.0)))
    with pytest.raises(RunError, match="raises"):
        gradient(TABLE, 150.0)


def test_roots_of_fewer_coefficients_and_of_one_have_no_error() -> None:
    program = ps.trace(np.roots, ps.spec("float64", ["N"]))
    assert np.isnan(program(array(0, 0, 1))).all()
    assert np.isnan(program(array(0, math.inf, 1))).all()
    np.testing.assert_array_equal(program(array(math.inf, 1, 2)), np.roots(array(math.inf, 1, 2)))
    assert program(array(math.nan)).shape == (0,)


def test_a_matrix_without_rows_has_no_polynomial() -> None:
    program = ps.trace(np.poly, ps.spec("float64", ["N", "N"]))
    np.testing.assert_allclose(program(MATRIX), np.poly(MATRIX))
    with pytest.raises(RunError):
        program(np.zeros((0, 0)))


def test_hermitian_singular_values_of_nan_are_nan() -> None:
    program = ps.trace(lambda a: np.linalg.svd(a, hermitian=True)[1], MATRIX)
    np.testing.assert_allclose(program(MATRIX), np.linalg.svdvals(MATRIX))
    assert np.isnan(program(MISSING.T.copy())).all()


def test_a_gradient_fails_where_singular_values_do_not_converge() -> None:
    gradient = ps.grad(lambda a: np.linalg.norm(a, "nuc"))
    np.testing.assert_allclose(gradient(np.eye(2)), np.eye(2), atol=1e-12)
    with pytest.raises(RunError, match="SVD did not converge"):
        gradient(MISSING)
