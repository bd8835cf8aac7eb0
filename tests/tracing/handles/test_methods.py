"""Methods of traced arrays are NumPy's functions, and numbers lack those that only arrays have."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.handles.methods import ARRAYS, KEEPING, METHODS, called

X = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]])
WITHOUT_ARGUMENTS = [
    "all", "any", "argmax", "argmin", "argsort", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal",
    "flatten", "max", "mean", "min", "prod", "ravel", "round", "squeeze", "std", "sum", "trace", "transpose", "var",
]  # fmt: skip
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "astype": lambda x: x.astype(np.float32),
    "argpartition": lambda x: np.sort(x, 1)[:, x.argpartition(1, axis=1)[:, 0] * 0],
    "choose": lambda x: (x > 0).astype(int).choose([x, -x]),
    "clip": lambda x: x.clip(-1.0, 2.0),
    "compress": lambda x: x.compress([True, False, True], axis=1),
    "dot": lambda x: x.dot(x.T),
    "repeat": lambda x: x.repeat(2, axis=0),
    "reshape": lambda x: x.reshape(3, -1),
    "searchsorted": lambda x: np.arange(4.0).searchsorted(x),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "take": lambda x: x.take([2, 0], axis=1),
    "view": lambda x: x.view() + 1.0,
    "over an axis": lambda x: x.max(axis=-1, keepdims=True),
    "by NumPy's names": lambda x: np.pad(array=x, pad_width=1),
}


@pytest.mark.parametrize("name", WITHOUT_ARGUMENTS)
def test_a_method_is_numpys(name: str) -> None:
    found, wanted = ps.trace(lambda x: getattr(x, name)(), X)(X), getattr(X, name)()
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_method_takes_numpys_arguments(name: str) -> None:
    np.testing.assert_allclose(ps.trace(ARGUMENTS[name], X)(X), ARGUMENTS[name](X), rtol=1e-15)


@pytest.mark.parametrize(
    "write",
    [lambda y: y.sort(axis=0), lambda y: y.fill(2.5), lambda y: y.put([0, 4], [7.0, 8.0])],
    ids=["sort", "fill", "put"],
)
def test_a_method_that_writes_changes_the_array(write: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        assert write(y) is None
        return y

    np.testing.assert_array_equal(ps.trace(f, X)(X), f(X))


def test_every_method_of_numpys_arrays_in_the_table_is_one() -> None:
    assert {name for name in METHODS if not hasattr(np.ndarray, name)} == set()


def test_a_function_whose_result_without_axes_is_an_array_is_one_in_numpy() -> None:
    zero = np.zeros(())
    for function in (*ARRAYS, *KEEPING):
        if function in {np.squeeze, np.reshape, np.transpose, np.copy, np.roll, np.zeros_like, np.where}:
            more = {np.reshape: ((),), np.roll: (1,), np.where: (zero, zero)}.get(function, ())
            assert isinstance(function(zero, *more), np.ndarray), function


def test_a_number_has_no_length_and_an_array_has() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((hasattr(x, "__len__"), hasattr(x[0, 0], "__len__"), hasattr(x[0], "__len__")))
        return x

    ps.trace(f, X)
    assert seen == [(True, hasattr(X[0, 0], "__len__"), True)]


def test_a_first_argument_may_be_passed_by_its_name() -> None:
    def function(array: Any, width: int = 0) -> Any:
        return array, width

    def given(x: Any, width: int = 0) -> Any:
        return x, width

    assert called(given, function, (), {"array": 3, "width": 2}) == (3, 2)
    assert called(given, function, (3,), {"width": 2}) == (3, 2)
