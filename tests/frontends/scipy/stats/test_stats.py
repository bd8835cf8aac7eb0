"""scipy.stats' mirror: SciPy's values and gradients of the normal distribution, in all its arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from primsplit.frontends.scipy.stats.families import CONTINUOUS as FIRST
from primsplit.frontends.scipy.stats.families import DISCRETE as FIRST_DISCRETE
from primsplit.frontends.scipy.stats.further import FURTHER, FURTHER_DISCRETE
from primsplit.frontends.scipy.stats.rarer import RARER
from tests.numpy.agreement import check_grads
from tests.versions import UNDERFLOW

X = np.array([-1.3, 0.2, 2.1])


QUANTILES = ("ppf", "isf")


def of(name: str, methods: Sequence[str], known: tuple[float, ...] = ()) -> Callable[..., Any]:
    """The functions of a family of SciPy's, one after the other, with these parameters unless some are given."""

    def at(x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
        family = getattr(scipy.stats, name)
        return np.stack([getattr(family, m)(x, *(shapes or known), loc, scale) for m in methods])

    return at


@pytest.mark.parametrize("name", [name for name in stats.norm.own if name not in QUANTILES])
def test_a_function_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([-30.0, -9.0, 9.0, 30.0])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", QUANTILES)
def test_a_quantile_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([0.0, 1e-300, 1e-17, 0.3, 0.5, 0.999999, 1.0, -0.1, np.nan])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-14, atol=1e-300)


def test_the_normal_distribution_has_first_and_second_derivatives_in_all_its_parameters() -> None:
    place = (np.array([0.1, -0.4, 0.3]), np.array([0.7, 1.3, 2.0]))
    check_grads(of("norm", [m for m in stats.norm.own if m not in QUANTILES]), X, *place)
    check_grads(of("norm", QUANTILES), np.array([0.1, 0.5, 0.8]), *place)


def test_a_float32_argument_gives_float64_as_in_scipy() -> None:
    x = X.astype(np.float32)
    assert ps.trace(stats.norm.logpdf, x)(x).dtype == scipy.stats.norm.logpdf(x).dtype


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


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_functions_of_a_family_are_scipys(name: str) -> None:
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


