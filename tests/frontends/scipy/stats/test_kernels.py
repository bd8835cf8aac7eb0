"""scipy.stats.gaussian_kde at traced points, and of traced data, weights and widths: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import gaussian_kde

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.testing import check_grads

random = np.random.default_rng(2)
DATA, PLANE, WEIGHTS = random.standard_normal(8), random.standard_normal((2, 8)), random.uniform(0.5, 1.5, 8)
AT, PAIRS = np.linspace(-1.0, 1.0, 5), random.standard_normal((2, 4))
KNOWN = gaussian_kde(PLANE, weights=WEIGHTS)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "points": (lambda x: gaussian_kde(DATA)(x), (AT,)),
    "known kernels": (lambda x: KNOWN.logpdf(x), (PAIRS,)),
    "a probability": (lambda x: gaussian_kde(DATA).integrate_box_1d(x[0], x[1]), (AT,)),
    "data": (lambda d, x: gaussian_kde(d).evaluate(x), (DATA, AT)),
    "data of two dimensions": (lambda d, x: gaussian_kde(d, "silverman").logpdf(x), (PLANE, PAIRS)),
    "a point": (lambda d, x: gaussian_kde(d).pdf(x[:, 0]), (PLANE, PAIRS)),
    "weights": (lambda w, x: gaussian_kde(PLANE, weights=w)(x), (WEIGHTS, PAIRS)),
    "a width": (lambda h, x: gaussian_kde(DATA, bw_method=h[0] ** 2)(x), (np.array([0.6]), AT)),
    "a width of one's own": (lambda d, x: gaussian_kde(d, lambda k: k.scotts_factor() / 2)(x), (DATA, AT)),
    "another width": (lambda d: other_width(d), (DATA,)),
    "a box": (lambda d, x: gaussian_kde(d).integrate_box_1d(-np.inf, x[3]), (DATA, AT)),
}


def other_width(data: Any) -> Any:
    made = gaussian_kde(data)
    made.set_bandwidth(made.factor / 3)
    return made(AT) + made.covariance[0]


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_densities_are_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    single = tuple(x.astype(np.float32) for x in given)
    found, wanted = ps.trace(function, *single)(*single), function(*single)
    assert (found.dtype, found.shape) == (np.dtype(np.float64), np.shape(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    check_grads(function, *given, symbolic=False)


def test_one_file_serves_every_number_of_data_and_points() -> None:
    def density(data: Any, x: Any) -> Any:
        return gaussian_kde(data).logpdf(x)

    program = ps.trace(density, ps.spec("float64", [2, "N"]), ps.spec("float64", [2, "M"]))
    for count, points in ((8, 4), (3, 1), (5, 0)):
        args = PLANE[:, :count], PAIRS[:, :points]
        wanted = density(*args) if points else np.zeros(0)
        np.testing.assert_allclose(program(*args), wanted, rtol=1e-11)


def test_a_known_density_that_changes_is_read_again() -> None:
    known = gaussian_kde(DATA)
    slope = ps.grad(lambda x: known(x)[0])
    before = slope(0.3)
    known.set_bandwidth(2.0)
    step = (known(0.3 + 1e-5)[0] - known(0.3 - 1e-5)[0]) / 2e-5
    assert before != slope(0.3)
    np.testing.assert_allclose(slope(0.3), step, rtol=1e-7)


def test_points_of_another_dimension_are_told_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="points have dimension 5, dataset has dimension 2") as caught:
        ps.trace(lambda d: gaussian_kde(d)(np.ones((5, 3))), PLANE)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
