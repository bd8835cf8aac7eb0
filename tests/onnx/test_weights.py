"""Weights of a model: in a file once, apart from its constants, and differentiable in every file written of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import SpecError

Arrays = dict[str, np.ndarray[Any, Any]]
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3)).astype(np.float32)
W, SQUARE, BIAS = (RANDOM.standard_normal(s).astype(np.float32) / 2 for s in ((3, 4), (3, 3), (4,)))
ONES, ZEROS = np.ones(3, np.float32), np.zeros(3, np.float32)
IMAGE, KERNEL = (RANDOM.standard_normal(s).astype(np.float32) for s in ((1, 2, 5), (2, 2, 3)))


def node(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def saved(path: Path, nodes: list[onnx.NodeProto], x: np.ndarray[Any, Any], weights: Arrays, opset: int = 17) -> str:
    """The path of a model of one input x and one output y."""
    of = helper.np_dtype_to_tensor_dtype(x.dtype)
    inputs = [helper.make_tensor_value_info("x", of, x.shape)]
    outputs = [helper.make_tensor_value_info("y", of, None)]
    tensors = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return str(path)


def stored(path: str | Path) -> int:
    return sum(numpy_helper.to_array(t).nbytes for t in onnx.load(path).graph.initializer)


def softplus(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.log1p(np.exp(x))


def convolved(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2], axis=2)
    return np.einsum("nctk,ock->not", windows, w)


Case = tuple[list[onnx.NodeProto], np.ndarray[Any, Any], Arrays, Callable[..., Any]]
CASES: dict[str, Case] = {
    "a product": (
        [node("MatMul", "x W", "a"), node("Tanh", "a", "y")], X, {"W": W}, lambda x, W: np.tanh(x @ W),
    ),
    "an einsum": (
        [node("Einsum", "x W", "a", equation="bi,io->bo"), node("Exp", "a", "y")], X, {"W": W},
        lambda x, W: np.exp(x @ W),
    ),
    "a product with its bias, turned": (
        [node("Gemm", "x W b", "a", transB=1, alpha=0.5), node("Softplus", "a", "y")], X,
        {"W": W.T.copy(), "b": BIAS}, lambda x, W, b: softplus(0.5 * x @ W.T + b),
    ),
    "a convolution": (
        [node("Conv", "x W", "a"), node("Tanh", "a", "y")], IMAGE, {"W": KERNEL},
        lambda x, W: np.tanh(convolved(x, W)),
    ),
    "one weight in two layouts": (
        [
            node("MatMul", "x W", "a"), node("Tanh", "a", "h"), node("Transpose", "W", "t", perm=[1, 0]),
            node("MatMul", "h t", "b"), node("Exp", "b", "y"),
        ], X, {"W": SQUARE}, lambda x, W: np.exp(np.tanh(x @ W) @ W.T),
    ),
    "two weights that are equal": (
        [
            node("MatMul", "x V", "a"), node("MatMul", "x W", "b"), node("Mul", "a b", "c"), node("Tanh", "c", "y"),
        ], X, {"V": W, "W": W}, lambda x, V, W: np.tanh((x @ V) * (x @ W)),
    ),
    "weights of ones and zeros": (
        [
            node("Mul", "x g", "a"), node("Sub", "a b", "c"), node("Exp", "c", "d"), node("Mul", "d g", "e"),
            node("Div", "e g", "f"), node("Sin", "f", "y"),
        ], X, {"g": ONES, "b": ZEROS}, lambda x, g, b: np.sin(np.exp(x * g - b) * g / g),
    ),
    "a weight of one number": (
        [node("Mul", "x alpha", "a"), node("Tanh", "a", "h"), node("Mul", "h alpha", "y")], X,
        {"alpha": np.ones(1, np.float32)}, lambda x, alpha: np.tanh(x * alpha) * alpha,
    ),
    "an exponent": (
        [node("Exp", "x", "e"), node("Pow", "e p", "y")], X, {"p": np.float32([1.0, 2.0, 3.0])},
        lambda x, p: np.exp(x) ** p,
    ),
    "a scaled, cast, cut and joined weight": (
        [
            node("Cast", "W", "wide", to=TensorProto.DOUBLE), node("Cast", "wide", "w", to=TensorProto.FLOAT),
            helper.make_node("Split", ["w"], ["u", "v"], axis=1), node("Concat", "v u", "s", axis=1),
            node("Mul", "s two", "t"), node("MatMul", "x t", "a"), node("Tanh", "a", "y"),
        ], X, {"W": W, "two": np.float32(2.0)},
        lambda x, W, two: np.tanh(x @ (two * np.concatenate([W[:, 2:], W[:, :2]], 1))),
    ),
    "a weight that is added to many short rows": (
        [node("Add", "x b", "a"), node("Sin", "a", "h"), node("Mul", "h b", "y")],
        RANDOM.standard_normal((4096, 3)).astype(np.float32), {"b": BIAS[:3]}, lambda x, b: np.sin(x + b) * b,
    ),
}  # fmt: skip


def differences(function: Callable[[np.ndarray[Any, Any]], float], at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Central differences of a function of an array, in float64."""
    found = np.zeros(at.shape)
    for i in np.ndindex(*at.shape):
        step = np.zeros(at.shape)
        step[i] = 1e-4
        found[i] = (function(at + step) - function(at - step)) / 2e-4
    return found


