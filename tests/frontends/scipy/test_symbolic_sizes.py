"""SciPy's functions with symbols for sizes, run again at 1, to second order: those that other tests fix sizes of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.spatial.transform import Rotation

import primsplit as ps
from primsplit.testing import check_grads
from tests.numpy.agreement import by_symbols, check_agrees

RANDOM = np.random.default_rng(0)
V, W, Z = RANDOM.standard_normal((3, 5))
X = RANDOM.standard_normal((3, 4))
SQUARE, RIGHT = RANDOM.standard_normal((4, 4)) + 4 * np.eye(4), RANDOM.standard_normal((4, 2))
SITES = np.array([0.0, 0.4, 1.0, 1.7, 2.2])
KNOWN = scipy.sparse.random_array((5, 5), density=0.3, rng=1)
WIDE = scipy.sparse.random_array((40, 30), density=0.03, rng=1)

GRID = scipy.interpolate.RegularGridInterpolator((SITES,), SITES**2)

Row = tuple[Callable[..., Any], tuple[Any, ...]]


def rows(*columns: Any) -> Any:
    return np.stack(columns, axis=1)


def unevenly(v: Any) -> Any:
    """At least four samples, of which no moment is 0."""
    return np.concatenate([v, np.array([0.3, 2.0, -1.1])])


def solved(ab: Any) -> Any:
    return 0.3 * ab + 4.0


def spline(make: Any) -> Callable[..., Any]:
    """A spline over known sites, of as many columns of values as the run knows, at as many points."""
    return lambda v, x: make(SITES, SITES[:, None] ** 2 * v + np.sin(3 * SITES)[:, None])(1.1 + 0.4 * np.tanh(x))


FUNCTIONS: dict[str, Row] = {
    "quad": (lambda v: scipy.integrate.quad(lambda t, v: np.sum(np.sin(v * t)), 0, 1, args=(v,))[0], (V,)),
    "dblquad": (
        lambda v: scipy.integrate.dblquad(lambda s, t, v: np.sum(v**2) * s * t, 0, 1, 0, 1, args=(v,))[0], (V,)
    ),
    "newton": (lambda v: scipy.optimize.newton(lambda t, v: t**3 + t - np.sum(v), 0.5, args=(v,)), (V,)),
    "root_scalar": (
        lambda v: scipy.optimize.root_scalar(lambda t, v: t**3 + t - np.sum(v), args=(v,), bracket=(-20, 20)).root,
        (V,),
    ),
    "fsolve": (lambda v: scipy.optimize.fsolve(lambda t: t**3 + t - v, np.tanh(v)), (V,)),
    "leastsq": (
        lambda v: scipy.optimize.leastsq(lambda t: np.outer([1, 2], t**3 + t - v).ravel(), np.tanh(v))[0], (V,)
    ),
    "log_softmax": (lambda x: scipy.special.log_softmax(x, axis=1), (X,)),
    "multigammaln": (lambda x: scipy.special.multigammaln(np.abs(x) + 3, 3), (X,)),
    "solve_triangular": (lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True), (SQUARE, RIGHT)),
    "cho_solve": (lambda a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a @ a.T), b), (SQUARE, RIGHT)),
    "solve_banded": (lambda v, b: scipy.linalg.solve_banded((2, 1), np.stack([v, v + 9, v, v]), b), (V, W)),
    "three diagonals": (lambda v, b: scipy.linalg.solve_banded((1, 1), np.stack([v, v + 9, v]), b), (V, W)),
    "solveh_banded": (lambda v, b: scipy.linalg.solveh_banded(np.stack([v, v, v + 9]), b), (V, W)),
    "solve_toeplitz": (lambda v, b: scipy.linalg.solve_toeplitz((v + np.e, 0.2 * b + np.e), b), (np.tanh(V) + 3, W)),
    "companion": (lambda v: scipy.linalg.companion(np.concatenate([v + 4, v])), (V,)),
    "eigh_tridiagonal": (lambda v: scipy.linalg.eigh_tridiagonal(v, v[1:])[1] ** 2, (V,)),
    "eigvalsh_tridiagonal": (lambda v: scipy.linalg.eigvalsh_tridiagonal(v, v[1:]), (V,)),
    "solve_continuous_are": (
        lambda a: scipy.linalg.solve_continuous_are(a, a + 1.0, a @ a.T, a @ a.T), (SQUARE[:2, :2],)
    ),
    "solve_discrete_are": (
        lambda a: scipy.linalg.solve_discrete_are(0.1 * a, a, a @ a.T, a @ a.T), (SQUARE[:2, :2],)
    ),
    "diags": (lambda v, x: scipy.sparse.diags([v, v[1:]], [0, 1]) @ x, (V, W)),
    "diags_array": (lambda v, x: scipy.sparse.diags_array([v, v[1:]], offsets=[0, 1]) @ x, (V, W)),
    "spsolve": (lambda a, b: scipy.sparse.linalg.spsolve(scipy.sparse.csr_matrix(a), b[:, 0]), (SQUARE, RIGHT)),
    "a known sparse matrix": (lambda x: KNOWN @ (np.arange(5.0)[:, None] * x**2), (W[None],)),
    "a known sparse matrix, wide": (lambda x: WIDE @ (np.arange(30.0)[:, None] * x**2), (W[None],)),
    "from a known sparse matrix": (lambda x: (x[:, None] ** 2 * np.arange(40.0)) @ WIDE, (W,)),
    "squareform": (lambda x: scipy.spatial.distance.squareform(x**2), (np.append(V, 1.0),)),
    "correlation": (lambda v, w: scipy.spatial.distance.correlation(unevenly(v), unevenly(w)[::-1]), (V, W)),
    "simpson": (lambda v: scipy.integrate.simpson(v**2, dx=0.3), (V,)),
    "trapezoid": (lambda v, x: scipy.integrate.trapezoid(v**2, x), (V, W)),
    "cumulative_trapezoid": (lambda v: scipy.integrate.cumulative_trapezoid(v**2, initial=0), (V,)),
    "lfilter_zi": (lambda v, w: scipy.signal.lfilter_zi(np.append(v, 1.0), np.insert(w, 0, 9.0)), (V, W)),
    "periodogram": (lambda v: scipy.signal.periodogram(v, detrend=False)[1], (V,)),
    "hilbert": (lambda v: scipy.signal.hilbert(v).imag + scipy.signal.hilbert(v).real ** 2, (V,)),
    "lombscargle": (
        lambda v, w: scipy.signal.lombscargle(np.append(np.cumsum(v**2), [-1.0, 0.3, 4.0]), unevenly(w), [0.5, 1.3]),
        (V, W),
    ),
    "detrend": (lambda v: scipy.signal.detrend(np.append(v**2, 1.0)), (V,)),
    "convolve2d": (lambda x, y: scipy.signal.convolve2d(x, y, mode="valid"), (X, X[:2, :3])),
    "correlate2d": (lambda x, y: scipy.signal.correlate2d(x, y), (X, X[:2, :3])),
    "RegularGridInterpolator": (
        lambda v, x: scipy.interpolate.RegularGridInterpolator((SITES,), SITES**2 + np.sum(v))(1 + 0.4 * np.tanh(x)),
        (V, W[:3, None]),
    ),
    "RegularGridInterpolator at points": (lambda x: GRID(1 + 0.4 * np.tanh(x)), (W[:3, None],)),
    **{
        name: (spline(getattr(scipy.interpolate, name)), (V, W[:3]))
        for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "make_interp_spline")
    },
    "gaussian_kde": (lambda v, x: scipy.stats.gaussian_kde(unevenly(v))(x), (V, W[:3])),
    "gaussian_kde of known data": (lambda x: scipy.stats.gaussian_kde(V)(x), (W[:3],)),
    "boxcox_llf": (lambda v: scipy.stats.boxcox_llf(0.3, unevenly(v) ** 2 + 1), (V,)),
    "kurtosis": (lambda v: scipy.stats.kurtosis(unevenly(v)) + scipy.stats.skew(unevenly(v)), (V,)),
    "linregress": (lambda v, w: scipy.stats.linregress(unevenly(v), unevenly(w)[::-1]).slope, (V, W)),
    "pearsonr": (lambda v, w: scipy.stats.pearsonr(unevenly(v), unevenly(w)[::-1])[0], (V, W)),
    "sem": (lambda v: scipy.stats.sem(unevenly(v)) + scipy.stats.variation(unevenly(v)), (V,)),
    "zscore": (lambda v: scipy.stats.zscore(unevenly(v)), (V,)),
    "multivariate_normal": (
        lambda v, x: scipy.stats.multivariate_normal.logpdf(x, v, np.outer(v, v) + 2 * np.diag(1 + v**2))
        + scipy.stats.multivariate_normal.pdf(x, v, np.outer(v, v) + 2 * np.diag(1 + v**2)),
        (V, W),
    ),
    "Rotation.from_rotvec": (lambda v, w: Rotation.from_rotvec(rows(v, w, v * w)).as_matrix(), (V, W)),
    "Rotation.from_quat": (lambda v, w: Rotation.from_quat(rows(v, w, v * w, 1 + v**2)).as_matrix(), (V, W)),
    "Rotation.from_euler": (lambda v, w: Rotation.from_euler("xyz", rows(v, w, v * w)).as_quat(), (V, W)),
    "Rotation.from_mrp": (lambda v, w: Rotation.from_mrp(0.3 * rows(v, w, v * w)).as_rotvec(), (V, W)),
    "Rotation.from_matrix": (
        lambda v, w: Rotation.from_matrix(np.eye(3) + 0.1 * rows(v, w, v * w)[:, :, None]).as_matrix(), (V, W)
    ),
    "Rotation.concatenate": (
        lambda v, w: Rotation.concatenate([Rotation.from_rotvec(rows(v, w, w)), Rotation.from_rotvec(rows(w, v, w))])
        .as_matrix(),
        (V, W),
    ),
    "Rotation.align_vectors": (
        lambda v, w: Rotation.align_vectors(
            np.concatenate([rows(v, w, v), np.eye(3)]), np.concatenate([rows(w, v, v), np.eye(3)[::-1]])
        )[0].as_matrix(),
        (V, W),
    ),
}  # fmt: skip
LOOSE = {"leastsq": 1e-7, "fsolve": 1e-7, "newton": 1e-9}
"""The tolerance where SciPy's own answer is no more accurate."""
SIZED_ELSEWHERE = {
    "solve_continuous_are", "solve_discrete_are", "eigh_tridiagonal", "eigvalsh_tridiagonal", "multivariate_normal",
    "convolve2d", "correlate2d", "pearsonr", "linregress", "sem", "zscore", "Rotation.from_matrix",
    "Rotation.from_rotvec", "Rotation.from_quat",
}  # fmt: skip
"""Functions whose own tests differentiate them at symbolic sizes, too: slow tests."""


