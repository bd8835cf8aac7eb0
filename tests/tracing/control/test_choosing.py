"""`safe_where` beside `np.where`, and results written into the caller's arrays."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.testing import check_grads


def test_the_side_that_is_not_chosen_does_no_harm() -> None:
    """Row T7: np.where keeps the NaN of sqrt at 0, safe_where does not."""

    def plain(x):
        return np.where(x < 1, x, np.sqrt(x) * np.sqrt(x - 1)).sum()

    def safe(x):
        return ps.safe_where(x < 1, lambda x: x, lambda x: np.sqrt(x) * np.sqrt(x - 1), x, safe=2.0).sum()

    assert np.isnan(ps.grad(plain)(np.array([0.0])))[0]
    assert ps.grad(safe)(np.array([0.0]))[0] == 1.0
    check_grads(safe, np.array([0.3, 1.7, 2.5]))


def test_results_are_written_into_the_callers_arrays() -> None:
    both = ps.value_and_grad(lambda x: (x**2).sum())
    x = np.array([1.0, 2.0])
    out = (np.zeros(()), np.zeros(2))
    returned = both.run_into(out, x)
    assert returned is out
    assert out[0] == 5.0
    np.testing.assert_array_equal(out[1], [2.0, 4.0])


@pytest.mark.parametrize(
    ("out", "error", "told"),
    [
        ((np.zeros(()), np.zeros(3)), ShapeError, r"y1 is float64\[2\]"),
        ((np.zeros(()), np.zeros(2, np.float32)), DtypeError, "float32"),
        (np.zeros(2), SpecError, "nested otherwise"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(out, error, told) -> None:
    both = ps.value_and_grad(lambda x: (x**2).sum())
    with pytest.raises(error, match=told):
        both.run_into(out, np.array([1.0, 2.0]))


def test_a_result_may_not_share_memory_with_an_argument() -> None:
    x = np.array([1.0, 2.0])
    with pytest.raises(ShapeError, match="shares memory"):
        ps.grad(lambda x: (x**2).sum()).run_into(x, x)
