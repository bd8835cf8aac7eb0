"""Families of scipy.stats at parameters and data that are none of theirs: SciPy's NaN, and a gradient of NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from primsplit.frontends.scipy.stats.kinds import Continuous, Discrete
from tests.frontends.scipy.stats.family import PARAMETERS, SHAPES

NAN = np.nan
FAMILIES = {n: d for n, d in stats.DISTRIBUTIONS.items() if isinstance(d, Continuous | Discrete)}
QUICK = ("expon", "geom", "norm", "uniform", "weibull_min")
"""Families whose programs are short; they are of each kind."""
BEYOND: dict[str, tuple[float, ...]] = {
    "bernoulli": (-0.1, 1.2), "binom": (2.5, 1.3), "betabinom": (2.5,), "geom": (0.0, 1.3),
    "johnsonsb": (-1.1,), "johnsonsu": (-1.1,), "logser": (0.0, 1.0), "nbinom": (-1.0, 1.3), "norminvgauss": (-1.0,),
    "poisson": (-0.5,), "trapezoid": (-0.1, 1.2), "triang": (-0.1, 1.2), "wrapcauchy": (0.0, 1.3), "zipf": (1.0,),
}  # fmt: skip
"""Numbers that are no shapes of these families; of the others there is none that is not above 0."""


def of_family(name: str) -> list[Any]:
    return list(PARAMETERS.get(name, SHAPES.get(name, ())))


def rows_beyond(name: str) -> list[list[float]]:
    """Parameters that are valid, and others of which one is not."""
    shapes, has_scale = of_family(name), "scale" in FAMILIES[name].names
    valid = [*shapes, 0.1, *([1.3] if has_scale else [])]
    rows = [valid, *([*valid[:i], NAN, *valid[i + 1 :]] for i in range(len(valid)))]
    rows += [[*valid[:-1], s] for s in (0.0, -1.0)] * has_scale
    return rows + [[*valid[:i], s, *valid[i + 1 :]] for i in range(len(shapes)) for s in BEYOND.get(name, (-1.1,))]


def all_of(name: str, x: Any, q: Any, *parameters: Any) -> tuple[Any, Any]:
    """Return all results of a family for numbers, probabilities and parameters."""
    own, family = FAMILIES[name], getattr(scipy.stats, name)
    of_numbers = [getattr(family, m)(q if m in {"ppf", "isf"} else x, *parameters) for m in own.own]
    rest = [m for m in own.methods if m not in own.own and m != "interval"]
    return of_numbers, [getattr(family, m)(*parameters) for m in rest]


def with_slopes(name: str, count: int) -> list[int]:
    """The arguments that a family's functions depend on smoothly: not integers and their places."""
    unused = [] if "ppf" in FAMILIES[name].own else [1]
    steps = [0, count - 1] if isinstance(FAMILIES[name], Discrete) else []
    return [i for i in range(count) if i not in {*unused, *steps}]


def check(name: str, arguments: list[Any], right: Callable[..., Any]) -> None:
    """Values are SciPy's; where all of an element's are NaN, so are the gradients in all arguments."""
    wanted = [np.asarray(v) for part in right(name, *arguments) for v in part]
    wrt = tuple(range(len(arguments)))
    found = [v for part in ps.trace(lambda *a: all_of(name, *a), *arguments)(*arguments) for v in part]
    for one, value in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, value, rtol=1e-9, atol=1e-300)
    gradients = ps.grad(lambda *a: sum(np.sum(v) for part in all_of(name, *a) for v in part), wrt=wrt)(*arguments)
    is_lost = np.all(np.isnan(wanted), axis=0)
    assert is_lost.any()
    for index in with_slopes(name, len(arguments)):
        np.testing.assert_array_equal(np.isnan(gradients[index]) | ~is_lost, True, err_msg=str(index))
        assert not np.isnan(gradients[index][0]), index


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "name",  # SciPy takes a missing shape of gengamma for one
    [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in FAMILIES if n != "gengamma"],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:The shape parameter of the erlang", "ignore:invalid")
def test_parameters_out_of_range_are_nan_in_value_and_gradient(name: str) -> None:
    columns = [np.array(c) for c in zip(*rows_beyond(name), strict=True)]
    x = 1.0 if isinstance(FAMILIES[name], Discrete) else 2.1 if name == "pareto" else 0.9
    check(name, [np.full_like(columns[0], x), np.full_like(columns[0], 0.4), *columns], all_of)