@pytest.mark.sweep(18)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SIZED_ELSEWHERE)) for n in FUNCTIONS]
)
def test_a_function_of_any_sizes_is_scipys_with_second_derivatives(name: str) -> None:
    function, args = FUNCTIONS[name]
    check_grads(lambda *given: function(*given), *args, value_tolerance=LOOSE.get(name, 1e-10))


DISTANCE, STATS, LINALG = scipy.spatial.distance, scipy.stats, scipy.linalg
SECTION = np.array([[1.0, 0.5, 0.0, 1.0, 0.1, 0.0]])

MISMATCHED: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "cosine": (DISTANCE.cosine, (4,), (1,)),
    "distance of correlation": (DISTANCE.correlation, (1,), (4,)),
    "variances of a distance": (lambda x, y: DISTANCE.seuclidean(x, 2 * x, y), (4,), (1,)),
    "cdist": (DISTANCE.cdist, (3, 3), (2, 1)),
    "cdist of one column": (lambda x, y: DISTANCE.cdist(x, y, "cosine"), (3, 1), (2, 3)),
    "weights of cdist": (lambda x, y: DISTANCE.cdist(x, 2 * x, "euclidean", w=y), (3, 3), (1,)),
    "weights of pdist": (lambda x, y: DISTANCE.pdist(x, "euclidean", w=y), (3, 1), (3,)),
    "variances of cdist": (lambda x, y: DISTANCE.cdist(x, 2 * x, "seuclidean", V=y), (3, 3), (1,)),
    "squareform": (lambda x, y: DISTANCE.squareform(0 * x) * y, (2, 3), (1,)),
    "distance_matrix": (scipy.spatial.distance_matrix, (3, 3), (2, 1)),
    "procrustes": (lambda x, y: scipy.spatial.procrustes(x, y)[2], (3, 3), (3, 2)),
    "simpson": (lambda y, x: scipy.integrate.simpson(y, x=x), (3,), (4,)),
    "simpson of rows": (lambda y, x: scipy.integrate.simpson(y, x=x, axis=0), (3, 3), (2,)),
    "cumulative_trapezoid": (scipy.integrate.cumulative_trapezoid, (5,), (2,)),
    "trapezoid of rows": (scipy.integrate.trapezoid, (3, 3), (3, 2)),
    "state of lfilter": (lambda x, z: scipy.signal.lfilter([1.0, 0.5], [1.0, -0.2], x, zi=z)[0], (5,), (2,)),
    "state of sosfilt": (lambda x, z: scipy.signal.sosfilt(SECTION, x, zi=z[None])[0], (3, 3), (3, 1)),
    "pearsonr": (lambda x, y: STATS.pearsonr(x, y)[0], (4,), (1,)),
    "spearmanr": (lambda x, y: STATS.spearmanr(x, y)[0], (4,), (1,)),
    "weights of a distribution": (lambda x, w: STATS.wasserstein_distance(x, [1.0, 2.0], w), (3,), (4,)),
    "chances": (lambda x, p: STATS.multinomial.logpmf(x, 10, p / 10), (4,), (1,)),
    "means of ttest_1samp": (lambda x, y: STATS.ttest_1samp(x, y)[0], (4,), (3,)),
    "weights of gmean": (lambda x, w: STATS.gmean(x, axis=0, weights=w), (3, 2), (3,)),
    "solve of one row": (lambda a, b: LINALG.solve(a, b, assume_a="pos"), (1, 3), (3,)),
    "eigvalsh of one column": (lambda a, b: LINALG.eigvalsh(a) * b, (3, 1), (1,)),
    "eigvalsh_tridiagonal": (LINALG.eigvalsh_tridiagonal, (1,), (4,)),
    "lu_solve": (lambda a, b: LINALG.lu_solve(LINALG.lu_factor(a @ a.T + np.eye(3)), b), (3, 3), (4,)),
    "mask of a dilation": (lambda x, m: scipy.ndimage.binary_dilation(x > 4, mask=m > 2), (3, 3), (3, 1)),
    "matrix of an affine_transform": (lambda x, m: scipy.ndimage.affine_transform(x, m, order=1), (3, 2), (3,)),
    "sites of interp1d": (lambda y, x: scipy.interpolate.interp1d(x, y, axis=1)(1.5), (3, 3), (2,)),
}
"""Sizes for which SciPy raises, of two arrays whose sizes are all symbols."""


