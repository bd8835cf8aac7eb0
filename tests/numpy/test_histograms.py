"""Counting in bins: values against NumPy, gradients in the weights against central differences."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError
from tests.numpy.agreement import check_agrees, check_grads

RANDOM = np.random.default_rng(7)
PLACES, DATA, WEIGHTS = RANDOM.integers(0, 7, 20), RANDOM.standard_normal(50), RANDOM.random(50)


def test_bincount_is_numpys() -> None:
    check_agrees(np.bincount, PLACES)
    check_agrees(lambda x: np.bincount(x, minlength=12), PLACES)
    check_agrees(lambda x, w: np.bincount(x, w, 3), PLACES, RANDOM.random(20))
    check_agrees(lambda x: np.bincount(x, minlength=2), PLACES[:0])


@pytest.mark.parametrize(
    "options",
    [{}, {"bins": 5, "range": (-1, 1)}, {"bins": [-1.0, 0, 0.5, 2]}, {"bins": 4, "density": True}],
    ids=str,
)
def test_a_histogram_is_numpys(options: dict[str, Any]) -> None:
    check_agrees(lambda x: np.histogram(x, **options), DATA)
    check_agrees(lambda x: np.histogram_bin_edges(x, **{k: v for k, v in options.items() if k != "density"}), DATA)


def test_the_weights_of_a_histogram_have_a_gradient() -> None:
    check_grads(lambda w: np.histogram(DATA, 3, weights=w)[0] ** 2, WEIGHTS)
    check_grads(lambda w: np.bincount(PLACES[:5], weights=w, minlength=6) ** 2, WEIGHTS[:5])


def test_bincount_of_floats_is_one_error_at_the_users_line() -> None:
    with pytest.raises(DtypeError, match="bincount takes integers along one axis") as caught:
        ps.trace(np.bincount, DATA)
    assert "test_histograms.py" in str(caught.value)


def test_points_and_weights_of_a_histogram_are_not_repeated() -> None:
    for given in ((DATA, DATA[:1]), (DATA[:1], DATA)):
        with pytest.raises(ValueError, match="x and y must have the same length"):
            ps.trace(np.histogram2d, *given)
    with pytest.raises(ValueError, match="The weights and list don't have the same length"):
        ps.trace(lambda x, y, w: np.histogram2d(x, y, weights=w), DATA, DATA, DATA[:1])


def test_the_bins_of_nothing_go_from_0_to_1() -> None:
    check_agrees(lambda x: np.histogram(x, 4), np.zeros(0))
    check_agrees(lambda x: np.histogram_bin_edges(x, 4), np.zeros(0, np.float32))


@pytest.mark.parametrize("ends", [None, [[0, 5], [0, 5]], [None, [0, 5]]])
def test_edges_have_the_dtype_of_all_coordinates_and_of_a_range_float64(ends: Any) -> None:
    for one, other in [("float32", "float32"), ("float32", "float64"), ("uint8", "float32")]:
        x, y = np.arange(5).astype(one), np.arange(5)[::-1].astype(other)
        check_agrees(lambda x, y: np.histogram2d(x, y, 3, range=ends), x, y)


@pytest.mark.parametrize("place", range(3))
def test_edges_with_nan_are_in_no_order(place: int) -> None:
    values, edges = np.array([0.5, 1.5]), np.array([0.0, 1.0, 2.0])
    missing = np.where(np.arange(3) == place, np.nan, edges)
    functions = (
        lambda v, b: np.histogram(v, b)[0],
        lambda v, b: np.histogram2d(v, v, [b, b])[0],
        lambda v, b: np.digitize(v, b),
    )
    for f in functions:
        program = ps.trace(f, values, edges)
        np.testing.assert_array_equal(program(values, edges), f(values, edges))
        with pytest.raises(ValueError, match="monotonic"):
            program(values, missing)
        with pytest.raises(ValueError, match="monotonic"):
            ps.trace(lambda v, f=f: f(v, missing), values)