AWAY = {"pareto": 3.0, "loguniform": 0.6, "reciprocal": 0.6, "lognorm": 0.4, "invweibull": 0.4}
"""The offset of the points, to be inside of the support, and where differences of a steep density are accurate."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in OF_INTEGRALS and name != "gamma" else name
        for name in CONTINUOUS
    ],
)
def test_a_family_has_first_and_second_derivatives_in_all_its_parameters(name: str) -> None:
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


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in {"chi2", "gamma"})) for n in OF_INTEGRALS]
)
def test_probabilities_and_quantiles_have_derivatives_in_their_shapes(name: str) -> None:
    family, reference, known, step = CONTINUOUS[name], getattr(scipy.stats, name), np.array(SHAPES[name]), 1e-5
    methods, x = [m for m in OF_SHAPES if m in family.own], np.array([0.25, 0.55, 0.83])
    every = ps.jacobian(lambda s: np.stack([getattr(family, m)(x, *s) for m in methods]))(known)
    for method, found in zip(methods, every, strict=True):
        for i, column in enumerate(found.T):
            ends = (known + sign * step * np.eye(len(known))[i] for sign in (1, -1))
            high, low = (getattr(reference, method)(x, *end) for end in ends)
            np.testing.assert_allclose(column, (high - low) / (2 * step), rtol=1e-7, atol=1e-9, err_msg=method)


FAR: list[tuple[str, tuple[float, ...], list[float], list[float]]] = [
    ("burr", (10.5, 4.3), [1e-10, 1e-3], []),
    ("genextreme", (0.3,), [-100.0, -5.0], [3.0]),
    ("genextreme", (-0.3,), [-3.0, -2.0], [1e10]),
    ("genextreme", (0.0,), [-8.0, -3.0], [50.0, 300.0]),
    ("gumbel_r", (), [-8.0, -5.0], [50.0]),
    ("halflogistic", (), [1e-30, 1e-10], [600.0]),
    ("halfnorm", (), [1e-30, 1e-10], [30.0]),
    ("invgauss", (0.5,), [1e-4, 1e-3], [100.0, 1000.0, 3000.0]),
    ("logistic", (), [-1e5, -1000.0], [1000.0]),
    ("lognorm", (0.9,), [1e-30, 1e-5], [1e30]),
    ("truncnorm", (40.0, np.inf), [41.0], [45.0, 60.0]),
    ("truncnorm", (-60.0, 60.0), [-50.0, -41.0, 1.0], [41.0, 50.0]),
    ("wald", (), [1e-4, 1e-3], [1000.0, 3000.0]),
]  # fmt: skip
"""A family, its shapes, and numbers far out on the left and on the right."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("name", "shapes", "low", "high"), FAR)
def test_the_logarithm_of_a_probability_is_scipys_far_out(
    name: str, shapes: tuple[float, ...], low: list[float], high: list[float]
) -> None:
    family = getattr(scipy.stats, name)
    for method, x, sign in (("logcdf", np.array(low), 1), ("logsf", np.array(high), -1)):

        def f(x: Any, method: str = method) -> Any:
            return getattr(family, method)(x, *shapes)

        np.testing.assert_allclose(ps.trace(f, x)(x), f(x), rtol=1e-9)
        wanted = sign * np.exp(family.logpdf(x, *shapes) - f(x))
        np.testing.assert_allclose(ps.grad(lambda x, f=f: np.sum(f(x)))(x), wanted, rtol=1e-6)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_probabilities_between_a_number_and_infinity_have_tangents(method: str) -> None:
    x, rates = np.array([0.3, 1.0, 2.9]), np.array([1.0, 0.5, 2.0])
    for ends in ((-np.inf, 3.0), (-1.0, np.inf), (2.0, np.inf), (-np.inf, -2.0)):

        def f(x: Any, ends: tuple[float, float] = ends) -> Any:
            return getattr(scipy.stats.truncnorm, method)(x - (5 if ends[1] < 0 else 0), *ends)

        gradient = ps.grad(lambda x, f=f: np.sum(f(x) * rates))(x)
        assert np.isfinite(gradient).all()
        np.testing.assert_allclose(ps.jvp(f, (x,), (np.eye(3)[1],))[1], np.eye(3)[1] * gradient / rates, rtol=1e-12)
    _, slope = ps.jvp(lambda b: scipy.stats.truncnorm.logpdf(0.3, -np.inf, b), (1.4,), (0.0,))
    assert slope == 0.0


def test_the_gradient_of_a_density_outside_of_the_support_is_zero() -> None:
    for name, family in CONTINUOUS.items():
        shapes = SHAPES.get(name, ())
        if family.low > -np.inf:
            outside = min(family.low, 0.0) - np.array([3.0, 0.5])
            gradient = ps.grad(lambda x, f=family, s=shapes: np.sum(f.pdf(x, *s)))(outside)
            np.testing.assert_array_equal(gradient, [0.0, 0.0])


@pytest.mark.parametrize("name", ["f", "fisk", "invgauss", "rayleigh", "wald"])
def test_there_is_no_density_at_infinity(name: str) -> None:
    far, shapes = np.array([np.inf]), SHAPES.get(name, ())
    found = ps.trace(lambda x: CONTINUOUS[name].logpdf(x, *shapes), far)(far)
    np.testing.assert_array_equal(found, [-np.inf])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(CONTINUOUS[name].pdf(x, *shapes)))(far), [0.0])


