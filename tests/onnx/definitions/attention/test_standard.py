"""Attention and FlexAttention are what onnx's reference computes, with its gradient of first and second order."""

from typing import Any

import numpy as np
import pytest

from primsplit import split, trace
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import operator
from tests.versions import since

rng = np.random.default_rng(3)
draw = drawing(rng, "float64")


def qkv(heads: int = 2, shared: int = 2, queries: int = 3, keys: int = 5, size: int = 4, value: int = 4) -> list[Any]:
    return [draw(2, heads, queries, size), draw(2, shared, keys, size), draw(2, shared, keys, value)]


def packed(heads: int = 2, shared: int = 2, queries: int = 3, keys: int = 5, size: int = 4) -> list[Any]:
    return [draw(2, queries, heads * size), draw(2, keys, shared * size), draw(2, keys, shared * size)]


def rows(*found: int) -> np.ndarray:
    return np.array(found, np.int64)


BOOL = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], np.bool_)
MASK = draw(3, 5)
HOLES = np.where(BOOL, MASK, -np.inf)

# The root of the scale is exact: the reference takes it in float32.
CASES: dict[str, tuple[list[Any], tuple[int, ...], int, dict[str, Any]]] = {
    "plain": (qkv(), (), 1, {}),
    "another size of values": (qkv(value=3), (), 1, {"scale": 0.25}),
    "heads that share keys": (qkv(heads=4), (), 1, {}),
    "one head of keys": (qkv(heads=3, shared=1), (), 1, {}),
    "packed heads": (packed(), (), 1, {"q_num_heads": 2, "kv_num_heads": 2}),
    "packed heads that share keys": (packed(heads=4), (), 1, {"q_num_heads": 4, "kv_num_heads": 2}),
    "causal": (qkv(), (), 1, {"is_causal": 1}),
    "causal with more queries than keys": (qkv(queries=5, keys=3), (), 1, {"is_causal": 1}),
    "soft cap": (qkv(), (), 1, {"softcap": 0.75}),
    "float mask": ([*qkv(), MASK], (), 1, {}),
    "float mask of heads": ([*qkv(), draw(2, 3, 5)], (), 1, {"is_causal": 1}),
    "float mask of samples": ([*qkv(heads=4), draw(2, 1, 3, 5)], (), 1, {}),
    "bool mask with an empty row": ([*qkv(), BOOL], (), 1, {}),
    "bool mask, causal": ([*qkv(), BOOL], (), 1, {"is_causal": 1}),
    "short mask": ([*qkv(), draw(3, 4)], (), 1, {}),
    "short bool mask": ([*qkv(), BOOL[:, :3]], (), 1, {}),
    "windows": (qkv(queries=5), (), 1, {"left_window_size": 1, "right_window_size": 1}),
    "a window, causal": (qkv(queries=7), (), 1, {"left_window_size": 1, "is_causal": 1}),
    "cache": ([*qkv(), draw(2, 2, 3, 4), draw(2, 2, 3, 4)], (3,), 3, {}),
    "cache, causal": ([*qkv(), draw(2, 2, 3, 4), draw(2, 2, 3, 4)], (3,), 3, {"is_causal": 1}),
    "cache, packed": (
        [*packed(heads=4), draw(2, 2, 3, 4), draw(2, 2, 3, 4)],
        (3,),
        3,
        {"is_causal": 1, "q_num_heads": 4, "kv_num_heads": 2, "left_window_size": 2},
    ),
    "padded cache": ([*qkv(), rows(5, 2)], (3, 4, 5), 1, {}),
    "padded cache, causal": ([*qkv(), rows(4, 2)], (3, 4, 5), 1, {"is_causal": 1}),
    "padded cache, a window": ([*qkv(), rows(4, 3)], (3, 4, 5), 1, {"left_window_size": 1}),
    "scores": (qkv(), (), 4, {"softcap": 0.0, "is_causal": 1}),
    "scores after the soft cap": (qkv(), (), 4, {"softcap": 0.75, "qk_matmul_output_mode": 1}),
    "scores after the mask": ([*qkv(), MASK], (), 4, {"qk_matmul_output_mode": 2}),
    "probabilities": ([*qkv(), BOOL], (), 4, {"qk_matmul_output_mode": 3}),
}
SYMBOLIC = (
    "heads that share keys",
    "packed heads that share keys",
    "cache, packed",
    "short mask",
    "padded cache, causal",
)


