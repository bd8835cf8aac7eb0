"""The module of NumPy of a file computes what onnxruntime computes: models, networks, an encoder, control flow."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, FunctionDerivation, ModeName
from primsplit.ir.errors import MissingRule, ShapeError, SpecError
from primsplit.programs.export import save_derived
from primsplit.tracing import trees
from tests.networks import learned, light_network, random_inputs
from tests.onnx.test_torch_exports import encoder, exported, prepared, torch
from tests.written_modules import Arrays, assert_module_computes, assert_same, run_module, write_module

__all__ = ["torch"]
MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))


def inputs_of(made: Exported, path: str, more: dict[str, np.ndarray[Any, Any]]) -> Arrays:
    """The inputs of a model's file: its example, the states' first values, numbers for cotangents and tangents.

    The second of two files takes results of the first one, which are `more`.
    """
    file, program, random = read_written(path), made.recorded, np.random.default_rng(0)
    given = dict(zip(program.given_names, trees.flatten(made.arguments.values)[0], strict=True))
    given.update({**{c.input: c.declared.now for c in program.states}, **more})
    inputs = []
    for name, param in zip(file.inputs, file.block.params, strict=True):
        if name in given:
            inputs.append(np.asarray(given[name], param.type.dtype))
            continue
        like = given.get(name[2:])
        shape: Any = param.type.shape if like is None else np.shape(like)
        inputs.append(np.asarray(random.standard_normal(shape), param.type.dtype))
    return inputs


def assert_model_computes(path: Path, mode: ModeName | None, folder: Path) -> None:
    """The same for the files of a model in a mode, which it may not have. Derivatives of sums may cancel.

    Where a second file reads what the first one keeps, modules and files compute their results one after the other:
    what is kept need not be equal, as the basis of a plane of eigenvectors.
    """
    if (path.stem, mode) == ("language_model", ModeName.HESSIAN):
        pytest.skip("NumPy keeps several arrays of the 14,000 squared numbers at once")
    try:
        made = Exported(str(path), FunctionDerivation(mode=mode), quiet=True)
    except (ShapeError, MissingRule, SpecError):
        assert mode is not None
        pytest.skip("the model has no such derivative")
    files = save_derived(made.derived, str(folder / "model.onnx"), made.mode, "joint")
    kept = {name for file in files[1:] for name in read_written(file).inputs}
    given: dict[str, np.ndarray[Any, Any]] = {}
    given_to_module: dict[str, np.ndarray[Any, Any]] = {}
    for file in files:
        expected = results_of(file, inputs_of(made, file, given))
        write_module([read_written(file)], folder / "module.py")
        results = run_module(folder / "module.py", inputs_of(made, file, given_to_module), folder)
        found = dict(zip(expected, results, strict=True))
        compared = [name for name in expected if name not in kept]
        assert_same([found[n] for n in compared], [expected[n] for n in compared], 200 if mode is None else 5000)
        given, given_to_module = expected, found


def results_of(path: str, inputs: Arrays) -> dict[str, np.ndarray[Any, Any]]:
    """The results of a file by name."""
    session, file = onnxruntime.InferenceSession(path), read_written(path)
    return dict(zip(file.outputs, session.run(None, dict(zip(file.inputs, inputs, strict=True))), strict=True))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_module_of_a_model_computes_its_file(path: Path, tmp_path: Path) -> None:
    assert_model_computes(path, None, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ModeName)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_module_of_every_model_in_every_mode_computes_its_file(path: Path, mode: ModeName, tmp_path: Path) -> None:
    assert_model_computes(path, mode, tmp_path)


def drawn_inputs(path: str | Path, given: dict[str, np.ndarray[Any, Any]]) -> Arrays:
    """The inputs of a file: the given ones, and numbers for cotangents."""
    file, random = read_written(str(path)), np.random.default_rng(1)
    drawn = {n: p for n, p in zip(file.inputs, file.block.params, strict=True) if n not in given}
    shapes: dict[str, Any] = {n: p.type.shape for n, p in drawn.items()}
    numbers = {n: random.standard_normal(shapes[n]).astype(p.type.dtype) for n, p in drawn.items()}
    return [{**given, **numbers}[name] for name in file.inputs]


@pytest.mark.parametrize(
    ("name", "double"), [("squeezenet", False), pytest.param("resnet50", True, marks=pytest.mark.slow)]
)
def test_the_modules_of_a_network_and_of_its_gradient_compute_their_files(
    name: str, double: bool, tmp_path: Path
) -> None:
    """In float32 rounding decides on which side of 0 a few of ResNet's numbers are, which changes its gradient."""
    model = light_network(name, double=double)
    onnx.save(model, tmp_path / "network.onnx")
    given = {n: a.astype(np.float64 if double else np.float32) for n, a in random_inputs(model).items()}
    if not double:  # onnxruntime has no kernels of all of its operators in float64
        assert_module_computes(tmp_path / "network.onnx", drawn_inputs(tmp_path / "network.onnx", given), tmp_path)
    path = tmp_path / "gradient.onnx"
    ps.split(ps.load(tmp_path / "network.onnx"), wrt=learned(model)).save(path)
    assert_module_computes(path, drawn_inputs(path, given), tmp_path)


