"""Parameters, points and comparisons for the families of distributions of scipy.stats."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from primsplit.frontends.scipy.stats.families import CONTINUOUS as FIRST
from primsplit.frontends.scipy.stats.families import DISCRETE as FIRST_DISCRETE
from primsplit.frontends.scipy.stats.further import FURTHER, FURTHER_DISCRETE
from primsplit.frontends.scipy.stats.rarer import RARER
from tests.numpy.agreement import check_grads

QUANTILES = ("ppf", "isf")


def of(name: str, methods: Sequence[str], known: tuple[float, ...] = ()) -> Callable[..., Any]:
    """The functions of a family of SciPy's, one after the other, with these parameters unless some are given."""

    def at(x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
        family = getattr(scipy.stats, name)
        return np.stack([getattr(family, m)(x, *(shapes or known), loc, scale) for m in methods])

    return at


SHAPES: dict[str, tuple[float, ...]] = {
    "beta": (1.7, 2.4), "chi2": (3.3,), "gamma": (2.2,), "invgamma": (2.6,), "lognorm": (0.8,), "pareto": (1.4,),
    "t": (4.2,), "weibull_min": (1.6,),
    "burr12": (1.6, 0.9), "chi": (2.7,), "exponnorm": (1.3,), "f": (3.2, 4.1), "fisk": (2.2,), "genextreme": (0.3,),
    "genlogistic": (1.4,), "gennorm": (1.7,), "genpareto": (-0.2,), "gompertz": (0.7,), "invgauss": (0.8,),
    "invweibull": (1.7,), "johnsonsu": (0.3, 1.4), "loggamma": (1.4,), "loguniform": (0.2, 3.0), "lomax": (1.3,),
    "nakagami": (1.2,), "powerlaw": (1.6,), "rice": (0.7,), "skewnorm": (1.3,), "triang": (0.3,),
    "truncnorm": (-0.5, 2.0), "vonmises": (1.3,),
    "betaprime": (1.6, 2.3), "dgamma": (1.7,), "dweibull": (1.6,), "exponweib": (1.3, 1.7),
    "fatiguelife": (0.9,), "foldnorm": (0.8,), "gengamma": (1.3, 1.6), "johnsonsb": (0.4, 1.2),
    "laplace_asymmetric": (1.4,), "reciprocal": (0.2, 3.0), "truncexpon": (2.6,),
    "bradford": (0.6,), "burr": (1.7, 0.9), "erlang": (2.0,), "exponpow": (0.6,), "halfgennorm": (1.3,),
    "loglaplace": (1.6,), "mielke": (1.4, 2.2), "norminvgauss": (1.5, 0.4), "powernorm": (1.6,),
    "trapezoid": (0.35, 0.7), "wrapcauchy": (0.4,),
}  # fmt: skip
"""Parameters of the families that have some; the others have none."""

CONTINUOUS, DISCRETE = stats.completed(FIRST | FURTHER | RARER), FIRST_DISCRETE | FURTHER_DISCRETE

OF_SHAPES = ("cdf", "sf", "logcdf", "logsf", "ppf")

OF_INTEGRALS = (
    "beta", "betaprime", "chi", "chi2", "dgamma", "erlang", "f", "gamma", "gengamma", "gennorm", "halfgennorm",
    "invgamma", "loggamma", "nakagami", "t",
)  # fmt: skip
"""Families whose probabilities are incomplete gamma and beta functions; the tests of these have second derivatives."""

POINTS = np.array([-2.7, -0.4, 0.0, 0.3, 0.9, 1.0, 1.8, 5.0, np.nan])

AWAY = {"pareto": 3.0, "loguniform": 0.6, "reciprocal": 0.6, "lognorm": 0.4, "invweibull": 0.4}
"""The offset of the points, to be inside of the support, and where differences of a steep density are accurate."""

COUNTS = np.array([-1, 0, 1, 2, 5, 9])

PARAMETERS: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "binom": (7.0, 0.4), "geom": (0.3,), "nbinom": (2.5, 0.4), "poisson": (2.3,),
    "betabinom": (7.0, 1.3, 2.2), "logser": (0.6,), "zipf": (2.2,),
}  # fmt: skip

