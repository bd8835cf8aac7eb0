"""Loading: an ONNX model becomes a Program that gives the model's own numbers, and differentiates."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ir.errors import FileError, ParseError
from tests.onnx.layers import B, W, layer, saved

rng = np.random.default_rng(11)
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def test_nodes_may_be_in_another_order_than_they_run_in(tmp_path: Path) -> None:
    """As a converter to float16 leaves them; onnxruntime takes such a model, and onnx's checker does not."""
    text = """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[N] x) => (float[N] y) {
            y = If <then_branch = t () => (float[N] a) { a = Add(b, z)  b = Mul(x, x) },
                    else_branch = e () => (float[N] c) { c = Neg(z) }> (is_large)
            is_large = Greater(size, one)
            size = ReduceSum <keepdims = 0> (z)
            one = Constant <value_float = 1.0> ()
            z = Exp(x)
        }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "mixed.onnx")
    program = ps.load(str(tmp_path / "mixed.onnx"))
    for x in (np.array([1.0, 2.0], np.float32), np.array([-2.0, -3.0], np.float32)):
        expected = x * x + np.exp(x) if np.exp(x).sum() > 1 else -np.exp(x)
        np.testing.assert_allclose(program(x), expected, rtol=1e-6)


def test_nodes_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("ReduceSum", ["a"], ["y"], keepdims=0)]
    path = saved(tmp_path, [*nodes, helper.make_node("Neg", ["c"], ["d"]), helper.make_node("Neg", ["d"], ["c"])])
    with pytest.raises(ParseError, match="sorted"):
        ps.load(path)


def test_a_step_of_training_is_one_file(tmp_path: Path) -> None:
    """The loaded model's gradient and Adam's update: 1,000 steps by onnxruntime, between two sets of buffers."""
    model = ps.load(saved(tmp_path, layer()))
    weights = model.params

    def step(weights: Any, mean: Any, square: Any, time: Any, x: Any) -> Any:
        loss, slopes = ps.value_and_grad(lambda w: (model(x, **w) - 0.25) ** 2)(weights)
        time = time + 1
        mean = {n: 0.9 * mean[n] + 0.1 * slopes[n] for n in slopes}
        square = {n: 0.999 * square[n] + 0.001 * slopes[n] ** 2 for n in slopes}
        rates = {n: mean[n] / (1 - 0.9**time) / (np.sqrt(square[n] / (1 - 0.999**time)) + 1e-8) for n in slopes}
        return {n: weights[n] - 1e-3 * rates[n] for n in slopes}, mean, square, time, loss

    state = weights, *({n: np.zeros_like(w) for n, w in weights.items()} for _ in range(2)), np.zeros((), np.float32)
    x = rng.standard_normal((5, 3)).astype(np.float32)
    program = ps.trace(step, *state, x)
    program.save(str(tmp_path / "step.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "step.onnx"))
    arrays = [*weights.values(), *(np.zeros_like(w) for _ in range(2) for w in weights.values()), state[-1]]
    assert [i.shape for i in session.get_inputs()] == [list(a.shape) for a in (*arrays, x)]
    names = [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]
    sets = [[onnxruntime.OrtValue.ortvalue_from_numpy(a.copy()) for a in arrays] for _ in range(2)]
    loss = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((), np.float32))
    bindings = []
    for old, new in (sets, sets[::-1]):
        binding = session.io_binding()
        for name, value in zip(names[0], [*old, onnxruntime.OrtValue.ortvalue_from_numpy(x)], strict=True):
            binding.bind_ortvalue_input(name, value)
        for name, value in zip(names[1], [*new, loss], strict=True):
            binding.bind_ortvalue_output(name, value)
        bindings.append(binding)
    expected = step(*state, x)
    np.testing.assert_allclose(program(*state, x)[-1], expected[-1], rtol=1e-4)
    for number in range(1000):
        session.run_with_iobinding(bindings[number % 2])
    assert loss.numpy() < 1e-3 * expected[-1]
    assert sets[0][-1].numpy() == 1000


def test_a_differentiated_weight_may_be_an_input_that_keeps_its_number(tmp_path: Path) -> None:
    out = str(tmp_path / "gradient.onnx")
    ps.split(ps.load(saved(tmp_path, layer())), wrt="params").save(out, weights="defaults")
    onnx.checker.check_model(out, full_check=True)
    session = onnxruntime.InferenceSession(out)
    assert [i.name for i in session.get_inputs()] == ["x"]
    assert [i.name for i in session.get_overridable_initializers()] == ["W", "b"]
    x = np.ones((2, 3), np.float32)
    kept = session.run(["y", "d_b"], {"x": x})
    given = session.run(["y", "d_b"], {"x": x, "W": W, "b": B})
    np.testing.assert_array_equal(kept[1], given[1])
    assert not np.array_equal(session.run(["y"], {"x": x, "W": 0 * W})[0], kept[0])


@pytest.mark.parametrize("opset", [11, 13])
def test_empty_vectors_of_a_resize_have_a_gradient_where_they_are_named(opset: int, tmp_path: Path) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
        g (float[N,1,2,2] x) => (float[A,B,C,D] y)
        <float[0] region = {{}}, float[0] scales = {{}}, int64[4] sizes = {{1, 1, 4, 4}}, float[1] w = {{2.0}}>
        {{ z = Mul (x, w) y = Resize <mode = "linear"> (z, region, scales, sizes) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "resize.onnx")
    gradient = ps.split(ps.load(str(tmp_path / "resize.onnx")), wrt=["w", "scales", "region"], seed="ones").joint()
    none, x = np.zeros(0, np.float32), np.ones((1, 1, 2, 2), np.float32)
    given = {"x": x, "region": none, "scales": none, "w": np.array([2], np.float32)}
    found = dict(zip(gradient.outputs, gradient(*(given[name] for name in gradient.inputs)), strict=True))
    assert found["d_w"] == 16
    assert found["d_scales"].shape == found["d_region"].shape == (0,)


def test_external_data_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    model = onnx.load(saved(tmp_path, layer()))
    path = str(tmp_path / "apart.onnx")
    onnx.save(model, path, save_as_external_data=True, location="apart.data", size_threshold=0)
    program = ps.load(path)
    x = np.ones((2, 3), np.float32)
    expected = np.mean(np.tanh(x @ W + B), dtype=np.float32)
    np.testing.assert_allclose(program(x), expected, rtol=1e-6)


def test_model_local_functions_are_inlined(tmp_path: Path) -> None:
    body = helper.make_function(
        "own", "twice", ["a"], ["c"], [helper.make_node("Add", ["a", "a"], ["c"])], [helper.make_opsetid("", 17)]
    )
    nodes = [
        helper.make_node("twice", ["x"], ["d"], domain="own"),
        helper.make_node("ReduceSum", ["d"], ["y"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["N"])], [helper.make_tensor_value_info("y", 1, [])]
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    path = str(tmp_path / "functions.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8, functions=[body]), path)
    np.testing.assert_array_equal(ps.grad(ps.load(path))(np.ones(3, np.float32)), [2, 2, 2])


@pytest.mark.parametrize("name", ["squeezenet", "bvlc_alexnet", "shufflenet"])
def test_a_network_of_onnxs_own_tests_gives_its_own_numbers(name: str) -> None:
    path = str(LIGHT / f"light_{name}.onnx")
    program = ps.load(path)
    x = rng.standard_normal([int(d) for d in program.types[0].shape or ()]).astype(np.float32)
    expected = onnxruntime.InferenceSession(path).run(None, {program.inputs[0]: x})[0]
    np.testing.assert_array_equal(program(x), expected)


def test_what_is_no_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"[Nn]o such"):
        ps.load(str(tmp_path / "missing.onnx"))
    bad = tmp_path / "bad.onnx"
    for content in (b"", b"not a model", b"\x08\x07\x12" * 50, os.urandom(300)):
        bad.write_bytes(content)
        with pytest.raises((ParseError, FileError)) as caught:
            ps.load(str(bad))
        assert len(str(caught.value).splitlines()) < 10


def test_a_truncated_model_is_refused_or_whole(tmp_path: Path) -> None:
    content = Path(saved(tmp_path, layer())).read_bytes()
    cut = tmp_path / "cut.onnx"
    for length in range(0, len(content), max(1, len(content) // 40)):
        cut.write_bytes(content[:length])
        with pytest.raises(ps.PrimsplitError):
            ps.load(str(cut))


def test_external_data_outside_the_folder_are_refused(tmp_path: Path) -> None:
    model = onnx.load(saved(tmp_path, layer()))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"
    (tmp_path / "inner").mkdir()
    path = str(tmp_path / "inner" / "evil.onnx")
    Path(path).write_bytes(model.SerializeToString())
    with pytest.raises(ps.PrimsplitError):
        ps.load(path)


def test_onnxruntimes_own_operators_need_no_import(tmp_path: Path) -> None:
    """onnxruntime reads such models, and tf2onnx writes them."""
    path = saved(tmp_path, [helper.make_node("Gelu", ["x"], ["f"], domain="com.microsoft"), *layer()])
    x = rng.standard_normal((2, 3)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(ps.load(path)(x), wanted, rtol=1e-5)