def attention_nodes(width: int, heads: int) -> list[onnx.NodeProto]:
    """Self-attention of x as exporters write it, with sizes of the run."""
    each = width // heads
    node = helper.make_node
    found = [node("Shape", ["x"], ["steps"], start=0, end=2), node("MatMul", ["x", "w_in"], ["all"])]
    found += [node("Split", ["all"], ["query", "key", "value"], axis=-1, num_outputs=3)]
    found += [node("Constant", [], ["heads"], value_ints=[heads, each])]
    found += [node("Concat", ["steps", "heads"], ["shape"], axis=0)]
    for name in ("query", "key", "value"):
        order = [0, 2, 3, 1] if name == "key" else [0, 2, 1, 3]
        found += [node("Reshape", [name, "shape"], [f"{name}_heads"])]
        found += [node("Transpose", [f"{name}_heads"], [f"{name}_moved"], perm=order)]
    found += [node("MatMul", ["query_moved", "key_moved"], ["scores"])]
    found += [node("Constant", [], ["scale"], value_float=each**0.5), node("Div", ["scores", "scale"], ["scaled"])]
    found += [node("Softmax", ["scaled"], ["weights"], axis=-1)]
    found += [node("MatMul", ["weights", "value_moved"], ["mixed"])]
    found += [node("Transpose", ["mixed"], ["moved"], perm=[0, 2, 1, 3])]
    found += [node("Constant", [], ["flat"], value_ints=[0, 0, width])]
    found += [node("Reshape", ["moved", "flat"], ["joined"]), node("MatMul", ["joined", "w_out"], ["attended"])]
    return found