STANDARD = since("onnx", "1.23", "its reference of Attention is of an older opset")


@pytest.mark.sweep(2)
@STANDARD
@pytest.mark.parametrize("name", CASES)
def test_attention_and_its_gradient_are_those_of_the_standard(name: str) -> None:
    inputs, absent, outputs, attributes = CASES[name]
    function = operator("Attention", outputs=outputs, absent=absent, **attributes)
    check_grads(function, *inputs, order=2 if name in SYMBOLIC else 1, symbolic=name in SYMBOLIC)


@STANDARD
def test_a_query_that_may_attend_no_key_has_no_gradient_and_no_nan() -> None:
    function = operator("Attention")
    inputs = [*qkv(), HOLES]
    y, *gradients = split(function, *inputs, wrt=[0, 1, 2]).joint()(*inputs, np.ones((2, 2, 3, 4)))
    assert not y[:, :, 1].any()
    assert not gradients[0][:, :, 1].any()
    assert all(np.isfinite(g).all() for g in gradients)
    np.testing.assert_allclose(y, function(*inputs), rtol=1e-12, atol=1e-12)


def test_scores_of_keys_that_may_not_be_attended_are_minus_infinity() -> None:
    function = operator("Attention", outputs=4, is_causal=1, qk_matmul_output_mode=2)
    inputs = qkv()
    for found, expected in zip(trace(function, *inputs)(*inputs), function(*inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_attention_keeps_the_dtype_of_its_queries(dtype: type) -> None:
    function = operator("Attention", is_causal=1, softmax_precision=1)
    inputs = [x.astype(dtype) for x in qkv(heads=4)]
    y, dq, _, dv = split(function, *inputs).joint()(*inputs, np.ones((2, 4, 3, 4), dtype))
    wide = [x.astype(np.float64) for x in inputs]
    expected = split(operator("Attention", is_causal=1), *wide).joint()(*wide, np.ones((2, 4, 3, 4)))
    tolerance = 2e-2 if dtype == np.float16 else 1e-5
    assert y.dtype == dq.dtype == dv.dtype == dtype
    np.testing.assert_allclose(y, expected[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(dq, expected[1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("inputs", "absent", "attributes", "words"),
    [
        (packed(), (), {}, "needs q_num_heads"),
        (packed(), (), {"q_num_heads": 3, "kv_num_heads": 2}, "8 features cannot be split into 3 heads"),
        (qkv(heads=3), (), {}, "3 heads of queries cannot share 2 heads of keys"),
        ([*qkv(), draw(2, 2, 3, 4)], (3,), {}, "past_key and past_value together"),
        (qkv(), (), {"left_window_size": -3}, "a window of Attention is -1"),
        ([*qkv(), draw(3, 6)], (), {}, "has 6 keys, and there are 5"),
        ([*qkv(queries=1), MASK], (), {}, "Add gives .*, and .* is needed"),
        ([*qkv()[:2], qkv(shared=1)[2]], (), {}, "one value for each key"),
        ([*qkv()[:2], qkv(keys=4)[2]], (), {}, "one value for each key"),
        (qkv(), (), {"dropout": 0.5}, "unexpected keyword argument 'dropout'"),
    ],
)
def test_a_form_that_the_standard_does_not_have_is_refused(
    inputs: list[Any], absent: tuple[int, ...], attributes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PrimsplitError, match=words):
        trace(operator("Attention", absent=absent, **attributes), *inputs)


@STANDARD
def test_a_mask_of_one_row_is_meant_for_every_query_in_causal_attention_too() -> None:
    """The reference evaluator takes the row for the first query's, where the standard has it broadcast."""
    q, k, v = qkv()
    row = np.array([[True, False, True, True, True]])
    causal = operator("Attention", is_causal=1)
    found = trace(causal, q, k, v, row)(q, k, v, row)
    np.testing.assert_allclose(found, causal(q, k, v, np.tile(row, (3, 1))), rtol=1e-12, atol=1e-12)


def test_values_may_be_of_another_dtype_than_queries() -> None:
    q, k, v = qkv()
    given = q.astype(np.float32), k.astype(np.float32), v
    y, dq, _, dv = split(operator("Attention"), *given).joint()(*given, np.ones((2, 2, 3, 4), np.float32))
    assert (y.dtype, dq.dtype, dv.dtype) == (np.float32, np.float32, np.float64)
    np.testing.assert_allclose(y, operator("Attention")(q, k, v), rtol=1e-5, atol=1e-6)
