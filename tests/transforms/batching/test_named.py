"""A batch of a function that is recorded by name is a call of that name, with its values and gradients."""

import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit.numpy.extrema import NAMED
from primsplit.numpy.log_sums import log_sum_exp
from primsplit.numpy.repetition import sliding_windows
from primsplit.tracing.calls.named import arguments_of

ROWS = np.array([[1.0, 3, 3], [2, 2, 2], [5, 4, 3]])


def test_a_batch_of_maxima_is_one_maximum() -> None:
    made = ps.trace(ps.vmap(lambda x: np.max(x, axis=(0, -1))), ps.spec("float64", ["N", 2, 4, 3]))
    (call,) = made.block.ops
    assert arguments_of(call, NAMED["max"]) == {"axis": (1, 3), "keepdims": False, "may_be_empty": False}
    x = np.random.default_rng(0).standard_normal((5, 2, 4, 3))
    np.testing.assert_array_equal(made(x), x.max(axis=(1, 3)))
    gradients = ps.vmap(ps.grad(lambda x: np.max(x) ** 2))(ROWS)
    np.testing.assert_allclose(gradients, 2 * ROWS * [[0, 0.5, 0.5], [1 / 3] * 3, [1, 0, 0]])


@pytest.mark.parametrize("inner", [False, True])
def test_a_batch_of_windows_is_one_view_of_windows(inner: bool) -> None:
    def f(x: np.ndarray) -> np.ndarray:
        return np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, 0) if inner else (0, 1))

    x = np.arange(60.0).reshape(3, 4, 5)
    made = ps.trace(ps.vmap(f), ps.spec("float64", ["N", 4, 5]))
    (call,) = made.block.ops
    assert arguments_of(call, sliding_windows) == {"sizes": (2, 3), "axis": (2, 1) if inner else (1, 2)}
    np.testing.assert_array_equal(made(x), [f(each) for each in x])


def test_a_batch_of_logsumexp_is_one() -> None:
    made = ps.trace(ps.vmap(lambda x: special.logsumexp(x, axis=0)), ps.spec("float64", ["N", 3]))
    assert arguments_of(made.block.ops[0], log_sum_exp) == {"axis": (1,)}
    np.testing.assert_allclose(made(ROWS), special.logsumexp(ROWS, axis=1))
