"""Conversions to dtypes that came after the written opset, and the bits of narrow floats."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.carried import IS_KNOWN, QUANTIZED, VALUES, cast, declared, node, number_of, save

pytestmark = pytest.mark.skipif(not IS_KNOWN, reason="this onnx does not know the dtypes")

RANDOM = np.random.default_rng(0)
NUMBERS = np.concatenate(
    [RANDOM.normal(size=200) * scale for scale in (0.1, 1, 10)]
    + [[0.0, -0.0, 0.25, 0.75, -1.25, 1.75, 2.5, 3.5, 5, -5, 7, 9, 1e30, 1e-30, np.inf, -np.inf]]
    + [np.arange(-32, 33) / 32]
)


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_a_float_is_rounded_to_the_nearest_number_of_few_bits(source: str, name: str, tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        x = NUMBERS.astype(source)
    found = cast(tmp_path, source, name)(x)
    assert found.dtype == name
    np.testing.assert_array_equal(found.view(np.uint8), x.astype(name).view(np.uint8))


INTEGERS = {
    "int2": [(-2.5, 1), (-1.5, -2), (-0.6, -1), (-0.4, 0), (0.5, 1), (1.4, 1)],
    "uint2": [(-0.4, 0), (0.4, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.6, 3), (3.4, 3)],
}
"""The results of onnxruntime's own Cast of opset 25."""


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_a_float_becomes_the_nearest_integer_of_two_bits(source: str, name: str, tmp_path: Path) -> None:
    x, expected = np.array(INTEGERS[name]).T
    np.testing.assert_array_equal(cast(tmp_path, source, name)(x.astype(source)), expected.astype(name))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("source", ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_an_integer_keeps_its_two_lowest_bits(source: str, name: str, tmp_path: Path) -> None:
    x = np.array([-200, -5, -1, 0, 1, 2, 3, 7, 130, 2**40 + 3]).astype(source)
    np.testing.assert_array_equal(cast(tmp_path, source, name)(x), x.astype(name))


LEAST, MOST = 2.0**-127, 2.0**127
POWERS = {
    "up": [(1.0, 1.0), (1.0078125, 2.0), (3.0, 4.0), (0.124, 0.125), (LEAST, LEAST), (1.5 * LEAST, 2 * LEAST)],
    "down": [(1.0, 1.0), (1.9921875, 1.0), (3.0, 2.0), (0.126, 0.125), (1.5 * LEAST, LEAST), (MOST, MOST)],
    "nearest": [(1.0, 1.0), (1.25, 1.0), (1.5, 2.0), (1.75, 2.0), (0.1875, 0.25), (0.09, 0.0625), (MOST, MOST)],
}
BEYOND = [(0.0, LEAST), (-1.0, LEAST), (0.5 * LEAST, LEAST), (1.25 * MOST, MOST), (np.inf, MOST)]
"""The standard's table of Cast; what lies outside is NaN where it does not saturate. onnxruntime's kernel agrees."""


@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("mode", POWERS)
@pytest.mark.parametrize("source", ["float32", "bfloat16", "float64"])
def test_a_float_becomes_a_power_of_two(source: str, mode: str, saturate: int, tmp_path: Path) -> None:
    rows = [*POWERS[mode], *((x, y if saturate else np.nan) for x, y in BEYOND), (np.nan, np.nan)]
    x, expected = np.array(rows).T
    found = cast(tmp_path, source, "float8_e8m0fnu", round_mode=mode, saturate=saturate)(x.astype(source))
    np.testing.assert_array_equal(found.astype(np.float64), expected)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("target", ["float16", "float32", "float64", "bfloat16", "float8_e5m2", "int8", "bool"])
def test_every_number_is_read_as_it_is(target: str, name: str, tmp_path: Path) -> None:
    bits = int((ml_dtypes.iinfo if "int" in name else ml_dtypes.finfo)(name).bits)
    every = np.arange(2**bits, dtype=np.uint8).view(name)
    if target in {"int8", "bool"}:
        every = np.array(VALUES[name]).astype(name)
    with np.errstate(over="ignore"):
        expected = np.clip(every.astype(np.float32), -57344, 57344) if target == "float8_e5m2" else every
        expected = expected.astype(np.float32).astype(target)
    found = cast(tmp_path, name, target)(every)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


SCALES = {
    "one scale": (np.array(0.5, np.float32), {}),
    "a scale a column": (np.array([0.5, 2], np.float32), {"axis": 1}),
    "a scale a block": (np.array([[0.5, 2], [1, 0.25]], np.float32), {"axis": 0, "block_size": 3}),
}


@pytest.mark.parametrize("zero", [None, 0, 1])
@pytest.mark.parametrize("scaled", SCALES)
@pytest.mark.parametrize("name", QUANTIZED)
def test_numbers_are_quantized_as_by_the_reference(name: str, scaled: str, zero: int | None, tmp_path: Path) -> None:
    scale, along = SCALES[scaled]
    stored = {"s": scale} if zero is None else {"s": scale, "z": np.full(scale.shape, zero, np.float32).astype(name)}
    told = {"output_dtype": number_of(name)} if zero is None else {}
    made = node("QuantizeLinear", ["x", *stored], ["y"], **along, **told)
    path = save(tmp_path, [made], ([declared("x", "float32", ["N", 2])], [declared("y", name, ["N", 2])]), stored)
    x = np.linspace(-9, 9, 12, dtype=np.float32).reshape(6, 2)
    found, expected = ps.load(path)(x), ReferenceEvaluator(path).run(None, {"x": x})[0]
    assert found.dtype == name
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("kind", ["Cast", "CastLike", "QuantizeLinear"])
def test_a_float_of_eight_bits_saturates_where_it_is_told_to(
    kind: str, saturate: int, name: str, tmp_path: Path
) -> None:
    nodes = {
        "Cast": [node("Cast", ["x"], ["y"], to=number_of(name), saturate=saturate)],
        "CastLike": [node("CastLike", ["x", "zero"], ["y"], saturate=saturate)],
        "QuantizeLinear": [node("QuantizeLinear", ["x", "one", "zero"], ["y"], saturate=saturate)],
    }
    stored = {"one": np.ones((), np.float32), "zero": np.zeros((), np.float32).astype(name)}
    ends = ([declared("x", "float32", ["N"])], [declared("y", name, ["N"])])
    found = ps.load(save(tmp_path, nodes[kind], ends, stored, opset=25))(np.array([1, -1e6], np.float32))
    beyond = {"float8_e4m3fn": (np.nan, -448), "float8_e5m2": (-np.inf, -57344)}[name][saturate]
    np.testing.assert_array_equal(found.astype(np.float32), [1, beyond])


def test_zero_points_of_the_same_bits_are_told_apart(tmp_path: Path) -> None:
    """Their dtype is all that says what is quantized to."""
    found = []
    for name in ("uint4", "int4", "uint2", "int2"):
        stored = {"one": np.ones((), np.float32), "zero": np.zeros((), name)}
        ends = ([declared("x", "float32", ["N"])], [declared("y", name, ["N"])])
        path = save(tmp_path, [node("QuantizeLinear", ["x", "one", "zero"], ["y"])], ends, stored, opset=25)
        found.append(ps.load(path)(np.array([-9, 20], np.float32)).astype(int).tolist())
    assert found == [[0, 15], [-8, 7], [0, 3], [-2, 1]]


SAME_WIDTH = [
    ("uint8", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]),
    ("uint4", ["float4_e2m1fn", "int4"]),
    ("uint2", ["int2"]),
    ("float6_e3m2fn", ["float6_e2m3fn"]),
]


