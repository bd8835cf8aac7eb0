"""SciPy's functions at sizes that only the run knows, 0, 1 and 2 among them: its answer, or none where it raises."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.special
import scipy.stats
from scipy.spatial.transform import Rotation, Slerp

import primsplit as ps
from tests.every_size import check_every_size
from tests.versions import is_since

SIGNAL, IP, IMAGE = scipy.signal, scipy.interpolate, scipy.ndimage
STATS, OPTIMIZE, DISTANCE = scipy.stats, scipy.optimize, scipy.spatial.distance
SECTIONS = np.array([[1.0, 0.5, 0.0, 1.0, 0.1, 0.0], [1.0, 0.2, 0.1, 1.0, 0.3, 0.1]])

Row = tuple[Any, ...]


def sections(x: Any) -> Any:
    """Filters of second order with these coefficients, but for the leading ones."""
    return np.concatenate([1 + 0.2 * x[:, :1], 0.2 * x[:, 1:3], np.ones_like(x[:, :1]), 0.2 * x[:, 3:]], axis=1)


FILTERS: dict[str, Row] = {
    "lfilter": (SIGNAL.lfilter, "leading N", "leading M", "3"),
    "lfilter of nothing": (lambda b, x: SIGNAL.lfilter(b, [1.0], x), "leading N", "M"),
    "lfilter of rows of nothing": (lambda a, x: SIGNAL.lfilter([1.0, 0.5], a, x), "leading N", "M 2"),
    "lfilter from a state": (lambda b, x, z: SIGNAL.lfilter(b, [1.0, 0.2], x, zi=z), "leading N", "3", "M"),
    "lfilter_zi": (SIGNAL.lfilter_zi, "leading N", "leading M"),
    "lfiltic": (lambda b, y, x: SIGNAL.lfiltic(b, [1.0, -0.2], y, x), "leading N", "2", "M"),
    "filtfilt": (lambda b, x: SIGNAL.filtfilt(b, [1.0, 0.1], x), "leading N", "13"),
    "sosfilt": (lambda s, x: SIGNAL.sosfilt(sections(s), x), "N 5", "M"),
    "sosfilt of a signal": (lambda x: SIGNAL.sosfilt(SECTIONS, x), "M"),
    "sosfilt from states": (lambda x, z: SIGNAL.sosfilt(SECTIONS, x, zi=z), "3", "N 2"),
    "sosfilt from as many states": (lambda s, x, z: SIGNAL.sosfilt(sections(s), x, zi=z), "N 5", "3", "N 2"),
    "deconvolve": (SIGNAL.deconvolve, "N", "leading M"),
    "deconvolve by known numbers": (lambda x: SIGNAL.deconvolve(x, [1.0, 0.5]), "N"),
    "convolve2d, mirrored": (lambda x, y: SIGNAL.convolve2d(x, y, "same", "symm"), "3 3", "N M", (1, 2, 4)),
    "convolve2d of nothing": (lambda x, y: SIGNAL.convolve2d(x, y), "N 3", "2 M"),
    "convolution of integers": (lambda x, y: SIGNAL.convolve(x, y, "same"), "places N", "places M"),
}

SITES = np.array([0.0, 0.4, 1.0, 1.7, 2.2])
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.1], [0.4, 0.5]])


def periodic(x: Any, y: Any) -> Any:
    return IP.CubicSpline(x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic")(1.3)


SPLINES: dict[str, Row] = {
    **{
        f"CubicSpline, {ends}": (
            lambda x, y, q, ends=ends: IP.CubicSpline(x, y, bc_type=ends)(q),
            "ascending N", "N 2", "2", (0, 1, 2, 3, 5),
        )
        for ends in ("not-a-knot", "natural", ("clamped", "not-a-knot"))
    },
    "CubicSpline, periodic": (periodic, "ascending N", "N", (0, 1, 2, 3, 4, 5)),
    "CubicSpline at known sites": (lambda y: IP.CubicSpline(SITES, y)(1.3), "N", (0, 4, 5)),
    "PchipInterpolator": (lambda x, y, q: IP.PchipInterpolator(x, y)(q), "ascending N", "N", "M", (0, 1, 2, 3)),
    "Akima1DInterpolator": (
        lambda x, y: IP.Akima1DInterpolator(x, y)(x[:1] * 0.7 + x[-1:] * 0.3), "ascending N", "N 2", (1, 2, 3, 5)
    ),
    "CubicHermiteSpline of no points": (
        lambda x, y, q: IP.CubicHermiteSpline(x, y, y)(q), "ascending N", "N", "M", (0, 1, 2)
    ),
    **{
        f"make_interp_spline of order {k}": (
            lambda x, y, q, k=k: IP.make_interp_spline(x, y, k)(q), "ascending N", "N", "2", (k, k + 1, k + 4)
        )
        for k in (0, 2, 3, 4)
    },
    "BSpline": (lambda t, c, q: IP.BSpline(t, c, 2)(q), "ascending 2+N", "N 2", "M", (2, 3, 4, 6)),
    "derivative of a BSpline": (lambda t, c, q: IP.BSpline(t, c, 3)(q, 2), "ascending N", "4", "2", (7, 8)),
    "integral of a BSpline": (lambda t, c: IP.BSpline(t, c, 2).integrate(0.3, 2.0), "ascending N", "N", (5, 6, 8)),
    "BSpline of many coefficients": (lambda c: IP.BSpline(np.arange(8.0), c, 3)(3.3), "N", (0, 3, 4, 5)),
    "splrep": (lambda x, y: IP.splev(1.3, IP.splrep(x, y)), "ascending N", "N", (2, 4, 6)),
    "splint": (
        lambda x, y: IP.splint(0.7, 1.3, IP.splrep(x, y, k=2, s=0)), "ascending N", "N", (2, 4, 6)
    ),
    "InterpolatedUnivariateSpline": (
        lambda x, y: IP.InterpolatedUnivariateSpline(x, y, k=2)(1.3), "ascending N", "N", (4, 6)
    ),
    "PPoly": (lambda c, x: IP.PPoly(c, x)(1.3), "3 N", "ascending M"),
    **{
        f"interp1d, {kind}, {fill}": (
            lambda x, y, q, kind=kind, fill=fill: IP.interp1d(x, y, kind, bounds_error=False, fill_value=fill)(q),
            "ascending N", "N", "M", (0, 1, 2, 3),
        )
        for kind in ("linear", "nearest", "previous", "next")
        for fill in ((0.0, 1.0), "extrapolate")
    },
    "interp1d of rows": (lambda x, y: IP.interp1d(x, y, bounds_error=False)(x[:1]), "ascending N", "2 N"),
    "interp1d, quadratic": (
        lambda x, y, q: IP.interp1d(x, y, "quadratic", fill_value="extrapolate")(q), "ascending N", "N", "2"
    ),
    **{
        f"a grid, {method}": (
            lambda x, v, q, method=method: IP.RegularGridInterpolator((x,), v, method, False, None)(q),
            "ascending N", "N 2", "M 1", (0, 1, 2, 3),
        )
        for method in ("linear", "nearest")
    },
    "interpn": (lambda v, q: IP.interpn((SITES,), v, 0.1 + 0.01 * q), "N", "M 1", (0, 4, 5)),
    "RBFInterpolator": (lambda p, v, q: IP.RBFInterpolator(p, v)(q), "N 2", "N", "M 2", (0, 2, 3, 5)),
    "RBFInterpolator of known points": (lambda v: IP.RBFInterpolator(POINTS, v)(POINTS[:2] + 0.1), "N 2", (0, 4, 5)),
    "RBFInterpolator of few coordinates": (lambda p, v, q: IP.RBFInterpolator(p, v)(q), "5 N", "5", "2 N", (1, 2)),
    "LinearNDInterpolator": (lambda v, q: IP.LinearNDInterpolator(POINTS, v)(0.3 + 0.01 * q), "N", "M 2", (0, 4, 5)),
    "NearestNDInterpolator": (
        lambda p, v, q: IP.NearestNDInterpolator(p, v)(q), "N 2", "N", "M 2", (1, 2, 4)
    ),
    "griddata along a line": (lambda v: IP.griddata(SITES[::-1], v, [0.3, 2.1], "linear"), "N", (0, 4, 5)),
    "griddata, the nearest": (lambda v: IP.griddata(SITES[::-1], v, [-1.0, 2.1], "nearest"), "N", (0, 4, 5)),
}  # fmt: skip

IMAGES: dict[str, Row] = {
    **{
        f"gaussian_filter, {mode}": (lambda x, mode=mode: IMAGE.gaussian_filter(x, 0.4, mode=mode), "N M")
        for mode in ("reflect", "constant", "nearest", "mirror", "wrap")
    },
    "median_filter": (lambda x: IMAGE.median_filter(x, 3), "N M"),
    "grey_opening": (lambda x: IMAGE.grey_opening(x, 2), "N M"),
    "sobel": (IMAGE.sobel, "N M"),
    "spline_filter": (IMAGE.spline_filter, "N"),
    "zoom by halves, rounded to even numbers": (lambda x: IMAGE.zoom(x, 1.5, order=1), "N", (1, 2, 3, 4, 5)),
    "zoom of a grid": (lambda x: IMAGE.zoom(x, (0.6, 2), mode="nearest", grid_mode=True), "N M", (1, 2, 5)),
    "shift": (lambda x: IMAGE.shift(x, 0.3), "N"),
    "convolve1d": (lambda x, w: IMAGE.convolve1d(x, w), "3", "N"),
    "correlate1d": (lambda x, w: IMAGE.correlate1d(x, w, axis=0, mode="wrap"), "N 2", "M", (1, 2, 4)),
    "labels that broadcast": (lambda x, i: IMAGE.sum_labels(x, i, [1, 2]), "N", "places M"),
    "convolve of images": (IMAGE.convolve, "3 3", "N M"),
}

SAMPLES: dict[str, Row] = {
    "multivariate_normal of no dimensions": (STATS.multivariate_normal.logpdf, "N", "N", "definite N N"),
    "multivariate_t": (lambda x, m, c: STATS.multivariate_t.logpdf(x, m, c, 3), "N", "N", "definite N N"),
    "wishart": (lambda c: STATS.wishart.logpdf(2 * np.eye(len(c)) if len(c) else c, 8, c), "definite 2 2", (1,)),
    "invwishart": (
        lambda x, c: STATS.invwishart.logpdf(x + x.T, 8, c + c.T), "definite N N", "definite N N", (1, 2, 3)
    ),
    "matrix_normal": (STATS.matrix_normal.logpdf, "N M", "N M", "definite N N", "definite M M"),
    "dirichlet": (lambda x, a: STATS.dirichlet.logpdf(x / np.sum(x), a), "positive N", "positive N"),
    "dirichlet without the last share": (
        lambda x, a: STATS.dirichlet.logpdf(x / 9.0, a), "positive N", "positive 1+N", (1, 2, 3)
    ),
    "trim_mean": (lambda x: STATS.trim_mean(x, 0.3), "N"),
    "trim_mean of columns": (lambda x: STATS.trim_mean(x, 0.25), "N 2", (0, 1, 3, 4, 5)),
    "tvar": (lambda x: STATS.tvar(x, (-2.0, 2.0)), "N"),
    "pearsonr": (lambda x, y: tuple(STATS.pearsonr(x, y)), "N", "N", (0, 1, 2, 3)),
    "linregress": (lambda x, y: tuple(STATS.linregress(x, y)), "N", "N", (0, 1, 2, 3)),
    "linregress of one value": (lambda x, y: STATS.linregress(x, y)[0], "1+N", "1+M", (0, 1, 2)),
    "gaussian_kde of no dimensions": (lambda x, q: STATS.gaussian_kde(x)(q), "N 7", "N 2", (0, 1, 2)),
    "cdist by Mahalanobis": (lambda x, y: DISTANCE.cdist(x, y, "mahalanobis"), "N K", "M K", (0, 1, 2, 3)),
    "procrustes": (lambda x, y: scipy.spatial.procrustes(x, y)[2], "N M", "N M", (0, 1, 4)),
    "rosen_der": (OPTIMIZE.rosen_der, "N"),
    "eigh_tridiagonal": (lambda d: scipy.linalg.eigh_tridiagonal(d, d[1:])[0], "N"),
    "logm": (scipy.linalg.logm, "definite N N"),
    "solve_banded of complex rows": (
        lambda a, b: scipy.linalg.solve_banded((1, 1), a, b), "complex M N", "N", (0, 2, 3, 4)
    ),
    "detrend": (SIGNAL.detrend, "N M"),
    "fftconvolve": (lambda x, y: SIGNAL.fftconvolve(x, y, "same"), "N", "M"),
    **{
        f"fftconvolve of rows, {mode}": (
            lambda x, y, mode=mode: SIGNAL.fftconvolve(x, y, mode, axes=1), "N M", "1 2", (1, 2, 4)
        )
        for mode in ("full", "same", "valid")
    },
    "detrend between breaks": (lambda x: SIGNAL.detrend(x, bp=[2]), "N M", (0, 1, 2, 3, 5)),
    "Rotation.from_quat": (lambda q: Rotation.from_quat(q).as_matrix(), "N M"),
    "Rotation.from_rotvec": (lambda q: Rotation.from_rotvec(q).as_quat(), "N M", (0, 1, 2, 3)),
    "Rotation.from_euler": (lambda q: Rotation.from_euler("xy", q).as_quat(), "N M"),
    "mean of rotations": (lambda q: Rotation.from_quat(q).mean().as_matrix(), "N 4", (0, 1, 3)),
    "Slerp": (lambda q, t: Slerp([0.0, 1.0], Rotation.from_quat(q))(t).as_quat(), "N 4", "share M", (0, 1, 2)),
}  # fmt: skip

SPECTRA: dict[str, Row] = {
    "resample": (lambda x: SIGNAL.resample(x, 3), "N", (1, 2, 3, 4, 5)),
    "resample to twice": (lambda x: SIGNAL.resample(x, 2 * x.shape[1], axis=1), "2 N", (1, 2, 3)),
    "upfirdn": (lambda h, x: SIGNAL.upfirdn(h, x, 2, 3), "N", "M"),
    "upfirdn of rows": (lambda x: SIGNAL.upfirdn([1.0, 2.0, 0.5], x, 3), "2 N"),
    "resample_poly": (lambda x, w: SIGNAL.resample_poly(x, 3, 2, window=w), "N", "1+M", (1, 2, 4)),
    **{
        f"resample_poly at the {level}": (
            lambda x, level=level: SIGNAL.resample_poly(x, 3, 2, padtype=level),
            "N",
            (0, 1, 2, 5),
        )
        for level in ("mean", "median", "minimum", "maximum")
    },
    "resample_poly by a window": (lambda x: SIGNAL.resample_poly(x, 2, 3, axis=0), "N 2", (1, 2, 5)),
    "decimate": (lambda x: SIGNAL.decimate(x, 2, ftype="fir"), "N", (1, 3, 6)),
    "czt": (lambda x: SIGNAL.czt(x, 3), "N"),
    "czt of as many": (SIGNAL.czt, "2 N"),
    "zoom_fft": (lambda x: SIGNAL.zoom_fft(x, [0.1, 0.5]), "N"),
    "freqz": (lambda b, a: SIGNAL.freqz(b, a, 5)[1], "1+N", "leading 1+M", (0, 1, 3)),
    "freqz at frequencies": (lambda b, w: SIGNAL.freqz(b, [1.0, 0.2], w), "leading 2", "positive N"),
    "freqs": (lambda b, a, w: SIGNAL.freqs(b, a, w)[1], "N", "leading 1+M", "positive 2"),
    "freqz_zpk": (lambda z, p, w: SIGNAL.freqz_zpk(z, 3 + p, 2.0, w)[1], "N", "M", "2"),
    "sosfreqz": (lambda s: SIGNAL.sosfreqz(sections(s), 4)[1], "N 5"),
    "periodogram": (lambda x: SIGNAL.periodogram(x, window="hann"), "N", (1, 2, 3)),
    "periodogram of samples": (lambda x: SIGNAL.periodogram(x, nfft=3), "N", (1, 2, 3, 5)),
    "welch of short signals": (SIGNAL.welch, "N", (1, 2, 5, 257)),
    "welch of short signals on both sides": (
        lambda x: SIGNAL.welch(x, 3.0, "hamming", return_onesided=False, axis=0),
        "N 2",
        (1, 2, 5),
    ),
    "csd of short signals": (lambda x, y: SIGNAL.csd(x, y, detrend="linear"), "N", "N", (2, 5)),
    "spectrogram of short signals": (SIGNAL.spectrogram, "N", (1, 2, 5, 270)),
    "periodogram through a window that is flat": (
        lambda x: SIGNAL.periodogram(x, window=("tukey", 0.3)),
        "N",
        (1, 2, 5),
    ),
    "csd of two lengths": (lambda x, y: SIGNAL.csd(x, y, nperseg=2), "N", "M", (2, 3, 5)),
    "welch, the median": (lambda x: SIGNAL.welch(x, nperseg=2, average="median")[1], "N", (2, 3, 5, 6)),
}

NOTHING: dict[str, Row] = {
    "softmax": (lambda x: scipy.special.softmax(x, axis=0), "N M"),
    "softmax of all": (scipy.special.softmax, "N M"),
    "log_softmax": (lambda x: scipy.special.log_softmax(x, axis=1), "N M"),
    "softmax of complex numbers": (lambda z: scipy.special.softmax(z, axis=0).real, "complex N"),
    "logsumexp": (scipy.special.logsumexp, "N"),
    "newton": (lambda x: OPTIMIZE.newton(lambda t: t**3 - 2.0, x), "positive N"),
    "diags": (lambda x, y: scipy.sparse.diags([x, y], [0, 1], (len(x), len(x))) @ np.ones(len(x)), "N", "1"),
    "cdist, seuclidean": (lambda x, y: DISTANCE.cdist(x, y, "seuclidean"), "N 2", "1 2", (0, 2, 4)),
    "pdist, seuclidean": (lambda x: DISTANCE.pdist(x, "seuclidean"), "N 2", (1, 4)),
}

ROWS: dict[str, Row] = FILTERS | SPLINES | IMAGES | SAMPLES | SPECTRA | NOTHING
OTHERWISE_SINCE_1_18 = frozenset({"lfilter_zi", "linregress", "linregress of one value"})
"""Functions that SciPy 1.18 computes for one coefficient or one point, which it refused before, or warns of for two."""


@pytest.mark.sweep(104)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_function_is_scipys_at_every_size(name: str) -> None:
    if name in OTHERWISE_SINCE_1_18 and is_since("scipy", "1.18"):
        pytest.skip("SciPy 1.18 answers where it failed")
    function, *told = ROWS[name]
    sizes = {"sizes": told.pop()} if isinstance(told[-1], tuple) else {}
    check_every_size(function, *told, **sizes)


OTHERWISE_OF_NOTHING: dict[str, Row] = {
    "welch": (lambda x: SIGNAL.welch(x, nperseg=4)[1], (0, 8)),
    "stft": (lambda x: abs(SIGNAL.stft(x, nperseg=4)[2]), (0, 8)),
    "csd": (lambda x: abs(SIGNAL.csd(x, x + 1, nperseg=4)[1]), (0, 8)),
    "spectrogram": (lambda x: SIGNAL.spectrogram(x, nperseg=4)[2], (0, 8)),
    "jensenshannon": (lambda x: DISTANCE.cdist(x, x, "jensenshannon"), (2, 0)),
    "gemv": (lambda x: scipy.linalg.blas.dgemv(2.0, x, x[0]), (2, 0)),
    "gemv, transposed": (lambda x: scipy.linalg.blas.dgemv(2.0, x, x[:, 0], trans=1), (0, 2)),
    "poly": (lambda x: np.poly(x.reshape(-1)), (0, 1)),
}
"""Functions whose answer for nothing is refused, infinite, or has other sizes than for something."""


@pytest.mark.parametrize("name", OTHERWISE_OF_NOTHING)
def test_a_run_fails_where_scipy_answers_otherwise_for_nothing(name: str) -> None:
    function, shape = OTHERWISE_OF_NOTHING[name]
    program = ps.trace(function, ps.spec("float64", ["N", "M" if shape[1] == 0 else shape[1]]))
    with pytest.raises(ps.PrimsplitError):
        program(np.zeros(shape))
