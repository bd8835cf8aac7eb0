"""Files for CUDA: what its kernels refuse or compute in fewer bits is spelt otherwise, and means the same."""

from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest
from onnx.reference import ReferenceEvaluator

import primsplit as ps
from primsplit.ir.errors import SpecError
from primsplit.ops import op
from primsplit.programs.runtime import Session
from primsplit.targets.cuda import ELSEWHERE, IN_DOUBLE

RANDOM = np.random.default_rng(0)


def drawn(*shape: int, dtype: str = "float64") -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


BATCH = [np.abs(drawn(*shape)) for shape in ((3, 2, 4), (2,), (2,), (2,), (2,))]
LABELS = np.array([[0, 2], [1, 1]])
REPEATED = np.array([[0], [2], [-1], [0]])
PAIRS = np.array([[[0, 1], [2, -1]], [[-3, 1], [0, 1]]])
BLOCKS = RANDOM.integers(-100, 100, (2, 5)).astype(np.int8)

CROP = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear", "axes": [1]}
SAME, APART = {"pads": [1, 1, 1, 1]}, {"pads": [1, 3, 1, 3], "dilations": [1, 3]}
ROWS: list[tuple[str, dict[str, Any], list[Any], int]] = [
    ("ScatterND", {"reduction": "add"}, [drawn(3, 2), REPEATED, drawn(4, 2)], 1),
    ("ScatterND", {"reduction": "add"}, [drawn(3, 2, 2), PAIRS, drawn(2, 2, 2)], 1),
    ("ScatterND", {"reduction": "mul"}, [drawn(3), REPEATED, drawn(4)], 1),
    ("ScatterND", {"reduction": "min"}, [drawn(3, 2), REPEATED, drawn(4, 2)], 1),
    ("ScatterND", {"reduction": "max"}, [np.arange(6).reshape(3, 2), REPEATED, np.arange(8).reshape(4, 2)], 1),
    ("ScatterND", {"reduction": "add"}, [np.zeros((3, 0)), REPEATED, np.zeros((4, 0))], 1),
    ("ScatterND", {"reduction": "add"}, [drawn(3, 2), REPEATED[:0], drawn(0, 2)], 1),
    ("Softmax", {"axis": 1}, [drawn(3, 4, 2)], 1),
    ("Softmax", {}, [np.array([[1e3, -1e3, 1e3], [-np.inf, 0.0, 1.0]])], 1),
    ("LogSoftmax", {"axis": 0}, [drawn(3, 4)], 1),
    ("LayerNormalization", {"axis": -2}, [drawn(3, 4, 2), drawn(4, 2), drawn(4, 2)], 1),
    ("LayerNormalization", {"epsilon": 0.1}, [drawn(3, 4), drawn(4)], 1),
    ("SoftmaxCrossEntropyLoss", {"reduction": "mean"}, [drawn(2, 3, 2), LABELS, np.abs(drawn(3))], 2),
    ("SoftmaxCrossEntropyLoss", {"reduction": "none", "ignore_index": 1}, [drawn(2, 3, 2), LABELS], 2),
    ("BatchNormalization", {"training_mode": 1, "momentum": 0.75}, BATCH, 3),
    ("BatchNormalization", {"training_mode": 1, "momentum": 0.75}, [b.astype("float16") for b in BATCH], 3),
    ("Resize", CROP, [drawn(3, 4, dtype="float16"), np.float32([0.2, 0.9]), np.float32([1.5])], 1),
    ("Conv", SAME, [drawn(1, 2, 8, 8), drawn(3, 2, 8, 8)], 1),
    ("Conv", APART, [drawn(1, 2, 5, 18), drawn(3, 2, 5, 6), drawn(3)], 1),
    ("Conv", {"pads": [2, 0], "dilations": [2]}, [drawn(1, 2, 12), drawn(3, 2, 6)], 1),
    ("Conv", {}, [drawn(1, 2, 4, 5, 3), drawn(3, 2, 3, 4, 2)], 1),
    ("ConvTranspose", {"strides": [2, 2], "pads": [1, 1, 0, 2]}, [drawn(1, 2, 4, 4), drawn(2, 3, 3, 4)], 1),
    ("ConvTranspose", {"pads": [0, 1], "strides": [3]}, [drawn(2, 2, 3), drawn(2, 3, 4), drawn(3)], 1),
    *[(kind, {}, [drawn(3, 4, dtype="float32")], 1) for kind in ("Asinh", "Cosh", "Sinh", "Tan")],
    ("Atanh", {}, [np.float32([-0.99, -0.6, 0, 0.3])], 1),
    ("Acosh", {}, [np.float32([1, 1.5, 3e4])], 1),
    ("Tan", {}, [drawn(5, dtype="float16")], 1),
    ("DequantizeLinear", {"axis": 1, "block_size": 2}, [BLOCKS, np.abs(drawn(2, 3, dtype="float32"))], 1),
]


