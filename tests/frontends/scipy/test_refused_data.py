"""Data for which SciPy raises: the run fails, and says the error; other data have the value of SciPy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, optimize, signal, spatial, special, stats
from scipy.spatial import distance

import primsplit as ps
from primsplit.ir.errors import RunError


class Case(NamedTuple):
    """A function, data that it takes, and data that it refuses."""

    function: Callable[[Any], Any]
    good: Any
    bad: Any
    tolerance: float = 1e-9


def array(*values: Any) -> Any:
    return np.array(values, dtype=np.float64)


SITES, VALUES = array(0, 1, 2, 3), array(1, 2, 0, 1)
UNSORTED = {"unsorted": array(0, 2, 1, 3), "repeated": array(0, 1, 1, 3), "missing": array(0, 1, np.nan, 3)}
ALPHA = array(1, 2, 3)
MATRIX = array([0, 1], [1, 0])


def at_sites(make: Any) -> Callable[[Any], Any]:
    return lambda x: make(x, VALUES)(0.5)


CASES: dict[str, Case] = {
    f"{make.__name__} of {kind} sites": Case(at_sites(make), SITES, bad)
    for make in (
        interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.Akima1DInterpolator,
        interpolate.make_interp_spline,
    )
    for kind, bad in UNSORTED.items()
}  # fmt: skip
CASES |= {
    f"{make.__name__} of missing values": Case(lambda y, make=make: make(SITES, y)(0.5), VALUES, array(1, 2, 0, np.nan))
    for make in (
        interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.Akima1DInterpolator,
        interpolate.make_interp_spline,
    )
}  # fmt: skip
ROWS, SYSTEM = array([1, 2, 0.5], [0, 1, 3], [2, 0, 1], [1, 1, 4]), array([4, 1, 0], [1, 3, 1], [0, 1, 5])
MISSING, NONE = array([4, 1, 0], [1, np.nan, 1], [0, 1, 5]), np.zeros((3, 3))
SIGNAL = np.sin(np.arange(12.0))
SOLVED: dict[str, Callable[[Any], Any]] = {
    "inv": linalg.inv, "det": linalg.det, "cholesky": linalg.cholesky, "norm": linalg.norm, "svdvals": linalg.svdvals,
    "eigvalsh": linalg.eigvalsh, "pinv": linalg.pinv, "logm": linalg.logm, "polar": lambda a: linalg.polar(a)[0],
    "lu": lambda a: linalg.lu(a)[2], "qr": lambda a: linalg.qr(a)[1], "eigvals": lambda a: linalg.eigvals(a).real,
    "solve": lambda a: linalg.solve(a, ALPHA), "solve of a side": lambda a: linalg.solve(SYSTEM, a),
    "cho_solve": lambda a: linalg.cho_solve(linalg.cho_factor(a), ALPHA),
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), ALPHA), "lstsq": lambda a: linalg.lstsq(a, ALPHA)[0],
    "solve_triangular": lambda a: linalg.solve_triangular(a, ALPHA),
    "solve_sylvester": lambda a: linalg.solve_sylvester(a, SYSTEM, np.eye(3)),
    "solve_continuous_are": lambda a: linalg.solve_continuous_are(a, np.eye(3), np.eye(3), np.eye(3)),
    "list of a matrix": lambda a: linalg.inv([a[0], a[1], a[2]]),
    "np.linalg.eigvals": lambda a: np.linalg.eigvals(a).real,
    "np.linalg.svd": lambda a: np.linalg.svd(a)[1], "np.linalg.matrix_rank": np.linalg.matrix_rank,
    "np.linalg.lstsq": lambda a: np.linalg.lstsq(a, ALPHA, rcond=None)[0],
}  # fmt: skip
CASES |= {f"{name} of missing numbers": Case(f, SYSTEM, MISSING) for name, f in SOLVED.items()}
CASES |= {
    f"{make.__name__} of repeated sites": Case(at_sites(make), SITES, array(0, 1, 0, 3))
    for make in (interpolate.BarycentricInterpolator,)
}
CASES |= {
    f"{kind} of interp1d outside": Case(
        lambda x, kind=kind: interpolate.interp1d(SITES, VALUES, kind)(x), array(0.5, 2.2), array(0.5, bad)
    )
    for kind, bad in (("linear", 3.5), ("cubic", -1.0), ("nearest", np.inf), ("previous", 9.0))
}
CASES |= {
    "interp1d of traced values outside": Case(
        lambda x: interpolate.interp1d(SITES, VALUES * x[0])(x[1]), array(2, 0.5), array(2, 3.5)
    ),
    "interp1d with a fill value outside": Case(
        lambda x: interpolate.interp1d(SITES, VALUES * x[0], fill_value=0.0)(x[1]), array(2, 0.5), array(2, -0.5)
    ),
    "point outside of a grid": Case(
        lambda x: interpolate.RegularGridInterpolator((SITES, SITES), np.outer(VALUES, VALUES))(x),
        array([0.5, 1.5]),
        array([0.5, 3.5]),
    ),
    "point of interpn outside": Case(
        lambda x: interpolate.interpn((SITES, SITES), np.outer(VALUES, VALUES), x), array([0.5, 1]), array([-0.5, 1])
    ),
    "RBFInterpolator of repeated points": Case(
        lambda x: interpolate.RBFInterpolator(x, ALPHA)(array([0.5, 0.5])), array([0, 0], [1, 0], [0, 1]), NONE[:, :2]
    ),
    "knots that are all equal": Case(
        lambda t: interpolate.BSpline(t, array(1, 2, 3), 1)(0.5), array(0, 0, 1, 2, 2), array(0, 1, 1, 1, 1)
    ),
    "detrend": Case(signal.detrend, SIGNAL, np.where(SIGNAL > 0.9, np.nan, SIGNAL)),
    "savgol_filter at an end": Case(
        lambda x: signal.savgol_filter(x, 5, 2), SIGNAL, np.concatenate([SIGNAL[:-1], [np.inf]])
    ),
    "filtfilt": Case(lambda a: signal.filtfilt(array(1, 2), a, SIGNAL), array(2, 0.5), array(0, 0.5)),
    "lfiltic": Case(lambda a: signal.lfiltic(array(1, 2), a, VALUES), array(2, 0.5), array(0, 0.5)),
    "welch at no rate": Case(lambda fs: signal.welch(SIGNAL, fs, nperseg=4)[1], 2.0, 0.0),
    "periodogram at a negative rate": Case(lambda fs: signal.periodogram(SIGNAL, fs)[1], 2.0, -1.0),
    "tf2ss": Case(lambda a: signal.tf2ss(array(1), a)[0], array(2, 1), array(0, 0)),
    "chirp": Case(lambda f: signal.chirp(SITES, f, 2.0, 3.0, method="logarithmic"), 1.0, -1.0),
    "solve_toeplitz": Case(lambda c: linalg.solve_toeplitz(c, ALPHA), array(4, 1, 0.5), array(1, 1, 1)),
    "solve_banded": Case(lambda ab: linalg.solve_banded((1, 1), ab, ALPHA), SYSTEM + 1, NONE),
    "weight of solve_continuous_are": Case(
        lambda r: linalg.solve_continuous_are(SYSTEM, np.eye(3), np.eye(3), r), np.eye(3), NONE
    ),
    "state of solve_discrete_are": Case(
        lambda q: linalg.solve_discrete_are(SYSTEM, np.eye(3), q, np.eye(3)), np.eye(3), np.triu(SYSTEM)
    ),
    "KDTree": Case(lambda x: spatial.KDTree(x).query(ALPHA)[0], ROWS, np.where(ROWS == 3, np.nan, ROWS)),
    "place asked of a KDTree": Case(lambda x: spatial.KDTree(ROWS).query(x)[0], ALPHA, array(1, np.inf, 2)),
    "NearestNDInterpolator": Case(
        lambda x: interpolate.NearestNDInterpolator(ROWS[:, :2], VALUES)(x), array([0.5, 0.5]), array([np.nan, 1])
    ),
    "procrustes": Case(lambda x: spatial.procrustes(ROWS, x)[2], ROWS**2, np.ones((4, 3))),
    "rotation of no quaternion": Case(
        lambda q: spatial.transform.Rotation.from_quat(q).as_matrix(), array(1, 2, 3, 4), np.zeros(4)
    ),
    "rotation of a mirror": Case(
        lambda m: spatial.transform.Rotation.from_matrix(m).as_quat(), np.eye(3), np.diag([1.0, 1, -1])
    ),
    "align_vectors": Case(
        lambda w: spatial.transform.Rotation.align_vectors(ROWS, ROWS[::-1], w)[0].as_matrix(),
        array(1, 2, 1, 1),
        array(1, -2, 1, 1),
    ),
    "mahalanobis of flat rows": Case(lambda x: distance.pdist(x, "mahalanobis"), ROWS, np.ones((4, 3))),
    "euclidean": Case(lambda x: distance.euclidean(x, ALPHA), ALPHA * 2, array(1, np.nan, 2)),
    "seuclidean": Case(lambda v: distance.seuclidean(ALPHA, ALPHA * 2, v), ALPHA, array(1, -1, 2)),
    "seuclidean of no variance": Case(lambda v: distance.seuclidean(ALPHA, ALPHA * 2, v), ALPHA, array(1, 0, 2)),
    "gaussian_kde of equal numbers": Case(lambda x: stats.gaussian_kde(x)(0.5), VALUES, np.full(4, 0.1)),
    "gaussian_kde of a line": Case(
        lambda x: stats.gaussian_kde(x)(array([0.5], [0.5])),
        array([1, 2, 0, 1], [0, 1, 3, 2]),
        array(VALUES, [0, 0, 0, 0]),
    ),
    "gaussian_kde of missing numbers": Case(lambda x: stats.gaussian_kde(x)(0.5), VALUES, array(1, 2, np.nan, 0)),
    "gaussian_kde at a missing number": Case(lambda x: stats.gaussian_kde(VALUES)(x), 0.5, np.nan),
    "weights of gaussian_kde": Case(lambda w: stats.gaussian_kde(VALUES, weights=w)(0.5), VALUES, VALUES - 1),
    "weights of wasserstein_distance": Case(
        lambda w: stats.wasserstein_distance(ALPHA, ALPHA + 1, w), ALPHA, ALPHA - 2
    ),
    "multivariate_normal": Case(lambda c: stats.multivariate_normal.logpdf(ALPHA, ALPHA, c), SYSTEM, -SYSTEM),
    "multivariate_normal of a flat covariance": Case(
        lambda c: stats.multivariate_normal(cov=c).logpdf(ALPHA), SYSTEM, np.ones((3, 3))
    ),
    "matrix_normal": Case(lambda c: stats.matrix_normal.logpdf(SYSTEM, NONE, c, SYSTEM), SYSTEM, MISSING),
    "fixed_quad": Case(lambda b: integrate.fixed_quad(np.exp, 0.0, b)[0], 1.0, np.inf),
    "quad_vec": Case(lambda b: integrate.quad_vec(lambda t: t * array(1, 2), 0.0, b)[0], 1.0, np.nan),
    "Slerp outside": Case(
        lambda t: spatial.transform.Slerp([0.0, 1, 2], spatial.transform.Rotation.from_rotvec(SYSTEM))(t).as_quat(),
        array(0.5, 1.5),
        array(0.5, 2.5),
    ),
}
CASES |= {
    "make_lsq_spline": Case(
        lambda y: interpolate.make_lsq_spline(SITES, y, array(0, 0, 0, 0, 3, 3, 3, 3))(0.5),
        VALUES,
        array(1, np.inf, 0, 1),
    ),
    "linregress": Case(lambda x: stats.linregress(x, ALPHA).slope, array(1, 2, 4), array(2, 2, 2)),
    "entropy": Case(lambda base: stats.entropy(array(0.3, 0.7), base=base), 2.0, -2.0),
    "lfilter": Case(lambda a: signal.lfilter(array(1, 2), a, VALUES), array(2, 0.5), array(0, 0.5)),
    "CubicHermiteSpline": Case(
        lambda x: interpolate.CubicHermiteSpline(x, VALUES, VALUES)(0.5), SITES, UNSORTED["unsorted"]
    ),
    "CubicSpline of falling sites": Case(at_sites(interpolate.CubicSpline), SITES, SITES[::-1].copy()),
    "periodic CubicSpline": Case(
        lambda y: interpolate.CubicSpline(SITES, y, bc_type="periodic")(array(0.5)[0] + 0 * y[0]),
        VALUES,
        array(1, 2, 0, 2),
    ),
    "InterpolatedUnivariateSpline": Case(
        at_sites(interpolate.InterpolatedUnivariateSpline), SITES, UNSORTED["unsorted"]
    ),
    "splrep": Case(lambda x: interpolate.splev(0.5, interpolate.splrep(x, VALUES)), SITES, UNSORTED["unsorted"]),
    "knots of a BSpline": Case(
        lambda t: interpolate.BSpline(t, array(1, 2, 3, 4), 3)(0.5),
        array(0, 0, 0, 0, 1, 1, 1, 1),
        array(0, 0, 2, 0, 1, 1, 1, 1),
    ),
    "PPoly": Case(lambda x: interpolate.PPoly(array([1, 2, 3]), x)(0.5), SITES, UNSORTED["unsorted"]),
    "dirichlet of no simplex": Case(
        lambda x: stats.dirichlet.logpdf(x, ALPHA), array(0.2, 0.3, 0.5), array(0.2, 0.3, 0.9)
    ),
    "dirichlet of a negative share": Case(
        lambda x: stats.dirichlet.pdf(x, ALPHA), array(0.2, 0.3, 0.5), array(-0.2, 0.7, 0.5)
    ),
    "dirichlet of two shares": Case(lambda x: stats.dirichlet.logpdf(x, ALPHA), array(0.2, 0.3), array(0.8, 0.9)),
    "dirichlet at a pole": Case(
        lambda x: stats.dirichlet.logpdf(x, array(0.5, 2, 3)), array(0.2, 0.3, 0.5), array(0, 0.5, 0.5)
    ),
    "parameters of dirichlet": Case(lambda a: stats.dirichlet.logpdf(array(0.2, 0.3, 0.5), a), ALPHA, array(1, -2, 3)),
    "mean of dirichlet": Case(stats.dirichlet.mean, ALPHA, array(1, -2, 3)),
    "wishart": Case(lambda d: stats.wishart.logpdf(np.eye(2), d, np.eye(2)), 3.0, 0.5),
    "invwishart": Case(lambda d: stats.invwishart.logpdf(np.eye(2), d, np.eye(2)), 3.0, 0.5),
    "chisquare": Case(lambda x: stats.chisquare(x, ALPHA)[0], array(2, 2, 2), array(2, 2, 3)),
    "power_divergence": Case(lambda x: stats.power_divergence(x, ALPHA, lambda_=0)[0], array(2, 2, 2), array(2, 2, 3)),
    "squareform": Case(distance.squareform, MATRIX, array([0, 1], [2, 0])),
    "squareform of a diagonal": Case(distance.squareform, MATRIX, array([1, 1], [1, 0])),
    "minkowski": Case(lambda p: distance.minkowski(array(1, 2), array(2, 4), p), 2.0, -1.0),
    "companion": Case(lambda a: linalg.companion(a), array(1, 2, 3), array(0, 2, 3)),
    "sosfilt": Case(
        lambda s: signal.sosfilt(s, array(1, 2, 3)), array([1, 0, 0, 1, 0.5, 0]), array([1, 0, 0, 2, 0.5, 0])
    ),
    "butter above Nyquist": Case(lambda w: signal.butter(2, w)[0], 0.3, 1.5),
    "butter below 0": Case(lambda w: signal.butter(2, w)[0], 0.3, -0.5),
    "butter in hertz": Case(lambda w: signal.butter(2, w, fs=100.0)[0], 10.0, 60.0),
    "edges of a band": Case(lambda w: signal.butter(2, w, "band")[0], array(0.2, 0.4), array(0.4, 0.2)),
    "t_eval outside": Case(
        lambda t: integrate.solve_ivp(lambda t, y: -y, (0, 1.0), array(1), t_eval=t).y[0],
        array(0.5, 1),
        array(0.5, 2),
        1e-3,
    ),
    "t_eval unsorted": Case(
        lambda t: integrate.solve_ivp(lambda t, y: -y, (0, 1.0), array(1), t_eval=t).y[0],
        array(0.5, 1),
        array(1, 0.5),
        1e-3,
    ),
    "max_step": Case(
        lambda h: integrate.solve_ivp(lambda t, y: -y, (0, 1.0), array(1), max_step=h).y[0, -1], 1.0, -1.0, 1e-3
    ),
    "first_step": Case(
        lambda h: integrate.solve_ivp(lambda t, y: -y, (0, 1.0), array(1), first_step=h).y[0, -1], 0.1, 2.0, 1e-3
    ),
    "a bracket": Case(
        lambda m: optimize.minimize_scalar(lambda t: (t - 1) ** 2, bracket=(0.0, m, 3.0)).x, 0.9, 5.0, 1e-6
    ),
    "multigammaln": Case(lambda a: special.multigammaln(a, 3), 2.0, 0.9),
    "odeint": Case(
        lambda t: integrate.odeint(lambda y, t: -y, array(1), t)[:, 0], array(0, 0.5, 1), array(0, 1, 0.5), 1e-6
    ),
    "minimize_scalar": Case(
        lambda b: optimize.minimize_scalar(lambda t: (t - 0.5) ** 2, bounds=(0.0, b), method="bounded").x,
        1.0,
        -1.0,
        1e-4,
    ),
    "minimize": Case(
        lambda b: optimize.minimize(lambda t: ((t - 2.0) ** 2).sum(), array(0.5), bounds=[(0.0, b)]).x, 1.0, -1.0
    ),
    "lsq_linear": Case(
        lambda b: optimize.lsq_linear(np.eye(2), array(1, 2), bounds=(0, b)).x, array(3, 1), array(-1, -1), 1e-6
    ),
    "nnls": Case(lambda a: optimize.nnls(a, array(1, 2))[0], np.eye(2), array([np.nan, 0], [0, 1])),
    "curve_fit": Case(
        lambda y: optimize.curve_fit(lambda t, a: a * t, array(1, 2), y)[0], array(1, 2), array(1, np.nan), 1e-6
    ),
}
for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine"):
    CASES[f"weights of {name}"] = Case(
        lambda w, name=name: getattr(distance, name)(array(1, 2, 5), array(2, 3, 1), w), array(1, 2, 1), array(1, -2, 1)
    )
    CASES[f"weights of cdist, {name}"] = Case(
        lambda w, name=name: distance.cdist(array([1, 2, 5]), array([2, 3, 1]), name, w=w),
        array(1, 2, 1),
        array(1, -2, 1),
    )


CASES |= {
    "solve_ivp": Case(
        lambda y: integrate.solve_ivp(lambda t, y: -y, (0, 1), y).y[:, -1], array(1, 2), array(1, np.inf), 1e-6
    ),
    "odeint": Case(lambda t: integrate.odeint(lambda y, t: -y, 1.0, t), SITES, array(0, np.nan, 1, 2), 1e-6),
    "least_squares": Case(lambda y: optimize.least_squares(lambda x: x * x - y, [1.0]).x, 4.0, np.nan, 1e-6),
}

BANDS, PAIR = array([0, 1, 1], [4, 4, 4]), array([2, 1], [1, 3])
INTEGRATOR, FORCE = array([1, 0], [0, 2]), array([0], [1])
CASES |= {
    f"interp1d of {kind} sites, {how}": Case(
        lambda x, how=how: interpolate.interp1d(x, VALUES, how, assume_sorted=True)(0.5), SITES, UNSORTED[kind]
    )
    for kind in ("unsorted", "repeated")
    for how in ("slinear", "zero")
}
CASES |= {
    "interp1d that sorts repeated sites": Case(
        lambda x: interpolate.interp1d(x, VALUES, "zero")(0.5), array(3, 0, 1, 2), array(3, 1, 1, 0)
    ),
    "solveh_banded": Case(lambda ab: linalg.solveh_banded(ab, ALPHA), BANDS, array([0, 5, 1], [4, 4, 4])),
    "solveh_banded, lower": Case(
        lambda ab: linalg.solveh_banded(ab, ALPHA, lower=True), BANDS[::-1].copy(), array([4, 4, 0.01], [1, 1, 0])
    ),
    "solveh_banded of five diagonals": Case(
        lambda ab: linalg.solveh_banded(np.stack([0.5 * ab[0], *ab]), ALPHA), BANDS, array([0, 1, 1], [4, 4, 0.1])
    ),
    "solveh_banded of five diagonals, lower": Case(
        lambda ab: linalg.solveh_banded(np.stack([*ab[::-1], 0.5 * ab[0]]), ALPHA, lower=True),
        BANDS,
        array([0, 1, 1], [4, 4, 0.1]),
    ),
    "solveh_banded of complex numbers": Case(
        lambda ab: linalg.solveh_banded(np.stack([ab[0] * 1j, ab[1] + 0j]), ALPHA).real, BANDS, -BANDS
    ),
    "solveh_banded of a known matrix": Case(
        lambda x: linalg.solveh_banded(BANDS * (1.0 if x > 0 else -1.0), ALPHA * x), 2.0, -2.0
    ),
    "solve of a positive definite matrix": Case(lambda a: linalg.solve(a, ALPHA, assume_a="pos"), SYSTEM, -SYSTEM),
    "solve by an upper triangle": Case(
        lambda a: linalg.solve(a, array(1, 2), assume_a="pos"), array([2, 1], [9, 3]), array([2, 9], [1, 3])
    ),
    "solve by a lower triangle": Case(
        lambda a: linalg.solve(a, array(1, 2), assume_a="pos", lower=True), array([2, 9], [1, 3]), array([2, 1], [9, 3])
    ),
    "solve of complex matrices": Case(
        lambda a: linalg.solve(a * (1 + 0j), array(1, 2), assume_a="pos").real, PAIR, array([1, 2], [2, 1])
    ),
    "solve of a stack": Case(
        lambda a: linalg.solve(np.stack([PAIR, a]), array([1], [2]), assume_a="pos"), PAIR, array([1, 2], [2, 1])
    ),
    "inv of a positive definite matrix": Case(lambda a: linalg.inv(a, assume_a="pos"), PAIR, -PAIR),
    "solve_continuous_are of what is not controlled": Case(
        lambda b: linalg.solve_continuous_are(INTEGRATOR, b, np.eye(2), array([1])), array([1], [1]), FORCE
    ),
    "solve_continuous_are of what does not settle": Case(
        lambda q: linalg.solve_continuous_are(array([0, 1], [0, 0]), FORCE, q, array([1])), PAIR, np.diag([1.0, -5])
    ),
    "solve_continuous_are at another solution": Case(
        lambda a: linalg.solve_continuous_are(a, FORCE, NONE[:2, :2], array([1])),
        np.diag([-1.0, -2]),
        np.diag([1.0, -2]),
    ),
    "solve_discrete_are of what is not controlled": Case(
        lambda b: linalg.solve_discrete_are(INTEGRATOR, b, np.eye(2), array([1])), array([1], [1]), FORCE
    ),
    "solve_discrete_are of a negative weight": Case(
        lambda r: linalg.solve_discrete_are(INTEGRATOR, array([1], [1]), np.eye(2), r), array([1]), array([-9])
    ),
}

LIMITED = array([1, 2], [2, 3], [4, 3])
CASES |= {
    f"{make.__name__} of none within the limits": Case(
        lambda x, make=make: make(x, (1.5, 9), axis=0), LIMITED, LIMITED / 9
    )
    for make in (stats.tmean, stats.tvar, stats.tstd, stats.tsem)
}
CASES |= {
    "tmin": Case(lambda x: stats.tmin(x, 1.5), ALPHA, ALPHA / 9),
    "tmax by a limit": Case(lambda high: stats.tmax(ALPHA, high), 2.5, 0.5),
    "multivariate_t": Case(lambda a: stats.multivariate_t.pdf(ALPHA, ALPHA, a, 3), SYSTEM, np.ones((3, 3)) - np.eye(3)),
    "multivariate_t of an indefinite shape": Case(
        lambda a: stats.multivariate_t.logpdf(ALPHA, ALPHA, a, 3), SYSTEM, np.ones((3, 3)) - np.eye(3)
    ),
    "a singular covariance that is indefinite": Case(
        lambda a: stats.multivariate_normal.logpdf(ALPHA, ALPHA, a, allow_singular=True), SYSTEM, -SYSTEM
    ),
    "multivariate_t of missing numbers": Case(
        lambda a: stats.multivariate_t.logpdf(ALPHA, ALPHA, a, 3), SYSTEM, MISSING
    ),
    "scale of wishart": Case(lambda a: stats.wishart.logpdf(PAIR, 3, a), PAIR, -PAIR),
    "wishart at a singular matrix": Case(lambda x: stats.wishart.pdf(x, 3, PAIR), PAIR, np.ones((2, 2))),
    "wishart at missing numbers": Case(lambda x: stats.wishart.pdf(x, 3, PAIR), PAIR, PAIR * np.nan),
    "scale of invwishart": Case(lambda a: stats.invwishart.pdf(PAIR, 3, a), PAIR, array([1, 2], [2, 1])),
    "invwishart at an indefinite matrix": Case(
        lambda x: stats.invwishart.logpdf(x, 3, PAIR), PAIR, array([1, 2], [2, 1])
    ),
    "bounds of minimize_scalar": Case(
        lambda b: optimize.minimize_scalar(lambda t: (t - 0.5) ** 2, bounds=(0.0, b), method="bounded").x,
        1.0,
        np.inf,
        1e-4,
    ),
    "matrix of lsq_linear": Case(lambda a: optimize.lsq_linear(a, array(1, 2)).x, PAIR, PAIR * np.nan, 1e-6),
    **{
        f"{find.__name__} of {kind}": Case(lambda a, find=find: find(lambda x: x * x - a, 0.0, 3.0), 2.0, bad)
        for find in (optimize.brentq, optimize.brenth, optimize.bisect, optimize.ridder, optimize.toms748)
        for kind, bad in {"ends of one sign": -1.0, "NaN": np.nan}.items()
    },
    "root_scalar": Case(lambda a: optimize.root_scalar(lambda x: x * x - a, bracket=(0, 3)).root, 2.0, 10.0),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_data_that_scipy_refuses_fail_in_the_run_with_its_error(case: Case) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        case.function(case.bad)
    program = ps.trace(case.function, case.good)
    np.testing.assert_allclose(program(case.good), case.function(case.good), rtol=case.tolerance, atol=1e-13)
    with pytest.raises(RunError, match=r"raises (ValueError|LinAlgError): "):
        program(case.bad)


def test_a_distance_matrix_of_rows_is_symmetric_for_squareform() -> None:
    rows = np.random.default_rng(0).standard_normal((7, 3))

    def total(x: Any) -> Any:
        return np.sum(distance.squareform(distance.cdist(x, x)))

    np.testing.assert_allclose(ps.trace(total, rows)(rows), total(rows), rtol=1e-12)


def test_the_gradient_of_a_density_fails_outside_of_the_simplex() -> None:
    gradient = ps.grad(lambda x, a: stats.dirichlet.logpdf(x, a), wrt=1)
    with pytest.raises(RunError, match="normal simplex"):
        gradient(array(0.2, 0.3, 0.9), ALPHA)


def test_squareform_without_checks_takes_any_matrix() -> None:
    program = ps.trace(lambda x: distance.squareform(x, checks=False), MATRIX)
    np.testing.assert_array_equal(program(array([0, 3], [2, 0])), [3.0])


LOST: dict[str, Callable[[Any], Any]] = {
    "lsq_linear": lambda y: optimize.lsq_linear(SYSTEM, y).x,
    "leastsq": lambda y: optimize.leastsq(lambda x: x - y, [1.0, 1.0, 1.0])[0],
    "minimize": lambda y: optimize.minimize(lambda x: np.sum((x - y) ** 2), [1.0, 1.0, 1.0]).x,
    "minimize_scalar": lambda y: optimize.minimize_scalar(lambda x: np.sum((x - y) ** 2)).x,
}


@pytest.mark.parametrize("name", LOST)
def test_a_least_value_of_missing_numbers_is_missing(name: str) -> None:
    found = ps.trace(LOST[name], ALPHA)
    np.testing.assert_allclose(found(ALPHA), LOST[name](ALPHA), rtol=1e-4, atol=1e-6)
    assert np.isnan(found(array(1, np.nan, 3))).all()


def test_least_squares_by_an_infinite_right_side_are_missing() -> None:
    assert np.isnan(ps.trace(LOST["lsq_linear"], ALPHA)(array(1, np.inf, 3))).all()


def test_solveh_banded_of_no_and_of_one_equation() -> None:
    program = ps.trace(linalg.solveh_banded, ps.spec("float64", [2, "N"]), ps.spec("float64", ["N"]))
    assert program(np.zeros((2, 0)), np.zeros(0)).shape == (0,)
    np.testing.assert_allclose(program(array([0], [4]), array(2)), [0.5])
    with pytest.raises(RunError, match="not positive definite"):
        program(array([0], [-4]), array(2))


def test_a_batch_fails_where_one_of_its_matrices_is_not_positive_definite() -> None:
    solved = ps.vmap(lambda a: linalg.solve(a, array(1, 2), assume_a="pos"))
    np.testing.assert_allclose(solved(np.stack([PAIR, 2 * PAIR])), np.outer([1, 0.5], np.linalg.solve(PAIR, [1, 2])))
    with pytest.raises(RunError, match="not positive definite"):
        solved(np.stack([PAIR, -PAIR]))


def test_a_gradient_fails_where_a_matrix_is_not_positive_definite(tmp_path: Path) -> None:
    def function(ab: Any) -> Any:
        return np.sum(linalg.solveh_banded(ab, ALPHA) ** 2)

    gradient = ps.grad(function)
    step = 1e-6 * np.eye(6).reshape(6, 2, 3)
    wanted = [(function(BANDS + h) - function(BANDS - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(gradient(BANDS).ravel(), wanted, atol=1e-8)
    with pytest.raises(RunError, match="not positive definite"):
        gradient(-BANDS)
    ps.export(function, BANDS, wrt=0, path=tmp_path / "banded.onnx")
    with pytest.raises(RunError, match="not positive definite"):
        ps.load(tmp_path / "banded.onnx")(-BANDS)


@pytest.mark.parametrize("kind", ["diagonal", "tridiagonal"])
def test_solve_reads_the_diagonals_that_it_is_told(kind: str) -> None:
    full = SYSTEM + 0.5
    program = ps.trace(lambda a: linalg.solve(a, ALPHA, assume_a=kind), full)
    np.testing.assert_allclose(program(full), linalg.solve(full, ALPHA, assume_a=kind), rtol=1e-12)


def test_interp1d_of_missing_sites_has_missing_values() -> None:
    program = ps.trace(lambda x: interpolate.interp1d(x, VALUES, "zero", bounds_error=False)(0.5), SITES)
    assert np.isnan(program(array(0, 1, np.nan, 3)))


LOST_ROOTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a slope of 0": (lambda a: optimize.newton(lambda x: x * x - 2, a, lambda x: 2 * x), 0.0),
    "a start at infinity": (lambda a: optimize.newton(lambda x: x * x - 2, a, lambda x: 2 * x), np.inf),
    "a flat secant": (lambda a: optimize.newton(lambda x: x * x * 0 + a, 1.0), 1.0),
    "no root": (lambda a: optimize.newton(lambda x: x * x + a, 1.0), 1.0),
    "missing numbers": (lambda a: optimize.fixed_point(lambda x: np.cos(a * x), 0.5), np.nan),
}


@pytest.mark.parametrize("name", LOST_ROOTS)
def test_a_root_that_is_not_found_fails_in_the_run(name: str) -> None:
    function, bad = LOST_ROOTS[name]
    with pytest.raises(RuntimeError, match="Failed to converge"), np.errstate(all="ignore"):
        function(bad)
    with pytest.raises(RunError, match="raises RuntimeError: Failed to converge"):
        ps.trace(function, bad)(bad)


def test_an_array_of_newtons_roots_holds_nan_where_none_is_found() -> None:
    found = ps.trace(lambda a: optimize.newton(lambda x: x * x - a, np.ones(2), lambda x: 2 * x), array(2, 3))
    np.testing.assert_allclose(found(array(2, 3)), np.sqrt([2, 3]))
    assert np.isnan(found(array(np.nan, 3))).tolist() == [True, False]


def test_the_gradient_of_a_root_fails_where_there_is_none() -> None:
    gradient = ps.grad(lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 3.0))
    np.testing.assert_allclose(gradient(2.0), 0.5 / np.sqrt(2.0))
    with pytest.raises(RunError, match="different signs"):
        gradient(-2.0)


def test_an_empty_sample_has_no_mean_within_limits_and_no_error() -> None:
    program = ps.trace(lambda x: stats.tmean(x, (1.5, None)), ps.spec("float64", ["N"]))
    np.testing.assert_allclose(program(ALPHA), 2.5)
    assert np.isnan(program(array()))
    with pytest.raises(RunError, match="No array values within given limits"):
        program(ALPHA / 9)