NOTHING: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "convolve": (lambda x, y: scipy.signal.convolve(x, y), (0,), (3,)),
    "convolve with nothing": (lambda x, y: scipy.signal.convolve(x, y, "same"), (3,), (0,)),
    "correlate": (lambda x, y: scipy.signal.correlate(x, y), (2, 2), (0, 3)),
    "wasserstein_distance": (lambda x, y: scipy.stats.wasserstein_distance(x, y), (3,), (0,)),
    "energy_distance": (lambda x, y: scipy.stats.energy_distance(x, y), (0,), (3,)),
    "simpson": (lambda x, y: scipy.integrate.simpson(x) + y, (0,), (1,)),
    "cumulative_trapezoid": (lambda x, y: scipy.integrate.cumulative_trapezoid(x, initial=0) * y, (0,), (1,)),
    "gaussian_kde": (lambda x, y: scipy.stats.gaussian_kde(x)(y), (1,), (3,)),
    "pearsonr": (lambda x, y: scipy.stats.pearsonr(x, y)[0], (1,), (1,)),
    "dct of one": (lambda x, y: scipy.fft.dct(x, 1) + y, (1,), (1,)),
    "dst": (lambda x, y: scipy.fft.dst(x) * y, (0,), (1,)),
    "filtfilt": (lambda x, y: scipy.signal.filtfilt([1.0, 0.5], [1.0], x) * y, (4,), (1,)),
    "filtfilt by constants": (
        lambda x, y: scipy.signal.filtfilt([1.0, 0.5], [1.0], x, padtype="constant") * y,
        (4,),
        (1,),
    ),
    "khatri_rao": (lambda x, y: scipy.linalg.khatri_rao(x, y), (3, 1), (3, 2)),
    "companion": (lambda x, y: scipy.linalg.companion(x) * y, (1,), (1,)),
    "curve_fit": (lambda x, y: scipy.optimize.curve_fit(lambda t, a, b: a * t + b, x, y)[0], (1,), (1,)),
    "points of a grid": (lambda x, y: GRID(x) * y, (1, 2), (1,)),
    "neighbours": (lambda x, y: scipy.spatial.KDTree(x).query(y)[0], (4, 3), (2, 1)),
    "sites of pchip": (lambda x, y: scipy.interpolate.PchipInterpolator(x, np.arange(4.0))(y), (2,), (1,)),
    "elements of a sparse matrix": (
        lambda x, y: scipy.sparse.csr_matrix((x, ([0, 1], [1, 0])), shape=(2, 2)) @ y,
        (1,),
        (2,),
    ),
    "chebyshev": (lambda x, y: DISTANCE.chebyshev(x, y), (0,), (0,)),
    "sum_labels": (lambda x, y: scipy.ndimage.sum_labels(x, y, [1, 2]), (0,), (0,)),
}
"""Too few elements, or as many as do not fit."""