def test_students_t_of_infinite_freedom_is_normal() -> None:
    methods, freedom = ("pdf", "logpdf", "cdf", "sf", "logsf"), np.full(3, np.inf)

    def f(x: Any, df: Any) -> Any:
        return np.stack([getattr(scipy.stats.t, m)(x, df) for m in methods])

    np.testing.assert_allclose(ps.trace(f, X, freedom)(X, freedom), f(X, freedom), rtol=1e-14)
    in_x, in_df = ps.grad(lambda x, df: np.sum(f(x, df)), wrt=(0, 1))(X, freedom)
    with_normal = ps.grad(lambda x: np.sum(np.stack([getattr(scipy.stats.norm, m)(x) for m in methods])))(X)
    np.testing.assert_allclose(in_x, with_normal, rtol=1e-14)
    np.testing.assert_array_equal(in_df, np.zeros(3))


def test_students_density_of_many_degrees_of_freedom_loses_no_digits() -> None:
    """The numbers at 1.5 are mpmath's."""
    df = np.array([3.0, 1e3, 1e6, 1e8])
    wanted = [-2.1201204254943551, -2.0440485396728882, -2.0439386425803056, -2.0439385342984228]
    slopes = [0.032386905639853014, 1.1063659469930039e-7, 1.0937626562095948e-13, 1.093750126562496e-17]
    np.testing.assert_allclose(ps.trace(lambda v: scipy.stats.t.logpdf(1.5, v), df)(df), wanted, rtol=1e-15)
    found = ps.grad(lambda v: np.sum(scipy.stats.t.logpdf(1.5, v)))(df)
    np.testing.assert_allclose(found, slopes, rtol=1e-8, atol=1e-22)


COUNTS = np.array([-1, 0, 1, 2, 5, 9])
PARAMETERS: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "binom": (7.0, 0.4), "geom": (0.3,), "nbinom": (2.5, 0.4), "poisson": (2.3,),
    "betabinom": (7.0, 1.3, 2.2), "logser": (0.6,), "zipf": (2.2,),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", DISCRETE)
def test_a_family_of_integers_is_scipys(name: str) -> None:
    family, reference, parameters = DISCRETE[name], getattr(scipy.stats, name), PARAMETERS[name]

    def all_of(k: Any) -> tuple[Any, ...]:
        rest = [getattr(family, method)(k, *parameters) for method in family.own[2:]]
        return family.logpmf(k, *parameters), family.pmf(k, *parameters, loc=1), *rest

    for counts in (COUNTS, COUNTS + 0.5, COUNTS.astype(float)):
        logarithms, moved, *rest = ps.trace(all_of, counts)(counts)
        np.testing.assert_allclose(logarithms, reference.logpmf(counts, *parameters), rtol=1e-12)
        np.testing.assert_allclose(moved, reference.pmf(counts, *parameters, loc=1), rtol=1e-12, atol=UNDERFLOW)
        for method, found in zip(family.own[2:], rest, strict=True):
            np.testing.assert_allclose(found, getattr(reference, method)(counts, *parameters), rtol=1e-11)


COUNTED = ("binom", "betabinom")
"""Families whose first parameter is a count."""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", DISCRETE)
def test_a_family_of_integers_has_first_and_second_derivatives_in_its_parameters(name: str) -> None:
    counts, number = PARAMETERS[name][: name in COUNTED], PARAMETERS[name][name in COUNTED :]

    def at(*parameters: Any) -> Any:
        family = getattr(scipy.stats, name)
        return np.stack([getattr(family, m)(1, *counts, *parameters) for m in DISCRETE[name].own])

    check_grads(at, *(p * np.array([0.7, 1.0, 1.4]) for p in number))