def slope(
    function: Callable[..., Any], x: np.ndarray[Any, Any], v: np.ndarray[Any, Any], c: Any, weights: Arrays
) -> float:
    """The derivative of sum(c * f(x)) along v, by complex-free differences of fourth order."""
    at = [float(np.sum(c * function(x + k * 1e-3 * v, **weights))) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / 12e-3


@pytest.mark.parametrize("form", ["joint", "functions"])
@pytest.mark.parametrize("name", CASES)
def test_a_gradients_file_has_all_of_each_weights_second_derivative(name: str, form: str, tmp_path: Path) -> None:
    nodes, x, weights, function = CASES[name]
    model = ps.load(saved(tmp_path / "model.onnx", nodes, x, weights))
    *_, first = ps.split(model, wrt="x", of="y").save(tmp_path / "first.onnx", form)
    loaded = ps.load(first)
    made = ps.split(loaded, wrt=list(weights), of="d_x").joint()
    random = np.random.default_rng(1)
    y = function(x, **weights)
    c, v = (random.standard_normal(s).astype(np.float32) for s in (y.shape, x.shape))
    known = {"x": x, "d_y": c, "d_d_x": v, **weights}
    found = dict(zip(made.outputs, made(*(known[n] for n in made.inputs)), strict=True))
    wide = {n: a.astype(float) for n, a in weights.items()}
    for weight, at in wide.items():
        wanted = differences(lambda w, n=weight: slope(function, x.astype(float), v, c, {**wide, n: w}), at)
        np.testing.assert_allclose(found[f"d_{weight}"], wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())


def test_a_backward_file_has_its_own_derivative_by_a_weight(tmp_path: Path) -> None:
    model = ps.load(saved(tmp_path / "model.onnx", CASES["a product"][0], X, {"W": W}))
    _, backward = ps.split(model, wrt="x").save(tmp_path / "first.onnx", "split")
    made = ps.split(ps.load(backward), wrt="W").joint()
    y, c, v = np.tanh(X @ W), np.ones((2, 4), np.float32), X[::-1].copy()
    given = {"y": y, "d_y": c, "d_d_x": v, "W": W}
    found = dict(zip(made.outputs, made(*(given[n] for n in made.inputs)), strict=True))
    np.testing.assert_allclose(found["d_W"], v.T @ (c * (1 - y**2)), rtol=1e-5)


@pytest.mark.parametrize("mode", ["jvp", "hvp"])
def test_files_of_other_modes_have_all_of_a_weights_derivative(mode: Any, tmp_path: Path) -> None:
    nodes = [node("MatMul", "x W", "a"), node("Tanh", "a", "h"), node("ReduceSum", "h", "y", keepdims=0)]
    path = saved(tmp_path / "model.onnx", nodes, X, {"W": W})
    ps.export(ps.load(path), mode=mode, wrt="x", path=str(tmp_path / "first.onnx"))
    loaded = ps.load(str(tmp_path / "first.onnx"))
    result = {"jvp": "t_y", "hvp": "t_d_x"}[mode]
    made = ps.split(loaded, wrt="W", of=result).joint()
    u, v = (np.random.default_rng(2).standard_normal(X.shape).astype(np.float32) for _ in range(2))
    known = {"x": X, "t_x": u, "W": W, "d_t_y": np.float32(1.0), "d_t_d_x": v}
    found = dict(zip(made.outputs, made(*(known[n] for n in made.inputs)), strict=True))["d_W"]

    def value(w: np.ndarray[Any, Any]) -> float:
        h = np.tanh(X.astype(float) @ w)
        if mode == "jvp":
            return float(np.sum((1 - h**2) * (u @ w)))
        return float(np.sum(((-2 * h * (1 - h**2) * (u @ w)) @ w.T) * v))

    wanted = differences(value, W.astype(float))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())


