"""The replacement of an operator without a kernel: sizes of its own at each use, every output, each in its dtype."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx.reference
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ops import op


def test_two_uses_of_one_composition_may_have_different_sizes() -> None:
    """The same operator on the same types, with scales that only the run knows."""
    scales = ps.spec("float32", [1])

    def both(x: ps.Array, a: ps.Array, b: ps.Array) -> tuple[ps.Array, ps.Array]:
        return op.Resize(x, None, a, mode="nearest"), op.Resize(x, None, b, mode="nearest")

    program = ps.trace(both, ps.spec("float64", [2]), scales, scales)
    twice, thrice = program(np.array([1.0, 2.0]), np.array([2], np.float32), np.array([3], np.float32))
    np.testing.assert_array_equal(twice, [1, 1, 2, 2])
    np.testing.assert_array_equal(thrice, [1, 1, 1, 2, 2, 2])
    graph = program.to_onnx().graph
    counted = {node.output[0] for node in graph.node if node.op_type == "Range"}
    named = [v.type.tensor_type.shape.dim[0].dim_param for v in graph.value_info if v.name in counted]
    assert len(named) == len(set(named)) == 2


HALF = np.random.default_rng(2).standard_normal((2, 3, 4))
LABELS = np.array([2, 0, 3])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "layer",
    [
        lambda x, c: op.BatchNormalization(x, c, c, c, c * c, training_mode=1, outputs=3),
        lambda x, c: op.SoftmaxCrossEntropyLoss(x[0], LABELS, outputs=2),
        lambda x, c: op.LayerNormalization(x[..., :3], c, c, outputs=3),
        lambda x, c: op.Dropout(x, np.float32(0.5), np.array(False), outputs=2),
    ],
    ids=["BatchNormalization", "SoftmaxCrossEntropyLoss", "LayerNormalization", "Dropout"],
)
def test_an_operator_of_16_bits_gives_all_its_outputs(layer: Any, dtype: str) -> None:
    half = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    x, c = HALF.astype(half), np.array([0.5, 1, 2]).astype(half)
    found = ps.trace(layer, x, c)(x, c)
    expected = ps.trace(layer, x.astype(np.float32), c.astype(np.float32))(x.astype(np.float32), c.astype(np.float32))
    for value, wanted in zip(found, expected, strict=True):
        assert value.dtype in {half, wanted.dtype}
        np.testing.assert_allclose(value.astype(float), wanted.astype(float), rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("of", ["bool", "uint8", "int64", "float32", "bfloat16"])
@pytest.mark.parametrize("to", [np.bool_, np.uint8, np.float16, ml_dtypes.bfloat16])
def test_a_diagonal_is_of_any_dtype(of: str, to: Any) -> None:
    program = ps.trace(lambda x: op.EyeLike(x, k=1, dtype=np.dtype(to)), ps.spec(of, ["N", "M"]))
    for shape in ((2, 3), (4, 1), (0, 2)):
        found = program(np.zeros(shape, program.types[0].dtype))
        assert found.dtype == to
        np.testing.assert_array_equal(found.astype(float), np.eye(*shape, 1))


STRETCHED: list[dict[str, Any]] = [
    {"auto_pad": "SAME_UPPER", "strides": [3]},
    {"auto_pad": "SAME_LOWER", "strides": [3]},
    {"auto_pad": "SAME_UPPER", "strides": [4]},
    {"auto_pad": "SAME_UPPER", "strides": [3], "output_shape": [9]},
    {"auto_pad": "SAME_LOWER", "strides": [3], "output_shape": [12]},
]
"""Attributes by which the sum of two taps is longer than their reach, which onnxruntime leaves, moves, or refuses."""


@pytest.mark.parametrize("attributes", STRETCHED, ids=str)
@pytest.mark.parametrize("size", [2, "N"])
def test_a_transposed_convolution_is_as_long_as_it_is_asked_to_be(attributes: dict[str, Any], size: Any) -> None:
    x, w = np.array([[[1.0, 2.0]]], np.float32), np.array([[[10.0, 20.0]]], np.float32)

    def spread(x: Any) -> Any:
        return op.ConvTranspose(x, w, **attributes)

    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)
    (wanted,) = onnx.reference.ReferenceEvaluator(node).run(None, {"x": x, "w": w})
    np.testing.assert_array_equal(ps.trace(spread, ps.spec("float32", [1, 1, size]))(x), wanted)
    weights = np.arange(1.0, wanted.size + 1, dtype=np.float32)
    made = ps.split(lambda x: np.sum(spread(x) * weights), ps.spec("float32", [1, 1, size])).joint()
    slopes = [onnx.reference.ReferenceEvaluator(node).run(None, {"x": e, "w": w})[0] @ weights for e in one_hot(x)]
    np.testing.assert_array_equal(made(x)[1].reshape(-1), np.reshape(slopes, -1))


def one_hot(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return [row.reshape(x.shape) for row in np.eye(x.size, dtype=x.dtype)]