OF_PARAMETERS = [n for n, d in stats.DISTRIBUTIONS.items() if "var" in d.methods]
"""Families whose means and variances are known."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", OF_PARAMETERS)
def test_moments_have_first_and_second_derivatives(name: str) -> None:
    distribution = stats.DISTRIBUTIONS[name]
    shapes = {"pareto": (3.4,), "dirichlet": (np.array([0.7, 1.3, 2.2]),)}.get(
        name, SHAPES.get(name, PARAMETERS.get(name, ()))
    )
    places = () if name == "dirichlet" else (0.3,) if name in DISCRETE else (0.3, 1.4)
    methods = [m for m in ("mean", "var", "std", "entropy") if m in distribution.methods]
    counts, numbers = shapes[: name in COUNTED], shapes[name in COUNTED :]

    def at(*given: Any) -> Any:
        return tuple(getattr(getattr(scipy.stats, name), m)(*counts, *given) for m in methods)

    check_grads(at, *(np.asarray(g) for g in (*numbers, *places)), symbolic=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow) if n in OF_INTEGRALS else n
        for n, d in stats.DISTRIBUTIONS.items()
        if "median" in d.methods
    ],
)
def test_the_middle_has_first_and_second_derivatives(name: str) -> None:
    known = SHAPES.get(name, ())

    def at(share: Any, loc: Any, scale: Any) -> Any:
        family = getattr(scipy.stats, name)
        ends = family.interval(share, *known, loc, scale)
        return *ends, family.median(*known, loc, scale), family.isf(share, *known, loc, scale)

    check_grads(at, np.array(0.6), np.array(0.3), np.array(1.4), symbolic=False)


OF_THE_REST = {"f", "genlogistic", "moyal"}
"""Families of which SciPy takes the quantile of 1 - q."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", [n for n, d in stats.DISTRIBUTIONS.items() if "isf" in d.methods])
def test_a_quantile_of_a_small_part_is_scipys(name: str) -> None:
    known = SHAPES.get(name, ())
    far = np.array([0.0, 1e-200, 1e-18, 1e-9, 0.3, 0.5, 0.75, 0.999, 1.0])
    far = far[4:] if name in OF_THE_REST else far
    found = ps.trace(lambda q: getattr(scipy.stats, name).isf(q, *known), far)(far)
    np.testing.assert_allclose(found, getattr(scipy.stats, name).isf(far, *known), rtol=1e-9, atol=1e-15)


