"""scipy.stats' hypothesis tests of traced samples: of means, variances, counts and normality, with p-values."""

from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.scipy.operands import floating, of_length
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.stats.descriptive import kurtosis, skew
from primsplit.frontends.scipy.stats.samples import count_of, sample, summary
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.calls.primitive import stop_gradient

__all__ = [
    "bartlett", "chisquare", "f_oneway", "jarque_bera", "kurtosistest", "levene", "normaltest", "power_divergence",
    "skewtest", "ttest_1samp", "ttest_ind", "ttest_rel",
]  # fmt: skip


class Outcome(NamedTuple):
    """The result of a test."""

    statistic: Any
    pvalue: Any


def _alike(number: Any, like: Any) -> Any:
    """A number of the shape and dtype of a statistic."""
    return np.zeros_like(like) + number


def _by_normal(z: Any, alternative: str) -> Any:
    """The probability of a score that is as far out."""
    return _by_tails(z, alternative, ELEMENTWISE["ndtr"])


def _by_student(t: Any, freedom: Any, alternative: str) -> Any:
    """The probability of a t that is as far out."""
    return _by_tails(t, alternative, lambda v: ELEMENTWISE["stdtr"](_alike(freedom, t), v))


def _by_tails(found: Any, alternative: str, below: Any) -> Any:
    """The probability of at least as extreme a value, one- or two-sided, for a symmetric density. Raises ValueError."""
    if alternative not in {"two-sided", "less", "greater"}:
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    if alternative == "two-sided":
        return 2 * below(-np.abs(found))
    return below(found) if alternative == "less" else below(-found)


def _by_chi_square(found: Any, freedom: Any) -> Any:
    """The probability of a larger sum of squares."""
    return ELEMENTWISE["chdtrc"](_alike(freedom, found), found)


@as_scipys("scipy.stats")
@summary
def ttest_1samp(a: Any, popmean: Any, axis: Any, alternative: Any, keepdims: Any) -> Outcome:
    """Whether a sample has this mean."""
    x, axis = sample(a, axis)
    count = count_of(x, axis)
    error = np.sqrt(np.var(x, axis=axis, ddof=1, keepdims=keepdims) / count)
    wanted: Any = popmean
    if np.ndim(popmean) == x.ndim:
        wanted = of_length(array_like(floating(popmean)), 1, axis)
        wanted = wanted if keepdims else np.squeeze(wanted, axis)
    found = (np.mean(x, axis=axis, keepdims=keepdims) - wanted) / error
    return Outcome(found, _by_student(found, count - 1.0, alternative))


@as_scipys("scipy.stats")
@summary
def ttest_rel(a: Any, b: Any, axis: Any, alternative: Any, keepdims: Any) -> Outcome:
    """Whether the differences of two samples have the mean 0."""
    (x, place), (y, _) = sample(a, axis), sample(b, axis)
    found: Outcome = ttest_1samp(x - y, 0.0, axis=place, alternative=alternative, keepdims=keepdims)
    return found


@as_scipys("scipy.stats")
@summary
def ttest_ind(a: Any, b: Any, axis: Any, equal_var: Any, alternative: Any, keepdims: Any) -> Outcome:
    """Whether two samples have one mean; with Welch's degrees of freedom where their variances may differ."""
    (x, place), (y, _) = sample(a, axis), sample(b, axis)
    n, m = count_of(x, place), count_of(y, place)
    if equal_var:
        freedom = n + m - 2.0
        squares = (count * np.var(v, axis=place, keepdims=keepdims) for v, count in ((x, n), (y, m)))
        spread = sum(squares) / freedom * (1.0 / n + 1.0 / m)
    else:
        first, second = (np.var(v, axis=place, ddof=1, keepdims=keepdims) for v in (x, y))
        spread = first / n + second / m
        freedom = spread**2 / ((first / n) ** 2 / (n - 1.0) + (second / m) ** 2 / (m - 1.0))
    apart = np.mean(x, axis=place, keepdims=keepdims) - np.mean(y, axis=place, keepdims=keepdims)
    found = apart / np.sqrt(spread)
    return Outcome(found, _by_student(found, freedom, alternative))


def _groups(samples: tuple[Any, ...], axis: Any) -> tuple[list[Any], Any]:
    """The samples, and their axis."""
    pairs = [sample(s, axis) for s in samples]
    return [x for x, _ in pairs], pairs[0][1]


