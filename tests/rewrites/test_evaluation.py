"""Operators evaluated on constants: what onnx's reference gives, or left to the run."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import pytest

from primsplit.rewrites.evaluation import evaluate

X = np.array([[1.5, -2.0, 0.25], [3.0, 4.5, -6.0]])
I = np.array([[1, -2, 3], [4, 5, -6]])  # noqa: E741

ROWS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Add", [X, X[0]], {}),
    ("Sub", [I, np.int64(3)], {}),
    ("Div", [I, np.int64(-2)], {}),
    ("Mod", [I, np.int64(4)], {}),
    ("Mod", [I, np.int64(4)], {"fmod": 1}),
    ("Sqrt", [np.abs(X)], {}),
    ("Pow", [np.abs(X), X[0]], {}),
    ("Max", [I, I[::-1], np.int64(2)], {}),
    ("Less", [X, X[0]], {}),
    ("Where", [X > 0, X, np.float64(0.5)], {}),
    ("Cast", [X], {"to": 7}),
    ("Reshape", [X, np.array([0, -1])], {}),
    ("Reshape", [np.zeros((0, 3)), np.array([0, 3])], {"allowzero": 1}),
    ("Transpose", [X], {"perm": [1, 0]}),
    ("Squeeze", [X[:1], np.array([0])], {}),
    ("Unsqueeze", [X, np.array([-1, 0])], {}),
    ("Concat", [X, X[:1]], {"axis": 0}),
    ("Slice", [I, np.array([-1]), np.array([-100]), np.array([1]), np.array([-1])], {}),
    ("Slice", [I, np.array([0, 1]), np.array([1, 100])], {}),
    ("Gather", [X, np.array([-1, 0])], {"axis": 1}),
    ("Expand", [X[:1], np.array([2, 1, 3])], {}),
    ("Tile", [X, np.array([2, 1])], {}),
    ("ConstantOfShape", [np.array([2, 0])], {}),
    ("Range", [np.int64(5), np.int64(0), np.int64(-2)], {}),
    ("ReduceSum", [I, np.array([-1])], {"keepdims": 0}),
    ("ReduceProd", [I], {}),
    ("ArgMax", [I], {"axis": 1, "keepdims": 0}),
]


@pytest.mark.parametrize(("kind", "inputs", "attributes"), ROWS, ids=lambda v: v if isinstance(v, str) else "")
def test_an_operator_gives_what_the_reference_gives(kind: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    names = [f"x{i}" for i in range(len(inputs))]
    node = onnx.helper.make_node(kind, names, ["y"], **attributes)
    (expected,) = onnx.reference.ReferenceEvaluator(node).run(
        None, dict(zip(names, map(np.asarray, inputs), strict=True))
    )
    found = evaluate(kind, [np.asarray(x) for x in inputs], attributes)
    assert found is not None
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    a, b = (np.random.default_rng(i).uniform(1, 2, 50).astype(dtype) for i in range(2))
    found = evaluate("Div", [a, b], {})
    assert found is not None
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, (a.astype(np.longdouble) / b.astype(np.longdouble)).astype(dtype))


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes"),
    [
        ("Div", [I, np.int64(0)], {}),
        ("Mod", [I, np.int64(0)], {}),
        ("Mod", [X, np.float64(2.0)], {"fmod": 1}),
        ("Cast", [np.array([1e30])], {"to": 7}),
        ("Cast", [np.array([np.nan])], {"to": 7}),
        ("Cast", [np.zeros(1, ml_dtypes.float8_e4m3fn)], {"to": 1}),
        ("Gather", [X, np.array([2])], {}),
        ("Range", [np.float64(0), np.float64(1), np.float64(0.1)], {}),
        ("Range", [np.int64(0), np.int64(1), np.int64(0)], {}),
        ("ReduceSum", [X], {}),
        ("ReduceSum", [-np.zeros(3)], {}),
        ("ReduceSum", [I], {"noop_with_empty_axes": 1}),
        ("Max", [X, X], {}),
        ("ArgMax", [X], {}),
        ("ArgMax", [I], {"select_last_index": 1}),
        ("Conv", [X, X], {}),
    ],
)
def test_what_the_standard_leaves_open_or_kernels_round_is_left_to_the_run(
    kind: str, inputs: list[Any], attributes: dict[str, Any]
) -> None:
    assert evaluate(kind, [np.asarray(x) for x in inputs], attributes) is None


def test_a_short_sum_of_ones_and_zeros_is_exact() -> None:
    flags = np.array([1.0, 0.0, 1.0], np.float16)
    assert evaluate("ReduceSum", [flags], {"keepdims": 0}) == 2.0
