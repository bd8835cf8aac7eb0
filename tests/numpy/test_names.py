"""Second names of functions, and functions that only move or make arrays: each name is called once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads

X = np.array([[0.3, -1.2, 0.8], [1.7, 0.4, -0.6]])
SQUARE = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.5, 0.1, 1.1]])
HOLES = np.array([[0.3, np.nan, 0.8], [1.7, 0.4, np.nan]])
POSITIVE = np.array([0.4, 1.3, 3.2])


def _sorted_in_place(x: Any) -> Any:
    x = x.copy()
    x.partition(1)
    return x * np.array([1.0, 2.0, 3.0])


DIFFERENTIATED: list[tuple[str, Callable[..., Any], Any]] = [
    ("np.amax", lambda x: np.amax(x, axis=1), X),
    ("np.amin", lambda x: np.amin(x, axis=1), X),
    ("np.around", lambda x: np.around(x, 1) + x, X + 0.01),
    ("np.round", lambda x: np.round(x, 1) + x, X + 0.01),
    ("np.asanyarray", lambda x: np.asanyarray(x, like=x) * x, X),
    ("np.ascontiguousarray", lambda x: np.ascontiguousarray(x, like=x) * x, X),
    ("np.asfortranarray", lambda x: np.asfortranarray(x, like=x) * x, X),
    ("np.array", lambda x: np.array(x, like=x) * x, X),
    ("np.degrees", lambda x: np.degrees(x) * x, X),
    ("np.radians", lambda x: np.radians(x) * x, X),
    ("np.fabs", lambda x: np.fabs(x) * x, X),
    ("np.matrix_transpose", lambda x: np.linalg.matrix_transpose(x) @ x, X),
    ("np.linalg.tensordot", lambda x: np.linalg.tensordot(x, x, axes=([1], [1])), X),
    ("np.linalg.tensorinv", lambda x: np.linalg.tensorinv(x, ind=1), SQUARE),
    ("np.real_if_close", lambda x: np.real_if_close(x, 1000) * x, X),
    ("loggamma", lambda x: sp.loggamma(x), POSITIVE),
    ("psi", lambda x: sp.psi(x), POSITIVE),
    ("np.histogram_bin_edges", lambda x: np.histogram_bin_edges(x, bins=4), X),
    ("partition", _sorted_in_place, np.array([0.8, -0.3, 0.1])),
]


@pytest.mark.parametrize(("name", "function", "x"), DIFFERENTIATED, ids=[r[0] for r in DIFFERENTIATED])
def test_a_function_under_its_other_name_has_the_same_gradients(
    name: str, function: Callable[..., Any], x: Any
) -> None:
    check_grads(function, x, resize=(1,) if name == "np.histogram_bin_edges" else (1, 0))


@pytest.mark.parametrize("function", [np.nancumsum, np.nancumprod])
def test_the_gradient_of_a_running_result_passes_over_nan(function: Any) -> None:
    check_grads(lambda x: function(np.where(np.isnan(HOLES), HOLES, x), axis=1), X)


@pytest.mark.parametrize("function", [np.nanpercentile, np.nanquantile])
def test_the_gradient_of_a_quantile_passes_over_nan(function: Any) -> None:
    check_grads(lambda x: function(np.where(np.isnan(HOLES), HOLES, x), 0.4, axis=1), X, symbolic=False)


VALUES: list[tuple[str, Callable[..., Any]]] = [
    ("np.empty", lambda x: np.empty((2, 3), like=x) * 0.0 + x),
    ("np.zeros", lambda x: np.zeros((2, 3), like=x) + x),
    ("np.ones", lambda x: np.ones((2, 3), like=x) + x),
    ("np.identity", lambda x: x @ np.identity(3, like=x)),
    ("np.tri", lambda x: x @ np.tri(3, like=x)),
    ("np.ix_", lambda x: x[np.ix_(x[:, 0] > 0.5, np.array([True, False, True]))]),
    ("np.ravel_multi_index", lambda x: np.ravel_multi_index((np.argmax(x, axis=0), np.array([0, 1, 2])), (2, 3))),
    ("np.tril_indices_from", lambda x: x[np.tril_indices_from(x)]),
    ("np.diag_indices_from", lambda x: (x @ x.T)[np.diag_indices_from(x @ x.T)]),
]


@pytest.mark.parametrize(("name", "function"), VALUES, ids=[r[0] for r in VALUES])
def test_a_function_that_makes_arrays_or_places_gives_what_numpy_gives(name: str, function: Callable[..., Any]) -> None:
    found, wanted = ps.trace(function, X)(X), function(X)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(found, wanted)


def test_questions_about_dtypes_are_answered_while_tracing() -> None:
    answers: list[Any] = []

    def asks(x: Any) -> Any:
        answers.extend(
            (
                np.can_cast(x, np.float32),
                np.common_type(x),
                np.iscomplexobj(x),
                np.may_share_memory(x, x),
            )
        )
        return x

    ps.trace(asks, X)
    assert answers == [np.can_cast(X.dtype, np.float32), np.common_type(X), False, True]


def test_reading_the_bytes_as_another_dtype_is_refused_and_the_same_dtype_is_a_view() -> None:
    check_grads(lambda x: x.view() * x + x.view(np.ndarray), X)
    with pytest.raises(ps.PrimsplitError):
        ps.trace(lambda x: x.view(np.int64), X)


def named_first(x: Any) -> Any:
    padded = np.pad(array=x, pad_width=1, mode="edge")
    turned = np.rot90(m=np.roll(a=np.transpose(a=x), shift=1, axis=0))
    return padded[1:-1, 1:-1] * turned * np.sum(a=x, axis=0) * np.append(arr=x, values=[2.0])[-1]


def test_the_first_argument_may_have_numpys_name() -> None:
    check_grads(named_first, X, resize=())
    check_grads(lambda x: named_first(x) * np.array([x[0, 0], 1.0])[0], X, resize=())
