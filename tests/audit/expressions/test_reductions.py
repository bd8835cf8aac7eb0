"""Reductions as expressions, in the dtype of the input."""

import numpy as np

from tests.audit.expressions.written import text_of

X = "float32[2,3]"


def test_axes_are_numbers_of_the_run_or_all() -> None:
    assert text_of("ReduceSum", X, np.array([1]), keepdims=0) == "np.sum(a, axis=1)"
    assert text_of("ReduceSum", X, np.array([0, 1])) == "np.sum(a, axis=(0, 1), keepdims=True)"
    assert text_of("ReduceMax", X, keepdims=0) == "np.max(a)"
    assert text_of("ReduceSum", X, "int64[1]", keepdims=0) == "np.sum(a, axis=tuple(b) or None)"
    assert text_of("ReduceSum", X, noop_with_empty_axes=1) == "a"


def test_sums_of_small_integers_keep_their_dtype() -> None:
    assert text_of("ReduceSum", "int32[2]", keepdims=0) == "np.sum(a, dtype=np.int32)"
    assert text_of("ReduceMean", "int64[2]", keepdims=0) == "np.mean(a, dtype=np.int64)"
    assert text_of("ReduceProd", "?", keepdims=0) == "np.prod(a, dtype=a.dtype)"
    assert text_of("CumSum", "int32[2]", np.array(0)) == "np.cumsum(a, axis=0, dtype=a.dtype)"


def test_norms_are_formulas() -> None:
    assert text_of("ReduceL1", X, keepdims=0) == "np.sum(np.abs(a))"
    assert text_of("ReduceL2", X, keepdims=0) == "np.sqrt(np.sum(np.square(a)))"
    assert text_of("ReduceLogSumExp", X, keepdims=0, axes=[0]) == "_logsumexp(a, axis=0)"


def test_the_greatest_of_no_elements_is_the_least_number() -> None:
    assert text_of("ReduceMax", "float32[0]", keepdims=0) == "np.max(a, initial=-np.inf)"
    assert text_of("ReduceMin", "int8[0]", keepdims=0) == "np.min(a, initial=127)"


def test_places_and_running_sums() -> None:
    assert text_of("ArgMax", X, axis=1, keepdims=0) == "np.argmax(a, axis=1)"
    assert text_of("ArgMin", X, select_last_index=1) == "_last_place(np.argmin, a, 0, keepdims=True)"
    assert text_of("CumSum", X, np.array(1), reverse=1) == "_cumulated(np.cumsum, a, 1, reverse=True)"