SPREAD = np.array([[1.3, 0.4, 0.1], [0.4, 0.9, -0.2], [0.1, -0.2, 0.7]])
NORMALS: list[tuple[str, tuple[Any, ...]]] = [
    ("many points", (np.linspace(-1, 1, 12).reshape(4, 3), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("a stack of points", (np.linspace(-1, 1, 24).reshape(2, 4, 3), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("one point", (np.array([0.3, -0.2, 0.9]), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("a diagonal", (np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3), np.array([0.4, 1.2, 2.0]))),
    ("numbers", (np.linspace(-1, 1, 5), np.array(0.2), np.array(1.7))),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("given", [row[1] for row in NORMALS], ids=[row[0] for row in NORMALS])
def test_a_normal_distribution_of_vectors_is_scipys(given: tuple[Any, ...]) -> None:
    symmetric = given[2].ndim == 2

    def through(x: Any, mean: Any, root: Any) -> Any:
        cov = root @ root.T if symmetric else root
        normal = scipy.stats.multivariate_normal
        return normal.logpdf(x, mean, cov), normal.pdf(x, mean, cov)

    check_grads(through, *given, resize=(2,))  # SciPy drops an axis of one vector, a file keeps the rank


@pytest.mark.parametrize("rank", [3, 2, 1])
def test_a_normal_distribution_of_a_lower_rank_is_scipys(rank: int) -> None:
    root = np.random.default_rng(rank).standard_normal((3, rank))

    def f(scale: Any, along: Any) -> Any:
        normal = scipy.stats.multivariate_normal
        cov = scale * (root @ np.diag(np.exp(along[:rank])) @ root.T)
        inside = root @ along[:rank]
        return normal.logpdf(inside, np.zeros(3), cov, allow_singular=True), normal.pdf(inside, None, cov, True)

    check_grads(f, np.array(0.7), np.array([0.3, -0.2, 0.5]), symbolic=False)


def test_what_lies_outside_of_a_singular_normal_distribution_has_no_density() -> None:
    def f(x: Any) -> Any:
        return scipy.stats.multivariate_normal.logpdf(x, np.zeros(2), np.diag([2.0, 0.0]), allow_singular=True)

    points = np.array([[0.3, 0.0], [0.3, 0.1]])
    np.testing.assert_allclose(ps.trace(f, points)(points), f(points))


MATRICES: dict[str, Callable[..., Any]] = {
    "multivariate_t": lambda x, c: (
        scipy.stats.multivariate_t.logpdf(x, x[0], c, 3.3),
        scipy.stats.multivariate_t.pdf(x, shape=c, df=x[0, 0] + 4),
    ),
    "matrix_normal": lambda x, c: (
        scipy.stats.matrix_normal.logpdf(x, 0.5 * x, x[0, 0] + 2, c),
        scipy.stats.matrix_normal.pdf(x, 0.1 * x, colcov=c),
    ),
    "wishart": lambda x, c: (
        scipy.stats.wishart.logpdf(c, 5.0, x.T @ x + c),
        1e3 * scipy.stats.wishart.pdf(x.T @ x + c, 4, c),
    ),
    "invwishart": lambda x, c: (
        scipy.stats.invwishart.logpdf(c, 5.0, x.T @ x + c),
        scipy.stats.invwishart.pdf(x.T @ x + c, 4, c),
    ),
    "a normal distribution's entropy": lambda x, c: scipy.stats.multivariate_normal.entropy(x[0], c),
    "dirichlet": lambda x, c: (
        scipy.stats.dirichlet.logpdf(np.diag(c) / np.trace(c), x[0] + 2),
        scipy.stats.dirichlet.pdf([0.2, 0.5], x[0] + 2),
    ),
    "multinomial": lambda x, c: (
        scipy.stats.multinomial.logpmf([[1, 2, 0], [3, 0, 0], [1, 1, 0]], 3, np.diag(c) / np.trace(c))[:2],
        x * scipy.stats.multinomial.pmf([1, 1, 1], 3, np.diag(c) / np.trace(c)),
    ),
    "frozen ones": lambda x, c: (
        OUTSIDE.logpdf(x),
        scipy.stats.dirichlet([2.0, 1.3, 0.6]).logpdf(np.diag(c) / np.trace(c)),
    ),
}
OUTSIDE = scipy.stats.multivariate_normal([0.1, 0.2, -0.3], SPREAD)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MATRICES)
def test_a_distribution_of_vectors_or_matrices_is_scipys(name: str) -> None:
    def f(x: Any, root: Any) -> Any:
        return MATRICES[name](x, root @ root.T)

    check_grads(f, np.linspace(-1, 1, 6).reshape(2, 3), SPREAD, symbolic=False)


def mixed(x: Any) -> Any:
    frozen = scipy.stats.gamma(2.0, scale=x[0])
    fixed = scipy.stats.t(5)
    normal = scipy.stats.multivariate_normal(mean=x, cov=SPREAD)
    counted = scipy.stats.poisson.logpmf(COUNTS[1:], x[2]).sum()
    return frozen.logpdf(x).sum() + fixed.logpdf(x) + normal.logpdf(SPREAD).sum() + counted


def test_a_users_code_names_distributions_as_scipy_does() -> None:
    check_grads(mixed, np.array([0.7, 0.9, 1.4]), symbolic=False)


def test_a_wrong_parameter_is_told() -> None:
    with pytest.raises(TypeError, match="the parameters are a, loc, scale"):
        CONTINUOUS["gamma"].logpdf(1.0, 2.0, shape=3.0)
    with pytest.raises(TypeError, match="missing parameters: a"):
        CONTINUOUS["gamma"].logpdf(1.0)


def test_a_normal_distribution_cut_far_out_has_probabilities_and_quantiles() -> None:
    ends, q = (45.0, 50.0), np.array([0.01, 0.3, 0.9])
    z = ps.trace(lambda q: scipy.stats.truncnorm.ppf(q, *ends), q)(q)
    np.testing.assert_allclose(ps.trace(lambda z: scipy.stats.truncnorm.cdf(z, *ends), z)(z), q, rtol=1e-9)
    slopes = ps.grad(lambda q: np.sum(scipy.stats.truncnorm.ppf(q, *ends)))(q)
    np.testing.assert_allclose(slopes * scipy.stats.truncnorm.pdf(z, *ends), 1.0, rtol=1e-7)