COUNTED = ("binom", "betabinom")
"""Families whose first parameter is a count."""

SPREAD = np.array([[1.3, 0.4, 0.1], [0.4, 0.9, -0.2], [0.1, -0.2, 0.7]])


def check_functions(name: str) -> None:
    """All functions of a continuous family are SciPy's, standard and placed."""
    family, reference, shapes = CONTINUOUS[name], getattr(scipy.stats, name), SHAPES.get(name, ())

    def all_of(x: Any, **options: float) -> tuple[Any, ...]:
        given = family if isinstance(x, ps.Array) else reference
        return tuple(getattr(given, method)(x, *shapes, **options) for method in family.own)

    options: list[dict[str, float]] = [{}, {"loc": 0.2, "scale": 1.3}]
    if name in OF_INTEGRALS:  # whose programs are long; how a family is placed is the same for all
        options = options[1:]
    every = ps.trace(lambda x: [all_of(x, **placed) for placed in options], POINTS)(POINTS)
    for placed, found in zip(options, every, strict=True):
        for method, one, wanted in zip(family.own, found, all_of(POINTS, **placed), strict=True):
            smallest = 1e-15 if method == "logcdf" else 1e-300  # SciPy takes the logarithm of a number near 1
            np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=smallest, err_msg=method)


def check_derivatives(name: str) -> None:
    """A continuous family has first and second derivatives in all its parameters."""
    methods, known = [m for m in CONTINUOUS[name].own if m not in QUANTILES], SHAPES.get(name, ())
    x = np.array([0.25, 0.55, 0.83]) + AWAY.get(name, 0.0)
    place = (np.array([0.1, -0.04, 0.0]), np.array([1.4, 1.3, 2.0]))
    shapes = [np.full(3, s) for s in known]
    rest = [m for m in methods if name in OF_INTEGRALS and m in OF_SHAPES]
    check_grads(of(name, [m for m in methods if m not in rest], known), x, *place, *shapes)
    if rest:
        check_grads(of(name, rest, known), x, *place, symbolic=False)
    if CONTINUOUS[name].quantile is not None:
        check_grads(of(name, ["ppf"], known), x % 1, *place, symbolic=False)


def check_densities(names: Sequence[str]) -> None:
    """The log densities of these families are SciPy's, with their slopes in points and shapes: all in one program."""
    shapes = [np.array(SHAPES.get(n, ())) for n in names]
    points = [getattr(scipy.stats, n).ppf([0.2, 0.55, 0.85], *s) for n, s in zip(names, shapes, strict=True)]

    def densities(points: Any, shapes: Any) -> list[Any]:
        each = zip(names, points, shapes, strict=True)
        return [getattr(scipy.stats, n).logpdf(x, *(s[i] for i in range(s.shape[0]))) for n, x, s in each]

    def total(points: Any, shapes: Any) -> Any:
        return sum(np.sum(d) for d in densities(points, shapes)), densities(points, shapes)

    found, (of_points, of_shapes) = ps.value_and_grad(total, wrt=(0, 1), has_aux=True)(points, shapes)
    step = 1e-5
    for k, name in enumerate(names):
        x, s, logpdf = points[k], shapes[k], getattr(scipy.stats, name).logpdf
        np.testing.assert_allclose(found[1][k], logpdf(x, *s), rtol=1e-10, err_msg=name)
        slope = (logpdf(x + step, *s) - logpdf(x - step, *s)) / (2 * step)
        np.testing.assert_allclose(of_points[k], slope, rtol=1e-6, atol=1e-8, err_msg=name)
        for i, unit in enumerate(step * np.eye(s.size)):
            slope = np.sum(logpdf(x, *(s + unit)) - logpdf(x, *(s - unit))) / (2 * step)
            np.testing.assert_allclose(of_shapes[k][i], slope, rtol=1e-6, atol=1e-8, err_msg=name)
