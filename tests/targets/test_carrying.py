"""Dtypes that came after the written opset: told as they are, moved and read, and held in files by a carrier."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import DtypeError
from primsplit.programs.opened import OpenedFile, OpenedPair
from tests.onnx.carried import EARLIER, IS_KNOWN, VALUES, Arrays, cast, declared, node, number_of, save, weights

pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="this onnx does not know the dtypes")

LATE = frozenset(range(23, 29))
"""The data types that came after opset 21."""


def types_in(model: onnx.ModelProto) -> set[int]:
    """The data types of all that a model declares or stores."""
    graph = model.graph
    values = (*graph.input, *graph.output, *graph.value_info)
    return {v.type.tensor_type.elem_type for v in values} | {t.data_type for t in graph.initializer}


def moves(name: str) -> list[onnx.NodeProto]:
    return [
        node("Identity", ["w"], ["copied"]),
        node("Transpose", ["copied"], ["turned"]),
        node("Unsqueeze", ["turned", "first"], ["wider"]),
        node("Squeeze", ["wider", "first"], ["again"]),
        node("Flatten", ["again"], ["flat"]),
        node("Transpose", ["flat"], ["back"]),
        node("Shape", ["back"], ["shape"]),
        node("Reshape", ["back", "shape"], ["v"]),
    ]


def filled(name: str) -> list[onnx.NodeProto]:
    one = numpy_helper.from_array(np.ones(1, np.float32).astype(name))
    return [node("Shape", ["w"], ["shape"]), node("ConstantOfShape", ["shape"], ["v"], value=one)]


def chosen(name: str) -> list[onnx.NodeProto]:
    ends = ([], [declared("v1", name, None)]), ([], [declared("v2", name, None)])
    taken = helper.make_graph([node("Identity", ["w"], ["v1"])], "taken", *ends[0])
    other = helper.make_graph([*filled(name)[:1], node("Reshape", ["w", "shape"], ["v2"])], "other", *ends[1])
    return [
        node("ReduceMax", ["x"], ["largest"], keepdims=0),
        node("Greater", ["largest", "half"], ["is_large"]),
        node("If", ["is_large"], ["v"], then_branch=taken, else_branch=other),
    ]


def turned_twice(name: str) -> list[onnx.NodeProto]:
    ends = [declared("i", "int64", []), declared("go", "bool", []), declared("c", name, [None, None])]
    results = [declared("on", "bool", []), declared("d", name, [None, None])]
    body = helper.make_graph([node("Identity", ["go"], ["on"]), node("Transpose", ["c"], ["d"])], "body", ends, results)
    return [node("Loop", ["two", "", "w"], ["v"], body=body)]


def row_by_row(name: str) -> list[onnx.NodeProto]:
    ends = [declared("row", name, [2])], [declared("same", name, [2])]
    body = helper.make_graph([node("Identity", ["row"], ["same"])], "body", *ends)
    return [node("Scan", ["w"], ["v"], body=body, num_scan_inputs=1)]


def as_constant(name: str) -> list[onnx.NodeProto]:
    return [node("Constant", [], ["v"], value=numpy_helper.from_array(weights(name)))]


def like_another(name: str) -> list[onnx.NodeProto]:
    wide = node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT)
    return [wide, node("CastLike", ["wide", "w"], ["v"]), node("CastLike", ["v", "half"], ["f"])]


def scaled(name: str) -> list[onnx.NodeProto]:
    return [node("DequantizeLinear", ["w", "half"], ["f"])]


def scaled_from_a_zero_point(name: str) -> list[onnx.NodeProto]:
    zero = numpy_helper.from_array(np.array([1, 0], np.float32).astype(name))
    return [
        node("Constant", [], ["zeros"], value=zero),
        node("Identity", ["pair"], ["scales"]),
        node("DequantizeLinear", ["w", "scales", "zeros"], ["f"], axis=-1),
    ]


def scaled_by_powers_of_two(name: str) -> list[onnx.NodeProto]:
    return [node("DequantizeLinear", ["w", "powers"], ["f"], axis=0, block_size=2, output_dtype=TensorProto.FLOAT)]


READINGS: list[Callable[[str], list[onnx.NodeProto]]] = [
    moves, filled, chosen, turned_twice, row_by_row, as_constant, like_another, scaled, scaled_from_a_zero_point,
    scaled_by_powers_of_two,
]  # fmt: skip
CONSTANTS: Arrays = {
    "half": np.array(0.5, np.float32),
    "powers": np.array([[0.5, 1], [2, 4]], np.float32).astype(ml_dtypes.float8_e8m0fnu),
    "pair": np.array([0.5, 2], np.float32),
    "first": np.array([0]),
    "two": np.array(2),
}


def read_weights(nodes: Sequence[onnx.NodeProto], name: str, folder: Path) -> str:
    """The path of a model that multiplies its input by weights which these nodes read."""
    ends = ([declared("x", "float32", ["N", 4])], [declared("y", "float32", ["N", 2])])
    made = {o for n in nodes for o in n.output}
    last = [] if "f" in made else [node("Cast", ["v"], ["f"], to=TensorProto.FLOAT)]
    product = node("MatMul", ["x", "f"], ["y"])
    return save(folder, [*nodes, *last, product], ends, {"w": weights(name), **CONSTANTS})


def expected_of(reading: Callable[[str], Any], name: str) -> npt.NDArray[np.float32]:
    wide = weights(name).astype(np.float32)
    if reading is filled:
        return np.ones_like(wide)
    if reading is scaled_by_powers_of_two:
        return wide * np.array([[0.5, 1], [0.5, 1], [2, 4], [2, 4]], np.float32)
    if reading is scaled_from_a_zero_point:
        return (wide - np.array([1, 0], np.float32)) * np.array([0.5, 2], np.float32)
    return wide / 2 if reading is scaled else wide


NOT_TAKEN: Mapping[str, set[Callable[[str], Any]]] = {
    "float8_e8m0fnu": {scaled, scaled_by_powers_of_two, scaled_from_a_zero_point},
    "float8_e4m3fn": {scaled_from_a_zero_point},
    "float8_e5m2": {scaled_from_a_zero_point},
}
"""Powers of two are scales, and are not scaled; floats of eight bits have the zero point 0."""
CASES = [(n, r) for n in (*VALUES, *EARLIER) for r in READINGS if r not in NOT_TAKEN.get(n, ())]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "reading"), CASES, ids=lambda c: getattr(c, "__name__", c))
def test_weights_are_read_however_they_are_moved(name: str, reading: Callable[[str], Any], tmp_path: Path) -> None:
    made = ps.split(ps.load(read_weights(reading(name), name, tmp_path)), wrt="x")
    x, dy = np.arange(1, 9, dtype=np.float32).reshape(2, 4), np.array([[1, 2], [3, 4]], np.float32)
    wide = expected_of(reading, name)
    value, gradient = made.joint()(x, dy)
    np.testing.assert_array_equal(value, x @ wide)
    np.testing.assert_array_equal(gradient, dy @ wide.T)
    np.testing.assert_array_equal(made.program(x, w=weights(name)), x @ wide)
    made.save(str(tmp_path / "out.onnx"))
    written = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert not types_in(written) & LATE


@pytest.mark.parametrize("name", VALUES)
def test_padding_is_of_zeros_or_of_a_number_that_is_given(name: str, tmp_path: Path) -> None:
    nodes = [node("Pad", ["w", "pads", "one"], ["v"])]
    stored = {"w": weights(name), "pads": np.array([0, 1, 0, 0]), "one": np.ones((), np.float32).astype(name)}
    ends = ([declared("x", "float32", [])], [declared("v", name, [4, 3])])
    found = ps.load(save(tmp_path, nodes, ends, stored))(np.float32(0))
    expected = np.pad(weights(name).astype(np.float32), ((0, 0), (1, 0)), constant_values=1)
    np.testing.assert_array_equal(found.astype(np.float32), expected)


STORED = ["in the model, packed", "in the model, as numbers", "in another file"]


@pytest.mark.parametrize("how", STORED)
@pytest.mark.parametrize("name", VALUES)
def test_long_weights_are_read_from_where_they_are(name: str, how: str, tmp_path: Path) -> None:
    long = np.resize(np.array(VALUES[name], np.float32), (13, 11)).astype(name)
    ends = ([declared("x", "float32", [13, 13])], [declared("y", "float32", [13, 11])])
    nodes = [node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), node("MatMul", ["x", "f"], ["y"])]
    path = save(tmp_path, nodes, ends, {"w": long})
    model = onnx.load(path)
    if how == "in the model, as numbers":
        model.graph.initializer[0].CopyFrom(helper.make_tensor("w", number_of(name), long.shape, long.ravel()))
    onnx.save(model, path, save_as_external_data=how == "in another file", location="data", size_threshold=0)
    program, identity = ps.load(path), np.eye(13, dtype=np.float32)
    np.testing.assert_array_equal(program(identity), long.astype(np.float32))
    assert program.params["w"].dtype == name
    other = np.roll(long, 1, 0)
    np.testing.assert_array_equal(program(identity, w=other), other.astype(np.float32))


def given_and_returned(name: str, folder: Path) -> str:
    ends = (
        [declared("x", "float32", ["N", 4]), declared("w", name, [4, "K"])],
        [declared("y", "float32", ["N", "K"]), declared("turned", name, ["K", 4])],
    )
    nodes = [
        node("Cast", ["w"], ["f"], to=TensorProto.FLOAT),
        node("MatMul", ["x", "f"], ["y"]),
        node("Transpose", ["w"], ["turned"]),
    ]
    return save(folder, nodes, ends)


@pytest.mark.parametrize("form", ["joint", "functions"])
@pytest.mark.parametrize("columns", [0, 1, 2])
@pytest.mark.parametrize("name", VALUES)
def test_inputs_and_outputs_are_arrays_of_their_own_dtype(name: str, columns: int, form: str, tmp_path: Path) -> None:
    program = ps.load(given_and_returned(name, tmp_path))
    assert f"w: {name}[4,K]" in repr(program)
    x, w = np.arange(8, dtype=np.float32).reshape(2, 4), weights(name)[:, :columns]
    value, turned = program(x, w)
    np.testing.assert_array_equal(value, x @ w.astype(np.float32))
    assert turned.dtype == name
    np.testing.assert_array_equal(turned.astype(np.float32), w.T.astype(np.float32))
    path = str(tmp_path / "out.onnx")
    ps.split(program, wrt="x").save(path, form=form)
    opened = OpenedFile(path)
    assert opened.inputs["w"].dtype == opened.outputs["turned"].dtype == name
    found = opened({"x": x, "w": w, "d_y": np.ones_like(value)})
    np.testing.assert_array_equal(found["d_x"], np.ones_like(value) @ w.T.astype(np.float32))
    assert found["turned"].dtype == name


@pytest.mark.parametrize("name", VALUES)
def test_values_of_unknown_rank_are_moved_too(name: str, tmp_path: Path) -> None:
    nodes = [
        node("Cast", ["x"], ["q"], to=number_of(name)),
        node("Transpose", ["q"], ["turned"]),
        node("Reshape", ["turned", "all"], ["flat"]),
        node("Cast", ["flat"], ["y"], to=TensorProto.FLOAT),
    ]
    ends = ([declared("x", "float32", None)], [declared("y", "float32", None)])
    program = ps.load(save(tmp_path, nodes, ends, {"all": np.array([-1])}))
    numbers = weights(name).astype(np.float32)
    np.testing.assert_array_equal(program(numbers), numbers.T.ravel())


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float8_e8m0fnu"])
def test_rows_of_a_cache_are_replaced(name: str, tmp_path: Path) -> None:
    shapes = {"cache": [1, 4, 2], "new": [1, 1, 2]}
    ends = ([declared(n, name, s) for n, s in shapes.items()], [declared("y", name, [1, 4, 2])])
    made = node("TensorScatter", ["cache", "new", "place"], ["y"], axis=1)
    cache, new = weights(name)[None], weights(name)[None, 1:2]
    found = ps.load(save(tmp_path, [made], ends, {"place": np.array([2])}))(cache, new)
    expected = cache.astype(np.float32)
    expected[0, 2] = new[0, 0]
    np.testing.assert_array_equal(found.astype(np.float32), expected)


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_integers_of_four_bits_are_the_same_in_a_carrier(name: str, tmp_path: Path) -> None:
    """onnxruntime makes and reads them, and cannot reshape them."""
    x = np.array([-9.5, -8, -2.5, -0.5, 0.4, 0.5, 1.5, 2.4, 7.4, 15, 100, -100], np.float32)
    made, read = node("Cast", ["x"], ["q"], to=number_of(name)), node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)
    ends = ([declared("x", "float32", ["N"])], [declared("q", name, None), declared("y", "float32", None)])
    found = [
        ps.load(save(tmp_path, [made, node(*moved), read], ends, {"first": np.array([0])}, opset=21))(x)
        for moved in (("Identity", ["q"], ["r"]), ("Unsqueeze", ["q", "first"], ["r"]))
    ]
    (direct, numbers), (carried, again) = found
    assert direct.dtype == carried.dtype == name
    np.testing.assert_array_equal(carried.astype(np.int8), direct.astype(np.int8))
    np.testing.assert_array_equal(again[0], numbers)


@pytest.mark.parametrize("name", ["int2", "int4", "float8_e4m3fn"])
def test_an_input_may_be_an_output_and_so_may_a_weight(name: str, tmp_path: Path) -> None:
    ends = ([declared("x", name, ["N"])], [declared(n, name, None) for n in ("y", "z", "w")])
    nodes = [node("Identity", ["x"], ["y"]), node("Identity", ["x"], ["z"])]
    program = ps.load(save(tmp_path, nodes, ends, {"w": weights(name)}))
    x = np.array([1, 0, 1]).astype(name)
    for found, expected in zip(program(x), (x, x, weights(name)), strict=True):
        assert found.dtype == name
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_every_form_of_a_split_holds_integers_of_four_bits_alike_in_all_its_parts(tmp_path: Path) -> None:
    """The forward pass reshapes them, the pullback does not."""
    nodes = [
        node("Reshape", ["w", "shape"], ["r"]),
        node("Cast", ["r"], ["f"], to=TensorProto.FLOAT),
        node("MatMul", ["x", "f"], ["y"]),
        node("Reshape", ["y", "all"], ["flat"]),
        node("Cast", ["w"], ["g"], to=TensorProto.FLOAT),
        node("Mul", ["flat", "g"], ["z"]),
    ]
    ends = ([declared("x", "float32", [2, 2]), declared("w", "int4", [4])], [declared("z", "float32", None)])
    path = save(tmp_path, nodes, ends, {"shape": np.array([2, 2]), "all": np.array([4])}, opset=21)
    made = ps.split(ps.load(path), wrt="x")
    (joint,), (forward, backward) = (made.save(str(tmp_path / "z.onnx"), form) for form in ("joint", "split"))
    x, w = np.array([[1, 2], [3, 4]], np.float32), np.array([-8, 7, 1, 0]).astype("int4")
    arrays = {"x": x, "w": w, "d_z": np.ones(4, np.float32)}
    whole, parts = OpenedFile(joint)(arrays), OpenedPair(forward, backward)(arrays)
    numbers = w.astype(np.float32).reshape(2, 2)
    np.testing.assert_array_equal(whole["z"], (x @ numbers * numbers).ravel())
    np.testing.assert_array_equal(whole["d_x"], numbers @ numbers.T)
    np.testing.assert_array_equal(parts["d_x"], whole["d_x"])
    (functions,) = made.save(str(tmp_path / "functions.onnx"), "functions")
    np.testing.assert_array_equal(OpenedFile(functions)(arrays)["d_x"], whole["d_x"])


@pytest.mark.parametrize("scale", ["float8_e8m0fnu", "float16"])
def test_scales_that_are_read_in_a_wider_dtype_are_the_same_both_ways(scale: str, tmp_path: Path) -> None:
    """So that numbers that go through integers have the straight-through derivative."""
    along = {"axis": 0, "block_size": 2}
    nodes = [
        node("QuantizeLinear", ["x", "scales"], ["q"], output_dtype=number_of("float4_e2m1fn"), **along),
        node("DequantizeLinear", ["q", "scales"], ["y"], output_dtype=TensorProto.FLOAT, **along),
    ]
    scales = np.array([0.5, 4], np.float32).astype(scale)
    ends = ([declared("x", "float32", [4])], [declared("y", "float32", [4])])
    made = ps.split(ps.load(save(tmp_path, nodes, ends, {"scales": scales}))).joint()
    value, gradient = made(np.array([0.3, -7, 0.3, -7], np.float32), np.ones(4, np.float32))
    np.testing.assert_array_equal(value, [0.25, -3, 0, -8])
    np.testing.assert_array_equal(gradient, [1, 0, 1, 1])


def test_a_file_holds_numbers_in_their_carrier_and_says_so(tmp_path: Path) -> None:
    ps.load(given_and_returned("float4_e2m1fn", tmp_path)).save(str(tmp_path / "out.onnx"))
    written = onnx.load(tmp_path / "out.onnx")
    types = [v.type.tensor_type.elem_type for v in (*written.graph.input, *written.graph.output)]
    assert types == [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.FLOAT16]
    assert {p.key: p.value for p in written.metadata_props if p.key.startswith("dtype")} == {
        "dtype of w": "float4_e2m1fn",
        "dtype of turned": "float4_e2m1fn",
    }


def test_an_array_of_another_dtype_is_refused_by_name(tmp_path: Path) -> None:
    program = ps.load(given_and_returned("int2", tmp_path))
    with pytest.raises(DtypeError, match="w must be int2, not int8"):
        program(np.zeros((1, 4), np.float32), np.zeros((4, 1), np.int8))


def test_a_result_in_a_carrier_is_not_written_into_an_array(tmp_path: Path) -> None:
    program = cast(tmp_path, "float32", "int2")
    for dtype, told in (("int2", "y is int2, which a file holds in another dtype"), ("int8", r"y is int2\[3\]")):
        with pytest.raises(DtypeError, match=told):
            program.run_into(np.zeros(3, dtype), np.zeros(3, np.float32))