@pytest.mark.parametrize(("kind", "attributes", "inputs", "count"), ROWS)
def test_an_operator_spelt_for_cuda_means_what_the_standard_says(
    kind: str, attributes: dict[str, Any], inputs: list[Any], count: int, tmp_path: Any
) -> None:
    node = model_of(kind, attributes, inputs, count)
    wanted = ReferenceEvaluator(node).run(None, {f"x{i}": x for i, x in enumerate(inputs)})
    onnx.save(node, tmp_path / "one.onnx")
    written = ps.load(tmp_path / "one.onnx").to_onnx("cuda")
    assert all(is_right_on_cuda(step) for step in written.graph.node)
    onnx.checker.check_model(written, full_check=True)
    for found, value in zip(Session(written)(*inputs), wanted, strict=True):
        near = {"float16": 3e-3, "float32": 1e-6}.get(found.dtype.name, 1e-12)
        np.testing.assert_allclose(found, value, rtol=near, atol=near if near > 1e-6 else 1e-12)
        assert found.dtype == value.dtype


def model_of(kind: str, attributes: dict[str, Any], inputs: list[Any], count: int) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y{i}" for i in range(count)]
    node = onnx.helper.make_node(kind, names, outputs, **attributes)
    told = [
        onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    made = [onnx.helper.make_empty_tensor_value_info(n) for n in outputs]
    graph = onnx.helper.make_graph([node], "one", told, made)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def is_right_on_cuda(node: onnx.NodeProto) -> bool:
    """False for what stood in the models above."""
    told = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    combines = node.op_type == "ScatterND" and told.get("reduction", b"none") != b"none"
    is_spelt = node.op_type in {*IN_DOUBLE, *ELSEWHERE, "Conv", "Resize"} or is_cut_unevenly(node)
    return not (combines or is_spelt or "block_size" in told or told.get("training_mode"))


def is_cut_unevenly(node: onnx.NodeProto) -> bool:
    """Whether a node is a transposed convolution that onnxruntime leaves to the CPU."""
    pads = [list(a.ints) for a in node.attribute if a.name == "pads"]
    return node.op_type == "ConvTranspose" and any(p[: len(p) // 2] != p[len(p) // 2 :] for p in pads)


def gathered(table: Any, at: Any) -> Any:
    return np.sum(np.exp(table[at]) ** 2)


def test_every_form_of_a_gradient_is_written_for_cuda(tmp_path: Any) -> None:
    table, at = drawn(5, 3), np.array([0, 4, 0])
    made = ps.split(gathered, ps.spec("f64", ["N", 3]), at, wrt="table")
    wanted = np.zeros((5, 3))
    np.add.at(wanted, at, 2 * np.exp(table[at]) ** 2)
    for form in ("joint", "split", "functions"):
        paths = made.save(tmp_path / f"{form}.onnx", form, "cuda")
        for path in paths:
            model = onnx.load(path)
            steps = [*model.graph.node, *(step for f in model.functions for step in f.node)]
            assert all(is_right_on_cuda(step) for step in steps)
    found = dict(zip(("y", "d_table"), Session(str(tmp_path / "joint.onnx"))(table, at), strict=True))
    np.testing.assert_allclose(found["d_table"], wanted, rtol=1e-13)


def test_the_gradient_of_a_convolution_with_strides_stays_on_the_device() -> None:
    w = drawn(3, 2, 3, 3, dtype="float32")
    made = ps.split(lambda x: op.Conv(x, w, strides=[2, 2], pads=[1, 1, 1, 1]), ps.spec("f32", [1, 2, 8, 8])).joint()
    files = {provider: made.to_onnx(provider) for provider in ("cpu", "cuda")}
    given = drawn(1, 2, 8, 8, dtype="float32"), drawn(1, 3, 4, 4, dtype="float32")
    found, wanted = (Session(file)(*given) for file in (files["cuda"], files["cpu"]))
    assert any(map(is_cut_unevenly, files["cpu"].graph.node))
    assert not any(map(is_cut_unevenly, files["cuda"].graph.node))
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5, atol=1e-5)


def test_a_file_for_the_cpu_keeps_the_faster_scatter() -> None:
    made = ps.split(gathered, ps.spec("f64", ["N", 3]), np.array([0, 4, 0]), wrt="table")
    kinds = {provider: {n.op_type for n in made.joint().to_onnx(provider).graph.node} for provider in ("cpu", "cuda")}
    assert "ScatterND" in kinds["cpu"]
    assert "ScatterElements" in kinds["cuda"]


def test_an_unknown_provider_is_refused(tmp_path: Any) -> None:
    with pytest.raises(SpecError, match="provider='metal' is none of cpu, cuda"):
        ps.export(gathered, drawn(5, 3), np.array([0]), path=tmp_path / "x.onnx", wrt="table", provider="metal")
    assert list(tmp_path.iterdir()) == []


def test_single_precision_needs_no_other_file() -> None:
    made = ps.split(gathered, ps.spec("f32", ["N", 3]), np.array([0, 4, 0]), wrt="table")
    files = [made.joint().to_onnx(provider).SerializeToString() for provider in ("cpu", "cuda")]
    assert files[0] == files[1]


def test_a_convolution_of_a_batch_that_only_the_run_knows_stays() -> None:
    kernel = drawn(3, 2, 4, 4, dtype="float32")
    made = ps.split(lambda x: op.Conv(x, kernel), ps.spec("f32", ["B", 2, 5, 5]))
    x = drawn(1, 2, 5, 5, dtype="float32")
    seed = np.ones((1, 3, 2, 2), np.float32)
    files = [made.joint().to_onnx(provider) for provider in ("cpu", "cuda")]
    assert "Conv" in {node.op_type for node in files[1].graph.node}
    found, wanted = (Session(file)(x, seed) for file in (files[1], files[0]))
    np.testing.assert_array_equal(found[1], wanted[1])