def densities(name: str, x: Any, q: Any, *parameters: Any) -> list[Any]:
    return all_of(name, x, q, *parameters)[0]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in FAMILIES])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_missing_numbers_are_nan_in_value_and_gradient(name: str) -> None:
    """The other elements keep their gradients."""
    x = np.array([1.0 if isinstance(FAMILIES[name], Discrete) else 2.1 if name == "pareto" else 0.9, NAN])
    q, parameters = np.array([0.4, NAN]), [np.full(2, p) for p in of_family(name)]
    arguments = [x, q, *parameters]
    found = ps.trace(lambda *a: densities(name, *a), *arguments)(*arguments)
    for one, value in zip(found, densities(name, *arguments), strict=True):
        np.testing.assert_allclose(one, value, rtol=1e-9)
        assert np.isnan(one[1])
    used = tuple(i for i in with_slopes(name, len(arguments) + 1) if i < len(arguments))
    every = ps.grad(lambda *a: sum(np.sum(v) for v in densities(name, *a)), wrt=used)(*arguments)
    for gradient in every:
        np.testing.assert_array_equal(np.isnan(gradient), [False, True])


def test_a_missing_count_has_no_probability() -> None:
    def f(k: Any) -> Any:
        return scipy.stats.poisson.pmf(k, 2.0), scipy.stats.binom.logpmf(k, 7, 0.3), scipy.stats.binom.pmf(k, 7, -0.1)

    counts = np.array([NAN, 2.0, 2.5, -1.0, 9.0])
    for one, value in zip(ps.trace(f, counts)(counts), f(counts), strict=True):
        np.testing.assert_allclose(one, value, rtol=1e-12)


def test_a_bad_parameter_leaves_the_other_elements_as_they_are() -> None:
    scales, x = np.array([1.3, -1.0, 0.7]), np.array([0.2, -4.0, 0.9])

    def total(scale: Any) -> Any:
        return np.sum(scipy.stats.norm.logpdf(x, 0.1, scale)[..., ::2])

    expected = ((x - 0.1) ** 2 / scales**3 - 1 / scales)[[0, 2]]
    np.testing.assert_allclose(ps.grad(total)(scales)[[0, 2]], expected, rtol=1e-12)


def test_a_number_outside_of_the_support_leaves_the_gradient_of_the_others() -> None:
    x = np.array([-1.0, 0.7])
    found = ps.grad(lambda a: np.sum(scipy.stats.gamma.pdf(x, a)))(2.2)
    alone = ps.grad(lambda a: scipy.stats.gamma.pdf(0.7, a))(2.2)
    np.testing.assert_allclose(found, alone, rtol=1e-14)


@pytest.mark.parametrize("size", [None, "N"])
def test_frozen_families_and_unknown_sizes_have_them_too(size: str | None) -> None:
    frozen = scipy.stats.beta(-1.0, 2.0)
    x = np.array([0.3, NAN, 0.6])
    spec = x if size is None else ps.spec("float64", [size])

    def f(x: Any) -> Any:
        return frozen.logpdf(x), scipy.stats.expon(scale=x[0]).cdf(x), scipy.stats.expon(scale=-x[0]).cdf(x)

    for one, value in zip(ps.trace(f, spec)(x), f(x), strict=True):
        np.testing.assert_allclose(one, value, rtol=1e-12)


def test_forward_mode_and_second_derivatives_are_nan_there() -> None:
    def f(scale: Any) -> Any:
        return scipy.stats.norm.logpdf(0.7, 0.0, scale)

    value, slope = ps.jvp(f, (-1.3,), (1.0,))
    assert np.isnan(value)
    assert np.isnan(slope)
    curve = ps.grad(ps.grad(f))
    assert np.isnan(curve(-1.3))
    np.testing.assert_allclose(curve(1.3), 1 / 1.3**2 - 3 * 0.49 / 1.3**4, rtol=1e-12)


def test_valid_numbers_that_are_known_cost_nothing() -> None:
    made = ps.trace(lambda x: scipy.stats.norm.logpdf(x, 0.5, 2.0), np.zeros(3))
    assert "Where" not in str(made)
    assert "Greater" not in str(made)
