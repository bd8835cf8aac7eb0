"""A result that is complex on one path is complex on all."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError

W = np.array([1.0 - 0.5j, 0.3 + 0.2j, -0.4 + 1.5j])

X = np.array([0.5, -1.5, 2.0])


def test_a_result_that_is_complex_on_one_path_is_complex_on_all() -> None:
    def turned(x: Any) -> Any:
        return {"y": x * 1j, "n": 1.0} if x.sum() > 0 else {"y": x, "n": 2.0}

    program = ps.trace(turned, ps.spec("float64", ["N"]))
    for x in (X, -X):
        np.testing.assert_array_equal(program(x)["y"], turned(x)["y"])
        assert program(x)["n"] == turned(x)["n"]
    _, pullback = ps.vjp(turned, -X)
    np.testing.assert_array_equal(pullback({"y": W, "n": 0.0})[0], W.real)


def test_only_the_results_that_are_complex_on_some_path_become_so() -> None:
    def f(x: Any) -> Any:
        return (x, x * 1j, 1) if x.sum() > 0 else (x, x, 2)

    program = ps.trace(f, ps.spec("float64", [3]))
    for x in (X, -X):
        real, turned, count = program(x)
        assert (real.dtype, turned.dtype, count.dtype) == (np.float64, np.complex128, np.int64)
        np.testing.assert_array_equal(real, x)
        np.testing.assert_array_equal(turned, f(x)[1])
        assert count == f(x)[2]


def test_both_parts_have_the_dtype_of_the_array() -> None:
    program = ps.trace(lambda x: x * np.complex64(1j) if x[0] > 0 else x, ps.spec("float32", [3]))
    for x in (X.astype(np.float32), -X.astype(np.float32)):
        assert program(x).dtype == np.complex64


def test_paths_that_are_nested_otherwise_are_refused_all_the_same() -> None:
    with pytest.raises(TraceError, match="results of another structure"):
        ps.trace(lambda x: (x * 1j, x) if x[0] > 0 else x, X)