def _between(groups: list[Any], axis: int, *, keepdims: Any) -> Outcome:
    """Whether groups have one mean: the F of their means' squares and the squares about these."""
    counts = [count_of(g, axis) for g in groups]
    means = [np.mean(g, axis=axis, keepdims=True) for g in groups]
    total, number = sum(counts), len(groups)
    middle = sum(n * m for n, m in zip(counts, means, strict=True)) / total
    of_means = sum(n * (m - middle) ** 2 for n, m in zip(counts, means, strict=True))
    inside = sum(np.sum((g - m) ** 2, axis=axis, keepdims=True) for g, m in zip(groups, means, strict=True))
    freedom = total - float(number)
    found = (of_means / (number - 1.0)) / (inside / freedom)
    found = found if keepdims else np.squeeze(found, axis)
    chance = ELEMENTWISE["fdtrc"](_alike(number - 1.0, found), _alike(freedom, found), found)
    return Outcome(found, chance)


@as_scipys("scipy.stats")
@summary
def f_oneway(samples: Any, axis: Any, keepdims: Any) -> Outcome:
    """Whether samples of one variance have one mean."""
    return _between(*_groups(samples, axis), keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def levene(samples: Any, center: Any, axis: Any, keepdims: Any) -> Outcome:
    """Whether samples have one variance: the F of the distances from their medians, or means."""
    groups, axis = _groups(samples, axis)
    middle: Any = {"median": np.median, "mean": np.mean}.get(center)
    if middle is None:
        raise unsupported(f"scipy.stats.levene with center={center!r}")
    return _between([np.abs(g - middle(g, axis=axis, keepdims=True)) for g in groups], axis, keepdims=keepdims)


@as_scipys("scipy.stats")
@summary
def bartlett(samples: Any, axis: Any, keepdims: Any) -> Outcome:
    """Whether normal samples have one variance. G. W. Snedecor and W. G. Cochran, Statistical Methods, 8th ed."""
    groups, axis = _groups(samples, axis)
    freedoms = [count_of(g, axis) - 1.0 for g in groups]
    spreads = [np.var(g, axis=axis, ddof=1, keepdims=keepdims) for g in groups]
    total = sum(freedoms)
    pooled = sum(f * s for f, s in zip(freedoms, spreads, strict=True)) / total
    apart = total * np.log(pooled) - sum(f * np.log(s) for f, s in zip(freedoms, spreads, strict=True))
    found = apart / (1.0 + (sum(1.0 / f for f in freedoms) - 1.0 / total) / (3.0 * (len(groups) - 1)))
    return Outcome(found, _by_chi_square(found, len(groups) - 1.0))


@as_scipys("scipy.stats")
@summary
def skewtest(a: Any, axis: Any, alternative: Any, keepdims: Any) -> Outcome:
    """Whether a sample of at least 8 is as little skewed as a normal one.

    R. B. D'Agostino, A. J. Belanger and R. B. D'Agostino Jr., Am. Stat. 44 (1990), eqs. 13-18; NaN for fewer.
    """
    x, axis = sample(a, axis)
    n = count_of(x, axis) * 1.0
    y = skew(x, axis=axis, keepdims=keepdims) * np.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    fourth = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    square = np.sqrt(2 * (fourth - 1)) - 1
    scale, slope = np.sqrt(2.0 / (square - 1)), 1.0 / np.sqrt(0.5 * np.log(square))
    of_none = np.where(y == 0, np.arcsinh(1.0 / scale) * slope, 0.0)  # SciPy takes a skewness of 0 for 1
    found = np.arcsinh(y / scale) * slope + stop_gradient(of_none)
    found = np.where(n < 8, np.nan, found)
    return Outcome(found, _by_normal(found, alternative))


@as_scipys("scipy.stats")
@summary
def kurtosistest(a: Any, axis: Any, alternative: Any, keepdims: Any) -> Outcome:
    """Whether a sample of at least 5 has the tails of a normal one.

    F. J. Anscombe and W. J. Glynn, Biometrika 70 (1983); NaN for fewer.
    """
    x, axis = sample(a, axis)
    n = count_of(x, axis) * 1.0
    spread = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    score = (kurtosis(x, axis=axis, fisher=False, keepdims=keepdims) - 3.0 * (n - 1) / (n + 1)) / np.sqrt(spread)
    beta = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    freedom = 6.0 + 8.0 / beta * (2.0 / beta + np.sqrt(1 + 4.0 / beta**2))
    scaled = 1 + score * np.sqrt(2 / (freedom - 4.0))
    root = np.sign(scaled) * ((1 - 2.0 / freedom) / np.abs(scaled)) ** (1 / 3)
    found = (1 - 2 / (9.0 * freedom) - root) / np.sqrt(2 / (9.0 * freedom))
    found = np.where(n < 5, np.nan, found)
    return Outcome(found, _by_normal(found, alternative))


@as_scipys("scipy.stats")
@summary
def normaltest(a: Any, axis: Any, keepdims: Any) -> Outcome:
    """Whether a sample is normal: the squares of the scores of its skewness and kurtosis."""
    parts = [test(a, axis=axis, keepdims=keepdims).statistic for test in (skewtest, kurtosistest)]
    found = parts[0] ** 2 + parts[1] ** 2
    return Outcome(found, _by_chi_square(found, 2.0))


@as_scipys("scipy.stats")
@summary
def jarque_bera(x: Any, axis: Any, keepdims: Any) -> Outcome:
    """Whether a large sample is normal, by its skewness and kurtosis."""
    given, axis = sample(x, axis)
    bent = skew(given, axis=axis, keepdims=keepdims) ** 2 + kurtosis(given, axis=axis, keepdims=keepdims) ** 2 / 4
    found = count_of(given, axis) / 6.0 * bent
    return Outcome(found, _by_chi_square(found, 2.0))


POWERS = {
    "pearson": 1.0, "log-likelihood": 0.0, "freeman-tukey": -0.5, "mod-log-likelihood": -1.0, "neyman": -2.0,
    "cressie-read": 2 / 3,
}  # fmt: skip


@as_scipys("scipy.stats")
@summary
def power_divergence(f_obs: Any, f_exp: Any, ddof: Any, axis: Any, lambda_: Any, keepdims: Any) -> Outcome:
    """Whether counts are as expected, or alike. N. Cressie and T. Read, J. R. Stat. Soc. B 46 (1984).

    A run whose observed and expected counts have other sums fails, as SciPy raises.
    """
    return _divergence(f_obs, f_exp, ddof, axis, lambda_, keepdims, sum_check=True)


def _divergence(
    f_obs: Any, f_exp: Any, ddof: Any, axis: Any, lambda_: Any, keepdims: Any, *, sum_check: bool
) -> Outcome:
    power = 1.0 if lambda_ is None else POWERS[lambda_] if isinstance(lambda_, str) else lambda_
    seen, axis = sample(f_obs, axis)
    wanted = np.mean(seen, axis=axis, keepdims=True) if f_exp is None else array_like(floating(f_exp))
    if sum_check and f_exp is not None:
        seen = _of_one_sum(seen, wanted, axis)
    if power == 1:
        terms = (seen - wanted) ** 2 / wanted
    elif power == 0:
        terms = 2.0 * ELEMENTWISE["xlogy"](seen, seen / wanted)
    elif power == -1:
        terms = 2.0 * ELEMENTWISE["xlogy"](wanted, wanted / seen)
    else:
        terms = seen * ((seen / wanted) ** power - 1) * (2.0 / (power * (power + 1)))
    found = np.sum(terms, axis=axis, keepdims=keepdims)
    return Outcome(found, _by_chi_square(found, count_of(terms, axis) - 1.0 - ddof))


@as_scipys("scipy.stats")
@summary
def chisquare(f_obs: Any, f_exp: Any, ddof: Any, axis: Any, keepdims: Any, sum_check: bool = True) -> Outcome:
    """`power_divergence` of Pearson's power."""
    return _divergence(f_obs, f_exp, ddof, axis, 1.0, keepdims, sum_check=sum_check)


def _of_one_sum(seen: Any, wanted: Any, axis: Any) -> Any:
    """The observed counts; a run fails in which their sum along the axis is not that of the expected ones.

    The tolerance is SciPy's, the root of the dtype's eps relative to the smaller sum.
    """
    tolerance = np.finfo(np.result_type(seen.dtype, wanted.dtype)).eps ** 0.5
    own, other = (np.sum(v, axis=axis) for v in np.broadcast_arrays(seen, wanted))
    apart = np.abs(own - other) / np.minimum(own, other) > tolerance
    told = "For each axis slice, the sum of the observed frequencies must agree with the sum of the expected ones"
    return refusing(seen, apart, ValueError(told))