MISMATCHED |= NOTHING


SMALL: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "skew": (lambda x: scipy.stats.skew(x, bias=False), (2,)),
    "kurtosis": (lambda x: scipy.stats.kurtosis(x, bias=False), (3,)),
    "kurtosis of two": (lambda x: scipy.stats.kurtosis(x, bias=False), (2,)),
    "iqr": (lambda x: scipy.stats.iqr(x), (0, 3)),
    "gmean": (lambda x: scipy.stats.gmean(x, weights=x), (0,)),
    "tmin": (lambda x: scipy.stats.tmin(x, 1), (0,)),
    "logsumexp": (lambda x: scipy.special.logsumexp(x, b=x + 1), (0,)),
    "distances of no coordinates": (lambda x: DISTANCE.cdist(x, x, "chebyshev"), (2, 0)),
    "full convolution of matrices": (lambda x: scipy.signal.convolve2d(x, np.ones((2, 2))), (0, 3)),
}
"""Few or no elements, of which SciPy has an answer."""


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_of_few_elements_is_scipys(name: str) -> None:
    function, shape = SMALL[name]
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape) ** 2
    found = ps.trace(function, ps.spec("float64", [f"N{i}" for i in range(len(shape))]))(x)
    np.testing.assert_allclose(found, function(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MISMATCHED)
def test_a_run_whose_sizes_scipy_refuses_fails(name: str) -> None:
    function, *shapes = MISMATCHED[name]
    arrays = [np.arange(1.0, 1 + np.prod(s)).reshape(s) for s in shapes]
    with pytest.raises((ValueError, TypeError, RuntimeError, IndexError)):
        function(*arrays)
    program = ps.trace(function, *by_symbols(tuple(arrays)))
    with pytest.raises(ps.PrimsplitError, match=r"test_symbolic_sizes\.py"):
        program(*arrays)


BROADCAST: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "weights of gmean": (lambda x, w: STATS.gmean(x, axis=0, weights=w), (3, 3), (3,)),
    "one weight of pmean": (lambda x, w: STATS.pmean(x, 2, axis=0, weights=w), (3, 2), (1, 1)),
    "trapezoid": (scipy.integrate.trapezoid, (3, 3), (3, 1)),
    "mean of ttest_1samp": (lambda x, y: STATS.ttest_1samp(x, y)[0], (4,), (1,)),
    "ttest_ind of one": (lambda x, y: STATS.ttest_ind(x, y)[0], (4,), (1,)),
}
"""Sizes that SciPy broadcasts, or takes."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", BROADCAST)
def test_sizes_meet_as_in_scipy(name: str) -> None:
    function, *shapes = BROADCAST[name]
    arrays = [np.arange(1.0, 1 + np.prod(s)).reshape(s) ** 2 for s in shapes]
    check_agrees(function, *arrays)
