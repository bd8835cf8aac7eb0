"""Normalizations of com.microsoft are what onnxruntime's kernels compute, or NumPy's where it has none."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, ShapeError
from primsplit.onnx.definitions.skip_normalization import gated_rms_norm
from tests.onnx.definitions.kernels import Node, check_node, defined, kernel, ranked
from tests.recording import record

rng = np.random.default_rng(1)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


F = "float32"
SKIP = "com.microsoft::SkipLayerNormalization"
RMS = "com.microsoft::SkipSimplifiedLayerNormalization"
BSH = ["B", "S", 4]
ROWS = [
    Node(SKIP, [draw(2, 3, 4), draw(2, 3, 4), draw(4), draw(4), draw(4)], {"epsilon": 1e-3}, declared={0: BSH, 1: BSH}),
    Node(SKIP, [draw(2, 3, 4), draw(2, 3, 4), draw(4)], {"epsilon": 1e-5}, (F, "", "", F)),
    Node(SKIP, [draw(2, 3, 4), draw(1, 3, 4), draw(4), None, draw(4)], {}, (F, "", "", F)),
    Node(SKIP, [draw(2, 3, 4), draw(3, 4), draw(4), draw(4)], {}),
    Node(RMS, [draw(2, 3, 4), draw(2, 3, 4), draw(4), draw(4)], {"epsilon": 1e-5}, (F, "", "", F), {0: BSH, 1: BSH}),
    Node(RMS, [draw(3, 4), draw(3, 4), draw(4)], {}),
    Node("SimplifiedLayerNormalization", [draw(2, 3, 4), draw(4)], {"epsilon": 1e-6, "axis": -1}, (F, F), {0: BSH}),
    Node("SimplifiedLayerNormalization", [draw(2, 3, 4), draw(3, 4)], {"axis": 1}),
    Node(
        "com.microsoft::GatedRMSNorm",
        [draw(2, 8), draw(4), draw(2, 8)],
        {"epsilon": 1e-3},
        declared={0: ["N", 8], 2: ["N", 8]},
    ),
    Node("com.microsoft::GatedRMSNorm", [draw(2, 4), draw(4), draw(2, 4)], {"activation": "sigmoid"}),
]


def title(row: Node) -> str:
    return f"{row.kind.rpartition('::')[2]}-{len(row.inputs)}-{len(row.outputs)}"


@pytest.mark.parametrize("row", ROWS, ids=title)
def test_a_normalization_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path)


@pytest.mark.parametrize("kind", [SKIP, RMS])
def test_a_skip_normalization_of_float16_is_what_its_kernel_computes(kind: str, tmp_path: Path) -> None:
    inputs = [draw(2, 3, 8).astype(np.float16), draw(2, 3, 8).astype(np.float16), draw(8).astype(np.float16)]
    node = Node(kind, inputs, {"epsilon": 1e-5}, ("float16", "", "", "float16"))
    check_node(node, tmp_path, order=0, tolerance=4e-3)


def test_the_statistics_of_a_skip_normalization_are_numpys(tmp_path: Path) -> None:
    x, skip, gamma = draw(2, 3, 4), draw(2, 3, 4), draw(4)
    for kind in (SKIP, RMS):
        node = Node(kind, [x, skip, gamma], {"epsilon": 1e-5}, (F, F, F, F), ranks=[3, 3, 3, 3])
        _, mean, inverse, total = defined(node, tmp_path / "node.onnx")
        centre = total.mean(-1, keepdims=True) if kind == SKIP else 0.0
        np.testing.assert_allclose(total, x + skip, rtol=1e-6)
        np.testing.assert_allclose(mean, total.mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(inverse, 1 / np.sqrt(((total - centre) ** 2).mean(-1, keepdims=True) + 1e-5), 1e-4)


@pytest.mark.parametrize(("kind", "vectors"), [(SKIP, 2), (RMS, 1)])
def test_a_skip_with_more_examples_than_the_input_fails_in_the_run(kind: str, vectors: int, tmp_path: Path) -> None:
    """onnxruntime reads the first of them; the sum would have them all."""
    inputs = [draw(2, 3, 4), draw(2, 3, 4), *(draw(4) for _ in range(vectors))]
    node = Node(kind, inputs, {"epsilon": 1e-5}, declared={0: ["B", "S", 4], 1: ["C", "S", 4]})
    node = ranked(node, kernel(node, tmp_path / "kernel.onnx"))
    wanted = kernel(node, tmp_path / "kernel.onnx")[0]
    loaded = ps.load(node.save(tmp_path / "node.onnx"))
    np.testing.assert_allclose(loaded(*inputs), wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(PrimsplitError):
        loaded(draw(1, 3, 4), *inputs[1:])


@pytest.mark.parametrize("is_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm_is_numpys(is_last: int, activation: int, tmp_path: Path) -> None:
    x, gamma, beta = draw(2, 4, 3, 3), draw(4), draw(4)
    given = np.moveaxis(x, 1, -1) if is_last else x
    attributes = {"groups": 2, "channels_last": is_last, "activation": activation, "epsilon": 1e-3}
    node = Node("com.microsoft::GroupNorm", [given, gamma, beta], attributes, ranks=[4])
    groups = x.reshape(2, 2, -1).astype(np.float64)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-3)
    wanted = normal.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    wanted = wanted / (1 + np.exp(-wanted)) if activation else wanted
    (found,) = defined(node, tmp_path / "node.onnx")
    np.testing.assert_allclose(np.moveaxis(found, -1, 1) if is_last else found, wanted, rtol=1e-4, atol=1e-5)


def test_skip_group_norm_adds_first(tmp_path: Path) -> None:
    x, skip, bias, gamma, beta = draw(2, 3, 3, 4), draw(2, 4), draw(4), draw(4), draw(4)
    attributes = {"groups": 2, "activation": 1}
    both = Node("com.microsoft::SkipGroupNorm", [x, gamma, beta, skip, bias], attributes, (F, F), ranks=[4, 4])
    y, total = defined(both, tmp_path / "both.onnx")
    wanted = x + skip[:, None, None] + bias
    plain = Node("com.microsoft::GroupNorm", [wanted, gamma, beta], attributes, ranks=[4])
    np.testing.assert_allclose(total, wanted, rtol=1e-6)
    np.testing.assert_allclose(y, defined(plain, tmp_path / "plain.onnx")[0], rtol=1e-5, atol=1e-6)


def test_a_normalization_of_float16_is_computed_in_float32(tmp_path: Path) -> None:
    x = np.full((1, 8), 300.0, np.float16)
    node = Node("SimplifiedLayerNormalization", [x, np.ones(8, np.float16)], {}, ("float16",), ranks=[2])
    np.testing.assert_allclose(defined(node, tmp_path / "node.onnx")[0], np.ones((1, 8)), rtol=1e-3)
    gradient = ps.grad(lambda x: ps.load(str(tmp_path / "node.onnx"))(x, np.ones(8, np.float16)).sum())(x)
    np.testing.assert_allclose(gradient, np.zeros((1, 8)), atol=1e-3)


@pytest.mark.parametrize("last", ["N", "6"])
def test_groups_that_may_not_fit_the_axis_are_refused(last: str) -> None:
    with pytest.raises(ShapeError, match=f"an axis of {last} cannot be read as groups of 4"):
        record(gated_rms_norm, f"float32[2,{last}]", "float32[4]", f"float32[2,{last}]")
    (found,) = record(gated_rms_norm, "float32[2,8]", "float32[4]", "float32[2,8]").results
    assert found.type.shape == (2, 8)
