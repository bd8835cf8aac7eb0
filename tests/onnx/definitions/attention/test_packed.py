"""Attention without padding, held against onnxruntime's own of padded batches: each real token is the same."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
LENGTHS = np.array([2, 4, 1], np.int32)
REAL = np.arange(4) < LENGTHS[:, None]
X = RANDOM.standard_normal((3, 4, 6))
W, B = RANDOM.standard_normal((6, 18)) / 2, RANDOM.standard_normal(18) / 2
ADDED = RANDOM.standard_normal((3, 2, 4, 4))


def microsoft(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(
        kind, [i.strip() for i in inputs.split(",")], outputs.split(), domain="com.microsoft", **attributes
    )


def saved(nodes: list[onnx.NodeProto], dtype: Any, path: Path, *, is_dynamic: bool = False) -> str:
    """A model of these nodes from `x`, the lengths and what is added to the scores to `y`."""
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    batch, length = ("N", "L") if is_dynamic else (3, 4)
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", code, [batch, length, 6]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, [batch]),
            helper.make_tensor_value_info("added", code, [batch, 2, length, length]),
        ],
        [helper.make_tensor_value_info("y", code, [None] * 3)],
        [numpy_helper.from_array(v.astype(dtype), k) for k, v in (("w", W), ("b", B))],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return str(path)


REMOVED = microsoft("RemovePadding", "x, lengths", "t offsets sums longest")
RESTORED = microsoft("RestorePadding", "z, offsets", "y")
PRODUCT = [helper.make_node("MatMul", ["t", "w"], ["p"])]
PACKED = {
    "of one product": [microsoft("PackedAttention", "t, w, b, offsets, sums, added", "z", num_heads=2)],
    "of three": [
        *PRODUCT,
        helper.make_node("Split", ["p"], ["q", "k", "v"], axis=1, num_outputs=3),
        microsoft("PackedMultiHeadAttention", "q, k, v, b, offsets, sums, added", "z", num_heads=2),
    ],
    "of one input of three": [
        *PRODUCT,
        helper.make_node("Constant", [], ["s"], value_ints=[-1, 3, 2, 3]),
        helper.make_node("Reshape", ["p", "s"], ["r"]),
        helper.make_node("Transpose", ["r"], ["u"], perm=[0, 2, 1, 3]),
        microsoft("PackedMultiHeadAttention", "u, , , b, offsets, sums, added", "z", num_heads=2),
    ],
    "of one product, scaled": [
        microsoft("PackedAttention", "t, w, b, offsets, sums, added", "z", num_heads=2, scale=0.3)
    ],
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("kind", PACKED)
def test_each_real_token_attends_as_in_the_padded_batch(kind: str, is_dynamic: bool, tmp_path: Path) -> None:
    scale = {"scale": 0.3} if "scaled" in kind else {}
    padded = microsoft("Attention", "x, w, b, lengths, , added", "y", num_heads=2, **scale)
    path = saved([padded], np.float32, tmp_path / "padded.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x, added = X.astype(np.float32), ADDED.astype(np.float32)
    (expected,) = session.run(None, {"x": x, "lengths": LENGTHS, "added": added})
    nodes = [REMOVED, *PACKED[kind], RESTORED]
    made = ps.load(saved(nodes, np.float32, tmp_path / "packed.onnx", is_dynamic=is_dynamic))
    np.testing.assert_allclose(made(x, LENGTHS, added), expected * REAL[:, :, None], rtol=1e-4, atol=1e-5)
    wide = ps.load(saved(nodes, np.float64, tmp_path / "wide.onnx", is_dynamic=is_dynamic))
    check_grads(lambda x, added: wide(x, LENGTHS, added), X, ADDED, symbolic=False)


def test_padding_is_put_behind_the_real_tokens(tmp_path: Path) -> None:
    both = [REMOVED, microsoft("RestorePadding", "t, offsets", "y")]
    model = onnx.load(saved(both, np.float64, tmp_path / "model.onnx", is_dynamic=True))
    told = (("offsets", 2), ("sums", 1), ("longest", 1))
    model.graph.output.extend(helper.make_tensor_value_info(n, TensorProto.INT32, [None] * rank) for n, rank in told)
    onnx.save(model, tmp_path / "model.onnx")
    y, offsets, sums, longest = ps.load(str(tmp_path / "model.onnx"))(X, LENGTHS, ADDED)
    np.testing.assert_array_equal(y, X * REAL[:, :, None])
    flat = REAL.reshape(-1)
    places = np.concatenate([np.flatnonzero(flat), np.flatnonzero(~flat)]).astype(np.int32)
    np.testing.assert_array_equal(offsets, places.reshape(3, 4), strict=True)
    np.testing.assert_array_equal(sums, np.array([0, 2, 6, 7], np.int32), strict=True)
    np.testing.assert_array_equal(longest, np.array([4], np.int32), strict=True)