def encoder_model(width: int = 8, heads: int = 2) -> onnx.ModelProto:
    """A block of a transformer: attention and a GELU of erf, each added to its input and normalized."""
    node = helper.make_node
    nodes = attention_nodes(width, heads)
    nodes += [node("Add", ["x", "attended"], ["sum_1"])]
    nodes += [node("LayerNormalization", ["sum_1", "scale_1", "bias_1"], ["inner"], axis=-1, epsilon=1e-5)]
    nodes += [node("MatMul", ["inner", "w_1"], ["wide"]), node("Constant", [], ["root"], value_float=2**0.5)]
    nodes += [node("Div", ["wide", "root"], ["divided"]), node("Erf", ["divided"], ["erf"])]
    nodes += [node("Constant", [], ["one"], value_float=1.0), node("Add", ["erf", "one"], ["raised"])]
    nodes += [node("Mul", ["wide", "raised"], ["product"]), node("Constant", [], ["half"], value_float=0.5)]
    nodes += [node("Mul", ["product", "half"], ["gelu"]), node("MatMul", ["gelu", "w_2"], ["narrow"])]
    nodes += [node("Add", ["inner", "narrow"], ["sum_2"])]
    nodes += [node("LayerNormalization", ["sum_2", "scale_2", "bias_2"], ["y"], axis=-1, epsilon=1e-5)]
    shapes = {"w_in": [width, 3 * width], "w_out": [width, width], "w_1": [width, 16], "w_2": [16, width]}
    shapes |= {f"{name}_{i}": [width] for name in ("scale", "bias") for i in (1, 2)}
    random = np.random.default_rng(0)
    tensors = [onnx.numpy_helper.from_array(random.standard_normal(s).astype("f4"), n) for n, s in shapes.items()]
    ends = [helper.make_tensor_value_info(name, 1, ["N", "T", width]) for name in "xy"]
    graph = helper.make_graph(nodes, "encoder", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_the_modules_of_an_encoder_and_of_its_gradient_compute_their_files(tmp_path: Path) -> None:
    onnx.save(encoder_model(), tmp_path / "encoder.onnx")
    given = {"x": np.random.default_rng(2).standard_normal((2, 5, 8)).astype(np.float32)}
    text = assert_module_computes(tmp_path / "encoder.onnx", [given["x"]], tmp_path)
    assert "_softmax(" in text
    assert "special.erf(" in text
    assert "from scipy import special" in text
    path = tmp_path / "gradient.onnx"
    ps.split(ps.load(tmp_path / "encoder.onnx"), wrt=["x"]).save(path)
    given["d_y"] = np.random.default_rng(3).standard_normal((2, 5, 8)).astype(np.float32)
    assert_module_computes(path, [given[name] for name in read_written(str(path)).inputs], tmp_path)


@pytest.mark.slow
def test_the_modules_of_an_encoder_of_torch_compute_their_files(torch: Any, tmp_path: Path) -> None:
    module = prepared(torch, encoder(torch, activation="gelu"), torch.float32)
    path = exported(torch, module, torch.randn(2, 5, 8), tmp_path / "encoder.onnx")
    x = np.random.default_rng(2).standard_normal((2, 5, 8)).astype(np.float32)
    assert_module_computes(path, [x], tmp_path)
    program = ps.load(path)
    ps.split(program, wrt=[program.inputs[0]]).save(tmp_path / "gradient.onnx")
    names = read_written(str(tmp_path / "gradient.onnx")).inputs
    cotangent = np.random.default_rng(3).standard_normal((2, 5, 8)).astype(np.float32)
    assert_module_computes(tmp_path / "gradient.onnx", [x, cotangent][: len(names)], tmp_path)


def recurrence(w: Any, h: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(w * h + x)
        return h, h * x

    h, ys = ps.scan(step, h, xs)
    return h + ys.sum()


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_the_module_of_a_scan_is_a_for_loop(steps: int, tmp_path: Path) -> None:
    types = (ps.spec("float32"), ps.spec("float32"), ps.spec("float32", ["T"]))
    ps.split(recurrence, *types, wrt=(0, 1, 2)).save(tmp_path / "f.onnx")
    given = {"w": np.float32(0.7), "h": np.float32(0.2), "xs": np.linspace(-1, 1, steps, dtype=np.float32)}
    inputs = [np.asarray(given[name]) for name in read_written(str(tmp_path / "f.onnx")).inputs]
    text = assert_module_computes(tmp_path / "f.onnx", inputs, tmp_path)
    assert text.count("\n        for ") + text.count("\n    for ") >= 2


@pytest.mark.parametrize("start", [0.25, 3.0, 40.0])
def test_the_module_of_a_loop_is_a_while_loop(start: float, tmp_path: Path) -> None:
    def halved(x: Any) -> Any:
        return ps.while_loop(lambda v: np.sum(v) > 1.0, lambda v: v * v / (v + 1.0 + v), x)

    ps.split(halved, ps.spec("float64", [2]), wrt=0).save(tmp_path / "f.onnx")
    inputs = [np.full(2, start), np.array([1.0, -2.0])]
    text = assert_module_computes(tmp_path / "f.onnx", inputs, tmp_path)
    assert "    while " in text


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_module_of_an_if_is_an_if(sign: float, tmp_path: Path) -> None:
    def price(x: Any) -> Any:
        total = np.sum(x)
        return ps.cond(total > 1, lambda t: t**3, lambda t: t**2, total)

    ps.split(price, ps.spec("float32", ["N"]), wrt=0).save(tmp_path / "f.onnx")
    text = assert_module_computes(tmp_path / "f.onnx", [sign * np.arange(4, dtype=np.float32)], tmp_path)
    assert text.count("\n    else:\n") >= 2