@pytest.mark.parametrize(("plain", "name"), [(plain, name) for plain, names in SAME_WIDTH for name in names])
def test_bits_are_read_as_another_dtype_of_the_same_width(plain: str, name: str, tmp_path: Path) -> None:
    def read(source: str, target: str) -> Any:
        made = node("BitCast", ["x"], ["y"], to=number_of(target))
        return ps.load(save(tmp_path, [made], ([declared("x", source, ["N"])], [declared("y", target, ["N"])])))

    bits = {"uint8": 8, "uint4": 4, "uint2": 2}.get(plain, 6)
    codes = np.arange(2**bits, dtype=np.uint8)
    numbers = codes.view(name)
    np.testing.assert_array_equal(read(plain, name)(codes.view(plain)).astype(np.float32), numbers.astype(np.float32))
    is_number = ~np.isnan(numbers.astype(np.float32))
    found = read(name, plain)(numbers).view(np.uint8) & (2**bits - 1)
    np.testing.assert_array_equal(found[is_number], codes[is_number])
    assert np.all(np.isnan(found[~is_number].view(name).astype(np.float32)))


def test_bits_are_not_read_as_a_dtype_of_another_width(tmp_path: Path) -> None:
    made = node("BitCast", ["x"], ["y"], to=TensorProto.UINT8)
    path = save(tmp_path, [made], ([declared("x", "int2", ["N"])], [declared("y", "uint8", ["N"])]))
    with pytest.raises(UnsupportedFunction, match="BitCast from int2 to uint8, which have different widths"):
        ps.load(path)
