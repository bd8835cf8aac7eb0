"""scipy.stats' mirror: SciPy's values and gradients of the normal distribution, in all its arguments."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.scipy import stats
from primsplit.scipy.stats.families import CONTINUOUS, DISCRETE
from tests.numpy.agreement import check_grads

X = np.array([-1.3, 0.2, 2.1])


QUANTILES = ("ppf", "isf")


@pytest.mark.parametrize("name", [name for name in stats.norm.methods if name not in QUANTILES])
def test_a_function_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([-30.0, -9.0, 9.0, 30.0])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-12, atol=1e-300)

    def at(x: Any, loc: Any, scale: Any) -> Any:
        mirror = function if isinstance(x, ps.Array) else reference
        return mirror(x, loc, scale)

    check_grads(at, X, np.array([0.1, -0.4, 0.3]), np.array([0.7, 1.3, 2.0]))


@pytest.mark.parametrize("name", QUANTILES)
def test_a_quantile_of_the_normal_distribution_is_scipys(name: str) -> None:
    function, reference = getattr(stats.norm, name), getattr(scipy.stats.norm, name)
    far = np.array([0.0, 1e-300, 1e-17, 0.3, 0.5, 0.999999, 1.0, -0.1, np.nan])
    np.testing.assert_allclose(ps.trace(function, far)(far), reference(far), rtol=1e-14, atol=1e-300)

    def at(q: Any, loc: Any, scale: Any) -> Any:
        mirror = function if isinstance(q, ps.Array) else reference
        return mirror(q, loc, scale)

    check_grads(at, np.array([0.1, 0.5, 0.8]), np.array([0.1, -0.4, 0.3]), np.array([0.7, 1.3, 2.0]))


def test_a_float32_argument_gives_float64_as_in_scipy() -> None:
    x = X.astype(np.float32)
    assert ps.trace(stats.norm.logpdf, x)(x).dtype == scipy.stats.norm.logpdf(x).dtype


SHAPES: dict[str, tuple[float, ...]] = {
    "beta": (1.7, 2.4), "chi2": (3.3,), "gamma": (2.2,), "invgamma": (2.6,), "lognorm": (0.8,), "pareto": (1.4,),
    "t": (4.2,), "weibull_min": (1.6,),
}  # fmt: skip
"""Parameters of the families that have some; the others have none."""

POINTS = np.array([-2.7, -0.4, 0.0, 0.3, 0.9, 1.0, 1.8, 20.0, np.nan])

METHODS = [(name, method) for name, family in CONTINUOUS.items() for method in family.methods]


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[f"{n}.{m}" for n, m in METHODS])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_function_of_a_family_is_scipys(name: str, method: str) -> None:
    function, reference = getattr(CONTINUOUS[name], method), getattr(getattr(scipy.stats, name), method)
    shapes = SHAPES.get(name, ())
    found = ps.trace(lambda x: function(x, *shapes), POINTS)(POINTS)
    smallest = 1e-15 if method == "logcdf" else 1e-300  # SciPy takes the logarithm of a number near 1
    np.testing.assert_allclose(found, reference(POINTS, *shapes), rtol=1e-12, atol=smallest)
    found = ps.trace(lambda x: function(x, *shapes, loc=0.2, scale=1.3), POINTS)(POINTS)
    np.testing.assert_allclose(found, reference(POINTS, *shapes, loc=0.2, scale=1.3), rtol=1e-12, atol=smallest)


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[f"{n}.{m}" for n, m in METHODS])
def test_a_family_has_a_gradient_in_all_its_parameters(name: str, method: str) -> None:
    function, reference = getattr(CONTINUOUS[name], method), getattr(getattr(scipy.stats, name), method)
    x = np.array([0.55, 0.81, 1.13]) + (3.0 if name == "pareto" else 0.0)

    def at(x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
        return (function if isinstance(x, ps.Array) else reference)(x, *shapes, loc, scale)

    shapes = [np.full(3, s) for s in SHAPES.get(name, ())]
    check_grads(at, x, np.array([0.1, -0.04, 0.0]), np.array([1.4, 1.3, 2.0]), *shapes)


def test_the_gradient_of_a_density_outside_of_the_support_is_zero() -> None:
    for name, family in CONTINUOUS.items():
        shapes = SHAPES.get(name, ())
        if family.low > -np.inf:
            outside = np.array([-3.0, -0.5])
            gradient = ps.grad(lambda x, f=family, s=shapes: np.sum(f.pdf(x, *s)))(outside)
            np.testing.assert_array_equal(gradient, [0.0, 0.0])


COUNTS = np.array([-1, 0, 1, 2, 5, 9])
PARAMETERS: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "binom": (7.0, 0.4), "geom": (0.3,), "nbinom": (2.5, 0.4), "poisson": (2.3,),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_a_family_of_integers_is_scipys(name: str) -> None:
    family, reference, parameters = DISCRETE[name], getattr(scipy.stats, name), PARAMETERS[name]
    for counts in (COUNTS, COUNTS + 0.5, COUNTS.astype(float)):
        found = ps.trace(lambda k: family.logpmf(k, *parameters), counts)(counts)
        np.testing.assert_allclose(found, reference.logpmf(counts, *parameters), rtol=1e-12)
        found = ps.trace(lambda k: family.pmf(k, *parameters, loc=1), counts)(counts)
        np.testing.assert_allclose(found, reference.pmf(counts, *parameters, loc=1), rtol=1e-12)


@pytest.mark.parametrize("name", DISCRETE)
def test_a_family_of_integers_has_a_gradient_in_its_parameters(name: str) -> None:
    def at(p: Any) -> Any:
        given = DISCRETE[name] if isinstance(p, ps.Array) else getattr(scipy.stats, name)
        return given.logpmf(np.array([1, 1, 1]), *PARAMETERS[name][:-1], p)

    check_grads(at, np.array([0.2, 0.4, 0.7]), symbolic=False)


SPREAD = np.array([[1.3, 0.4, 0.1], [0.4, 0.9, -0.2], [0.1, -0.2, 0.7]])
NORMALS: list[tuple[str, tuple[Any, ...]]] = [
    ("many points", (np.linspace(-1, 1, 12).reshape(4, 3), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("a stack of points", (np.linspace(-1, 1, 24).reshape(2, 4, 3), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("one point", (np.array([0.3, -0.2, 0.9]), np.array([0.1, -0.3, 0.5]), SPREAD)),
    ("a diagonal", (np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3), np.array([0.4, 1.2, 2.0]))),
    ("numbers", (np.linspace(-1, 1, 5), np.array(0.2), np.array(1.7))),
]


@pytest.mark.parametrize("given", [row[1] for row in NORMALS], ids=[row[0] for row in NORMALS])
def test_a_normal_distribution_of_vectors_is_scipys(given: tuple[Any, ...]) -> None:
    def at(x: Any, mean: Any, cov: Any) -> Any:
        own = stats.DISTRIBUTIONS["multivariate_normal"]
        return (own if isinstance(x, ps.Array) else scipy.stats.multivariate_normal).logpdf(x, mean, cov)

    symmetric = given[2].ndim == 2

    def through(x: Any, mean: Any, root: Any) -> Any:
        return at(x, mean, root @ root.T if symmetric else root)

    check_grads(through, *given, symbolic=False)


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