SIZES: dict[str, tuple[list[onnx.NodeProto], np.ndarray[Any, Any], Arrays]] = {
    "float32": ([node("MatMul", "x W", "a"), node("Tanh", "a", "y")], np.ones((2, 64), np.float32),
                {"W": RANDOM.standard_normal((64, 64)).astype(np.float32)}),
    "float16": ([node("MatMul", "x W", "a"), node("Tanh", "a", "y")], np.ones((2, 64), np.float16),
                {"W": RANDOM.standard_normal((64, 64)).astype(np.float16)}),
    "a convolution": ([node("Conv", "x W", "a"), node("Tanh", "a", "y")], np.ones((1, 16, 9), np.float32),
                      {"W": RANDOM.standard_normal((16, 16, 3)).astype(np.float32)}),
    "bytes and a scale": (
        [node("DequantizeLinear", "W s", "w"), node("Transpose", "w", "t"), node("MatMul", "x t", "a"),
         node("Tanh", "a", "y")], np.ones((2, 64), np.float32),
        {"W": RANDOM.integers(-9, 9, (64, 64)).astype(np.int8), "s": np.float32(0.1)},
    ),
    "bytes that are moved": (
        [node("Transpose", "W", "t"), node("DequantizeLinear", "t s", "w"), node("MatMul", "x w", "a"),
         node("Tanh", "a", "y")], np.ones((2, 32), np.float32),
        {"W": RANDOM.integers(-9, 9, (32, 32)).astype(np.uint8), "s": np.float32(0.1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("provider", ["cpu", "cuda"])
@pytest.mark.parametrize("name", SIZES)
def test_a_file_with_a_gradient_holds_each_weight_once(name: str, provider: Any, tmp_path: Path) -> None:
    nodes, x, weights = SIZES[name]
    path = saved(tmp_path / "model.onnx", nodes, x, weights)
    made = ps.split(ps.load(path), wrt="x")
    for form in ("joint", "split", "functions"):
        for written in made.save(tmp_path / "first.onnx", form, provider):
            assert stored(written) <= stored(path) + 100


def test_an_array_of_a_function_is_stored_once_turned_and_converted(tmp_path: Path) -> None:
    table = np.random.default_rng(0).standard_normal((20, 20)).astype(np.float32)
    made = ps.split(lambda x: np.tanh(x @ table) @ table[::1].T, ps.spec("float64", ["N", 20]), wrt="x")
    made.save(tmp_path / "first.onnx")
    assert stored(tmp_path / "first.onnx") <= 2 * table.nbytes + 100  # table, and the view of it that was made outside
    x, c = np.ones((1, 20)), np.ones((1, 20))
    h = np.tanh(x @ table)
    session = onnxruntime.InferenceSession(tmp_path / "first.onnx")
    np.testing.assert_allclose(session.run(["d_x"], {"x": x, "d_y": c})[0], ((1 - h**2) * (c @ table)) @ table.T)


CONSTANTS = {
    "val_76": np.float32([0.5]), "/attention/Constant_3_output_0": np.float32(0.5), "onnx::Div_45": np.float32([2]),
    "17": np.float32(0.5), "const_fold_opt__9": np.float32(0.5), "model/mul/y:0": np.float32(0.5),
    "scalar_tensor_default": np.float32(0.5), "layer.eps": np.float32(1e-5),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_number_that_an_exporter_named_is_no_weight_but_can_be_asked_for(name: str, tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "fc.weight"], ["a"]), helper.make_node("Mul", ["a", name], ["y"])]
    model = ps.load(saved(tmp_path / "model.onnx", nodes, X, {"fc.weight": SQUARE, name: CONSTANTS[name]}))
    assert list(model.params) == ["fc.weight"]
    assert ps.split(model, wrt="params").joint().outputs == ("y", "d_fc.weight")
    np.testing.assert_array_equal(model.params[name], CONSTANTS[name])
    joint = ps.split(model, wrt=name, seed="ones").joint()
    np.testing.assert_allclose(joint(X, CONSTANTS[name])[1].sum(), (X @ SQUARE).sum(), rtol=1e-4)
    np.testing.assert_allclose(model(X, **{name: 2 * CONSTANTS[name]}), X @ SQUARE * 2 * CONSTANTS[name], rtol=1e-5)


def test_exponents_and_integers_of_few_bits_are_no_weights(tmp_path: Path) -> None:
    nodes = [
        node("DequantizeLinear", "packed scale zero", "w"), node("MatMul", "x w", "a"), node("Pow", "a power", "b"),
        node("Pow", "b pool.p", "c"), node("ReduceSum", "c axes", "y"),
    ]  # fmt: skip
    given = {
        "packed": np.ones((3, 3), np.int8), "scale": np.float32(0.5), "zero": np.int8(0), "power": np.float32(2),
        "pool.p": np.float32([3.0]), "axes": np.int64([1]),
    }  # fmt: skip
    model = ps.load(saved(tmp_path / "model.onnx", nodes, X, given))
    assert list(model.params) == ["scale", "pool.p"]
    for name, array in given.items():
        np.testing.assert_array_equal(model.params[name], array)
    assert ps.split(model, wrt="params").joint().outputs == ("y", "d_scale", "d_pool.p")
    assert ps.split(model, wrt="power").joint().outputs == ("y", "d_power")


WEIGHTS = ["fc.bias", "logit_scale", "w", "prelu.weight", "alpha", "model/dense/bias:0"]


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_weight_of_one_number_is_one(name: str, tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["x", name], ["y"])]
    model = ps.load(saved(tmp_path / "model.onnx", nodes, X, {name: np.float32([0.5])}))
    assert list(model.params) == [name]
    ps.split(model, wrt="x").save(tmp_path / "first.onnx")
    assert list(ps.load(str(tmp_path / "first.onnx")).params) == [name]


LEARNED = {
    "onnx::PRelu_5": (node("PRelu", "x onnx::PRelu_5", "y"), X, (1,)),
    "onnx::Conv_3": (node("Conv", "x onnx::Conv_3", "y"), X[None, :1], (1, 1, 1)),
    "onnx::Conv_4": (node("Conv", "x kernel onnx::Conv_4", "y"), X[None, :1], (1,)),
    "4": (node("Gemm", "x column 4", "y"), X, (1,)),
    "onnx::MatMul_9": (node("MatMul", "x onnx::MatMul_9", "y"), X[:, :1], (1, 1)),
}


@pytest.mark.parametrize("name", LEARNED)
def test_one_number_that_an_operator_learns_is_a_weight_under_any_name(name: str, tmp_path: Path) -> None:
    one, x, shape = LEARNED[name]
    given = {"kernel": np.ones((1, 1, 1), np.float32), "column": np.ones((3, 1), np.float32)}
    weights = {n: a for n, a in {**given, name: np.full(shape, 0.5, np.float32)}.items() if n in one.input}
    model = ps.load(saved(tmp_path / "model.onnx", [one], x, weights))
    assert {*model.params} == {*weights}


def test_what_an_operator_is_told_and_what_was_measured_is_no_weight(tmp_path: Path) -> None:
    nodes = [node("BatchNormalization", "x scale bias mean var", "n"), node("Clip", "n low high", "y")]
    weights = {n: np.ones(2, np.float32) for n in ("scale", "bias", "mean", "var")}
    bounds = {"low": np.float32(-9.0), "high": np.float32(9.0)}
    path = saved(tmp_path / "model.onnx", nodes, IMAGE, {**weights, **bounds})
    model = ps.load(path)
    assert list(model.params) == ["scale", "bias"]
    assert {*ps.split(model, wrt=["mean", "high"]).joint().outputs} == {"y", "d_mean", "d_high"}
    ps.split(model, wrt="x").save(tmp_path / "first.onnx")
    loaded = ps.load(str(tmp_path / "first.onnx"))
    assert list(loaded.params) == ["scale", "bias"]
    ps.split(loaded, wrt="mean", of="d_x")
    with pytest.raises(SpecError, match="high is no weight"):
        ps.split(loaded, wrt="high", of="d_x")


def held(name: str, array: np.ndarray[Any, Any]) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def test_weights_that_constant_nodes_hold_are_weights_under_the_names_of_their_outputs(tmp_path: Path) -> None:
    nodes = [
        held("fc.w", SQUARE), helper.make_node("Constant", [], ["fc.b"], value_floats=[0.5, -0.5, 0.25]),
        helper.make_node("Constant", [], ["half"], value_float=0.5), held("/Constant_3_output_0", ZEROS),
        held("onnx::MatMul_8", SQUARE), node("MatMul", "x fc.w", "a"), node("Add", "a fc.b", "b"),
        node("Mul", "b half", "c"), node("Add", "c /Constant_3_output_0", "d"), node("Tanh", "d", "e"),
        node("MatMul", "e onnx::MatMul_8", "y"),
    ]  # fmt: skip
    model = ps.load(saved(tmp_path / "model.onnx", nodes, X, {}))
    bias = np.float32([0.5, -0.5, 0.25])
    assert list(model.params) == ["fc.w", "fc.b", "onnx::MatMul_8"]
    np.testing.assert_array_equal(model.params["fc.b"], bias)
    np.testing.assert_allclose(model(X, half=np.float32(2)), np.tanh(2 * (X @ SQUARE + bias)) @ SQUARE, rtol=1e-5)
    names = ["fc.w", "fc.b", "half", "/Constant_3_output_0"]
    joint = ps.split(model, wrt=names, seed="ones").joint()
    at = [SQUARE, bias, np.float32(0.5), ZEROS]
    found = dict(zip(joint.outputs, joint(X, *at), strict=True))
    for i, name in enumerate(names):

        def value(a: np.ndarray[Any, Any], i: int = i) -> float:
            w, b, half, more = [*at[:i], a, *at[i + 1 :]]
            return float(np.sum(np.tanh((X.astype(float) @ w + b) * half + more) @ SQUARE))

        np.testing.assert_allclose(found[f"d_{name}"], differences(value, at[i].astype(float)), rtol=1e-4, atol=1e-5)


def test_a_weight_of_a_constant_node_has_its_second_derivative_in_a_gradients_file(tmp_path: Path) -> None:
    nodes = [held("W", W), node("MatMul", "x W", "a"), node("Tanh", "a", "y")]
    ps.split(ps.load(saved(tmp_path / "model.onnx", nodes, X, {})), wrt="x").save(tmp_path / "first.onnx")
    joint = ps.split(ps.load(str(tmp_path / "first.onnx")), wrt="W", of="d_x", seed="ones").joint()
    c = np.ones((2, 4), np.float32)
    known = {"x": X, "d_y": c, "W": W}
    found = dict(zip(joint.outputs, joint(*(known[n] for n in joint.inputs)), strict=True))["d_W"]
    np.testing.assert_allclose(
        found, differences(lambda w: float(np.sum((1 - np.tanh(X @ w) ** 2) @ w.T)), W.astype(float)), rtol=1e-4
    )


def test_a_weight_inside_of_a_branch_is_told_to_be_moved(tmp_path: Path) -> None:
    outputs = [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)]
    sides = {
        f"{side}_branch": helper.make_graph([held("U", k * W), node("MatMul", "x U", "o")], "g", [], outputs)
        for k, side in enumerate(("then", "else"))
    }
    nodes = [
        node("ReduceSum", "x", "s", keepdims=0), node("Cast", "s", "c", to=TensorProto.BOOL),
        node("If", "c", "a", **sides), node("Mul", "a b", "y"),
    ]  # fmt: skip
    model = ps.load(saved(tmp_path / "model.onnx", nodes, X, {"b": BIAS}))
    with pytest.raises(SpecError, match="wrt='U' is a number that a branch, a loop's body or a function") as caught:
        ps.split(model, wrt="U")
    assert "Move U to the initializers" in str(caught.value)


def test_where_all_are_constants_that_is_told(tmp_path: Path) -> None:
    path = saved(tmp_path / "model.onnx", [node("Mul", "x val_0", "y")], X, {"val_0": np.float32(2.0)})
    with pytest.raises(SpecError, match="one number, under a name that exporters give") as caught:
        ps.split(ps.load(path), wrt="params")
    assert "val_0" in str(caught.value)


def test_the_numbers_of_a_file_of_ours_are_no_weights(tmp_path: Path) -> None:
    table = np.array([[0.5, 0.2], [-1.0, 0.3]])
    ps.trace(lambda x: np.sum(np.tanh(x @ table) * 0.5), ps.spec("float64", ["N", 2])).save(tmp_path / "f.onnx")
    model = ps.load(str(tmp_path / "f.onnx"))
    assert [array.shape for array in model.params.values()] == [(2, 2)]


def test_an_identity_matrix_of_a_computation_is_no_weight(tmp_path: Path) -> None:
    table = np.array([[2.0, 0.2], [-1.0, 0.3]])
    ps.trace(
        lambda x: x @ np.linalg.inv(ps.param(table, "w")) + x @ np.eye(2)[::-1], ps.spec("float64", ["N", 2])
    ).save(tmp_path / "f.onnx")
    assert list(ps.load(str(tmp_path / "f.onnx")).params) == ["w"]


def test_two_weights_of_equal_numbers_stay_two(tmp_path: Path) -> None:
    """Training may change one of them: what is computed from each is computed twice."""

    def function(x: Any) -> Any:
        return np.sum(np.exp(x * ps.param(np.ones(3), "a")) + np.sin(np.exp(x * ps.param(np.ones(3), "b"))))

    ps.trace(function, ps.spec("float64", [3])).save(tmp_path / "two.onnx")
    program = ps.load(tmp_path / "two.onnx")
    assert list(program.params) == ["a", "b"]
    x = np.array([0.5, 1.0, 2.0])
    value, d_a, d_b = ps.split(program, wrt="params").joint()(x, np.ones(3), np.full(3, 0.25))
    np.testing.assert_allclose(value, np.sum(np.exp(x) + np.sin(np.exp(0.25 * x))))
    np.testing.assert_allclose(d_a, x * np.exp(x))
    np.testing.assert_allclose(d_b, x * np.exp(0.25 * x) * np.cos(np.exp(0.25 * x)))
