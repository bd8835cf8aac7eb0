"""Models of old opsets, whose operators mean something else than those of today.

From opset 7 on onnxruntime runs such a model itself, and its values are what is expected; below, the words of the
standard in NumPy are. Gradients are held against central differences in float64.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ir.errors import ParseError, ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(3)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape)


X = numbers(2, 3, 4, 5)
X += np.sign(X) * 0.2
Y = numbers(3, 4)
C = numbers(3)
WHOLE = RANDOM.integers(0, 3, (4, 5))
POSITIVE = np.abs(numbers(3)) + 0.5
PLACED = np.abs(numbers(3, 4, 5)) + 0.5


def valued(array: Any, name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def saved(
    folder: Path, opset: int, kind: str, inputs: Sequence[Any], results: Sequence[Any], attributes: dict[str, Any]
) -> str:
    """A model of one node. `results` are its outputs: an array of the dtype and rank that they have."""
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y{i}" for i in range(len(results))]
    graph = helper.make_graph(
        [helper.make_node(kind, names, outputs, **attributes)],
        "g",
        [valued(np.asarray(x), n) for n, x in zip(names, inputs, strict=True)],
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(r.dtype), [None] * r.ndim)
            for n, r in zip(outputs, results, strict=True)
        ],
    )
    path = str(folder / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4), path)
    return path


@dataclass(frozen=True)
class Row:
    opset: int
    kind: str
    inputs: tuple[Any, ...]
    expected: Any
    attributes: dict[str, Any]


def row(opset: int, kind: str, *inputs: Any, expected: Any = None, **attributes: Any) -> Row:
    return Row(opset, kind, inputs, expected, attributes)


def normalized(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    def laid(values: np.ndarray) -> np.ndarray:
        return values[:, None, None] if values.ndim == 1 else values

    return (x - laid(mean)) / np.sqrt(laid(spread) + 1e-5) * laid(scale) + laid(bias)


BEFORE_SEVEN: dict[str, Row] = {
    "an array laid along axis 1": row(6, "Add", X, Y, expected=X + Y[..., None], broadcast=1, axis=1),
    "an array laid along axis -3": row(6, "Mul", X, Y, expected=X * Y[..., None], broadcast=1, axis=-3),
    "a vector laid along axis 0": row(1, "Sub", X, C[:2], expected=X - C[:2, None, None, None], broadcast=1, axis=0),
    "an array laid along the last axes": row(6, "Div", X, PLACED, expected=X / PLACED, broadcast=1),
    "an exponent a channel": row(5, "Pow", np.abs(X), C, expected=np.abs(X) ** C[:, None, None], broadcast=1, axis=1),
    "two of one shape": row(6, "Sub", X, X[::-1].copy(), expected=X - X[::-1]),
    "a comparison a channel": row(6, "Greater", X, C, expected=C[:, None, None] < X, broadcast=1, axis=1),
    "an order a channel": row(6, "Less", X, C, expected=C[:, None, None] > X, broadcast=1, axis=1),
    "equal numbers": row(6, "Equal", WHOLE, WHOLE[0], expected=WHOLE[0] == WHOLE, broadcast=1),
    "either of two": row(6, "Or", X > 0, C > 0, expected=(X > 0) | (C > 0)[:, None, None], broadcast=1, axis=1),
    "one of two": row(6, "Xor", X > 0, C > 0, expected=(X > 0) ^ (C > 0)[:, None, None], broadcast=1, axis=1),
    "booleans a channel": row(6, "And", X > 0, C > 0, expected=(X > 0) & (C > 0)[:, None, None], broadcast=1, axis=1),
    "a slope a channel": row(6, "PRelu", X, C, expected=np.where(X > 0, X, C[:, None, None] * X)),
    "a slope a feature": row(
        6, "PRelu", X[0, 0, :, :3].copy(), C, expected=np.where(X[0, 0, :, :3] > 0, 1, C) * X[0, 0, :, :3]
    ),
    "one slope": row(6, "PRelu", X, C[:1], expected=np.where(X > 0, X, C[0] * X)),
    "a broadcast addend": row(6, "Gemm", Y.T.copy(), Y, C[:1], expected=0.5 * Y.T @ Y + C[0], alpha=0.5, broadcast=1),
    "statistics that are given": row(
        6, "BatchNormalization", X, C, -C, C, POSITIVE, expected=normalized(X, C, -C, C, POSITIVE), is_test=1
    ),
    "the batch's own statistics": row(
        6,
        "BatchNormalization",
        X,
        C,
        -C,
        C,
        POSITIVE,
        expected=normalized(X, C, -C, X.mean((0, 2, 3)), X.var((0, 2, 3))),
    ),
    "statistics an element": row(
        7,
        "BatchNormalization",
        X,
        PLACED,
        -PLACED,
        PLACED,
        PLACED,
        expected=normalized(X, PLACED, -PLACED, PLACED, PLACED),
        spatial=0,
    ),
    "nothing dropped": row(6, "Dropout", X, expected=X, is_test=1),
    "a dtype by name": row(5, "Cast", X, expected=X.astype(np.int64), to="INT64"),
    "factors of height and width": row(
        1, "Upsample", X, expected=X.repeat(2, 2).repeat(3, 3), height_scale=2.0, width_scale=3.0
    ),
}


@pytest.mark.parametrize("name", BEFORE_SEVEN)
def test_an_operator_below_opset_7_means_what_the_standard_said_then(name: str, tmp_path: Path) -> None:
    case = BEFORE_SEVEN[name]
    program = ps.load(saved(tmp_path, case.opset, case.kind, case.inputs, [case.expected], case.attributes))
    found = program(*case.inputs)
    assert found.dtype == case.expected.dtype
    np.testing.assert_allclose(found, case.expected, rtol=1e-12, atol=1e-12)
    if case.expected.dtype == np.float64 and case.kind != "Upsample":
        check_grads(program, *case.inputs, symbolic=False, step=1e-3)


def resized(opset: int, mode: str, *scales: float) -> Row:
    """Since opset 9 the factors are an input."""
    given = np.array(scales, np.float32)
    kind = "Upsample" if opset < 10 else "Resize"
    return row(opset, kind, X, scales=list(scales), mode=mode) if opset < 9 else row(opset, kind, X, given, mode=mode)


SINCE_SEVEN: dict[str, Row] = {
    **{
        f"{mode} at {scales} in opset {opset}": resized(opset, mode, 1.0, 1.0, *scales)
        for opset in (7, 8, 9, 10)
        for mode in ("nearest", "linear")
        for scales in ((2.0, 3.0), (1.5, 1.6))
    },
    **{f"{mode}, smaller": resized(10, mode, 1, 1, 0.6, 0.5) for mode in ("nearest", "linear")},
    "nearest, smaller and larger": resized(10, "nearest", 1, 1, 0.6, 2),
    **{
        f"{kind} over the axes from {axis} on in opset {opset}": row(opset, kind, X, axis=axis)
        for opset, axis in ((7, 1), (11, 2), (12, -1))
        for kind in ("Hardmax", "LogSoftmax", "Softmax")
    },
    "a maximum by default": row(9, "Hardmax", X),
    "a scale a group": row(18, "GroupNormalization", numbers(2, 6, 3, 2), C, -C, num_groups=3),
    "statistics given in opset 8": row(8, "BatchNormalization", X, C, -C, C, POSITIVE),
}


@pytest.mark.parametrize("name", SINCE_SEVEN)
def test_an_operator_since_opset_7_means_what_onnxruntime_takes_it_for(name: str, tmp_path: Path) -> None:
    case = SINCE_SEVEN[name]
    inputs = [x.astype(np.float32) for x in case.inputs]
    path = saved(tmp_path, case.opset, case.kind, inputs, [inputs[0]], case.attributes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})
    np.testing.assert_allclose(ps.load(path)(*inputs), expected, rtol=1e-5, atol=1e-6)


PADS = [0, 0, 1, -1, 0, 0, 0, 2]
AROUND = ((0, 0), (0, 0), (1, 0), (0, 2))
PADDED = np.pad(X, AROUND, constant_values=0.25)[..., 1:]
OF_ATTRIBUTES: dict[str, Row] = {
    "bounds": row(9, "Clip", X, expected=np.clip(X, -0.5, 0.75), min=-0.5, max=0.75),
    "one bound": row(7, "Clip", X, expected=np.minimum(X, 0.75), max=0.75),
    "bounds before opset 6": row(5, "Clip", X, expected=np.clip(X, -0.5, 0.75), min=-0.5, max=0.75),
    "a number around": row(10, "Pad", X, expected=PADDED, pads=PADS, value=0.25),
    "a number around before opset 2": row(1, "Pad", X, expected=PADDED, paddings=PADS, value=0.25),
    "the edge": row(8, "Pad", X, expected=np.pad(X, AROUND, "edge")[..., 1:], pads=PADS, mode="edge"),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", OF_ATTRIBUTES)
def test_numbers_that_are_attributes_fit_every_dtype(name: str, dtype: type[np.floating], tmp_path: Path) -> None:
    case = OF_ATTRIBUTES[name]
    x, expected = case.inputs[0].astype(dtype), case.expected.astype(dtype)
    program = ps.load(saved(tmp_path, case.opset, case.kind, [x], [expected], case.attributes))
    np.testing.assert_array_equal(program(x), expected, strict=True)
    if dtype is np.float64:
        check_grads(program, x, symbolic=False, step=1e-3)


LAYERS = {"RNN": 1, "GRU": 3, "LSTM": 4}


@pytest.mark.parametrize("kind", LAYERS)
def test_a_recurrent_layer_below_opset_7_is_that_of_opset_7(kind: str, tmp_path: Path) -> None:
    """Since opset 7 the layer has no attribute that says whether there is a sequence of states; onnxruntime runs it."""
    width = 2 * LAYERS[kind]
    inputs = [a.astype(np.float32) for a in (numbers(3, 2, 4), numbers(1, width, 4), numbers(1, width, 2))]
    shapes = [np.zeros((1,) * 4, np.float32), np.zeros((1,) * 3, np.float32)]
    newer = saved(tmp_path, 7, kind, inputs, shapes, {"hidden_size": 2})
    session = onnxruntime.InferenceSession(newer, providers=["CPUExecutionProvider"])
    expected = session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})
    older = ps.load(saved(tmp_path, 6, kind, inputs, shapes, {"hidden_size": 2, "output_sequence": 1}))
    for value, wanted in zip(older(*inputs), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


SMOOTH = [
    "a scale a group",
    "linear at (1.5, 1.6) in opset 9",
    "nearest, smaller and larger",
    "LogSoftmax over the axes from 2 on in opset 11",
    "Softmax over the axes from 1 on in opset 7",
]


@pytest.mark.parametrize("name", SMOOTH)
def test_the_gradient_of_an_old_operator_is_that_of_its_meaning(name: str, tmp_path: Path) -> None:
    case = SINCE_SEVEN[name]
    program = ps.load(saved(tmp_path, case.opset, case.kind, case.inputs, [case.inputs[0]], case.attributes))
    fixed = case.inputs[1:] if case.kind in {"Resize", "Upsample"} else ()
    moved = case.inputs[: len(case.inputs) - len(fixed)]
    check_grads(lambda *x: program(*x, *fixed), *moved, symbolic=False, step=1e-3)


@pytest.mark.parametrize("name", ["linear at (1.5, 1.6) in opset 7", "linear, smaller", "nearest, smaller and larger"])
def test_the_factors_of_an_old_operator_tell_the_rank_of_what_it_reads(name: str, tmp_path: Path) -> None:
    case = SINCE_SEVEN[name]

    def unranked(x: np.ndarray) -> str:
        path = saved(tmp_path, case.opset, case.kind, (x, *case.inputs[1:]), [x], case.attributes)
        model = onnx.load(path)
        for value in (model.graph.input[0], model.graph.output[0]):
            value.type.tensor_type.ClearField("shape")
        fixed = (onnx.numpy_helper.from_array(v, f"x{i}") for i, v in enumerate(case.inputs) if i)
        model.graph.initializer.extend(fixed)
        onnx.save(model, path)
        return path

    x = X.astype(np.float32)
    session = onnxruntime.InferenceSession(unranked(x), providers=["CPUExecutionProvider"])
    program = ps.load(unranked(X))
    np.testing.assert_allclose(program(X), session.run(None, {"x0": x})[0], rtol=1e-5, atol=1e-6)
    check_grads(program, X, symbolic=False, step=1e-3)


@pytest.mark.parametrize("opset", [7, 9, 10, 11])
def test_the_mask_of_a_dropout_that_drops_nothing_is_onnxruntimes(opset: int, tmp_path: Path) -> None:
    x = X.astype(np.float32)
    path = saved(tmp_path, opset, "Dropout", [x], [x, x if opset < 10 else x > 0], {})
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for found, expected in zip(ps.load(path)(x), session.run(None, {"x0": x}), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_a_training_batch_gives_its_statistics_as_well(tmp_path: Path) -> None:
    given = (X, C, -C, C, POSITIVE)
    attributes = {"momentum": 0.75}
    found = ps.load(saved(tmp_path, 9, "BatchNormalization", given, [X, C, C, C, C], attributes))(*given)
    mean, spread = X.mean((0, 2, 3)), X.var((0, 2, 3))
    running = (0.75 * C + 0.25 * mean, 0.75 * POSITIVE + 0.25 * spread)
    for value, expected in zip(found, (normalized(X, C, -C, mean, spread), *running, mean, spread), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-9)


REFUSED: dict[str, tuple[Callable[..., str], str]] = {
    "own statistics an element": (
        lambda f: saved(f, 6, "BatchNormalization", (X, *(PLACED,) * 4), [X], {"spatial": 0}),
        "no training mode with spatial=0",
    ),
    "a Tile of two numbers": (
        lambda f: saved(f, 5, "Tile", (X, np.float64(2), np.float64(1)), [X], {}),
        "has opset 5, and Tile cannot be converted to opset 21",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_today_is_refused_by_name(name: str, tmp_path: Path) -> None:
    make, words = REFUSED[name]
    with pytest.raises(UnsupportedFunction, match=words):
        ps.load(make(tmp_path))


def test_an_old_operator_inside_a_function_of_the_model_has_its_old_meaning(tmp_path: Path) -> None:
    scales = helper.make_node("Constant", [], ["s"], value=helper.make_tensor("s", 1, [4], [1.0, 1.0, 1.5, 2.0]))
    nodes = [scales, helper.make_node("Upsample", ["a", "s"], ["b"], mode="linear")]
    imports = [helper.make_opsetid("", 9), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "larger", ["a"], ["b"], nodes, imports[:1])
    x = X.astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("larger", ["x"], ["y"], domain="own")],
        "g",
        [valued(x, "x")],
        [helper.make_tensor_value_info("y", 1, [None] * 4)],
    )
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8, functions=[function]), path)
    (expected,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_allclose(ps.load(path)(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("opset", "kind"), [(9, "Upsample"), (10, "Resize")])
def test_constant_factors_tell_the_sizes_of_an_old_image(opset: int, kind: str, tmp_path: Path) -> None:
    case = SINCE_SEVEN["nearest, smaller and larger" if opset == 10 else "linear at (1.5, 1.6) in opset 9"]
    assert (case.opset, case.kind) == (opset, kind)
    x = case.inputs[0].astype(np.float32)
    path = saved(tmp_path, opset, kind, (x, *case.inputs[1:]), [x], case.attributes)
    model = onnx.load(path)
    del model.graph.input[1]
    model.graph.initializer.append(onnx.numpy_helper.from_array(case.inputs[1], "x1"))
    onnx.save(model, path)
    program = ps.load(path)
    assert not program.params
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x0": x})
    assert program.block.results[0].type.shape == expected[0].shape
    np.testing.assert_allclose(program(x), expected[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", [6, 7, 9])
def test_an_old_batch_norm_of_other_channels_is_refused_when_it_is_read(opset: int, tmp_path: Path) -> None:
    five = np.ones(5, np.float32)
    attributes = {"is_test": 1} if opset < 7 else {}
    path = saved(tmp_path, opset, "BatchNormalization", (X.astype(np.float32), *[five] * 4), [X], attributes)
    with pytest.raises(ShapeError, match="between 5 and 3") as caught:
        ps.load(path)
    assert caught.value.place is not None
    assert caught.value.place.filename == path


def test_an_old_number_that_is_resized_stays_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path, 10, "Resize", (np.float32(2), np.zeros(0, np.float32)), [np.float32(2)], {})
    ps.split(ps.load(path)).save(str(tmp_path / "gradient.onnx"))
    onnxruntime.InferenceSession(str(tmp_path / "gradient.onnx"), providers=["CPUExecutionProvider"])
    assert ps.load(path)(np.float32(2), np.zeros(0, np.float32)) == 2


def test_an_old_resizing_of_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    attributes = {"scales": [1.0, 1.0, 2.0, 2.0], "mode": ""}
    path = saved(tmp_path, 7, "Upsample", (X.astype(np.float32),), [X], attributes)
    with pytest.raises(ParseError, match="Upsample has no mode ''"):
        ps.load(path)
