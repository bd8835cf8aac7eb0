"""Carriers of narrow dtypes: each holds all numbers of the dtype, and the bits are those of the standard."""

import ml_dtypes
import numpy as np
import onnx
import pytest

from primsplit.ir.carriers import CARRIERS, FLOAT8, LATER, TYPE_STRINGS, bits_in_file, in_carrier, least_and_greatest


def every_number(name: str) -> np.ndarray:
    """Each bit pattern of a dtype of at most 8 bits, as numbers of this dtype."""
    return np.arange(2 ** bits_in_file(np.dtype(name)), dtype=np.uint8).view(name)


@pytest.mark.parametrize("name", CARRIERS)
def test_a_carrier_holds_each_number_of_its_dtype(name: str) -> None:
    numbers = every_number(name)
    carried = in_carrier(numbers)
    assert carried.dtype == CARRIERS[name]
    np.testing.assert_array_equal(carried.astype(np.float64), numbers.astype(np.float64))


def test_an_array_of_another_dtype_is_its_own_carrier() -> None:
    array = np.zeros(2, np.int8)
    assert in_carrier(array) is array


@pytest.mark.parametrize(
    ("name", "bits", "least", "greatest"),
    [
        ("int2", 2, -2, 1),
        ("uint2", 2, 0, 3),
        ("int4", 4, -8, 7),
        ("uint4", 4, 0, 15),
        ("int8", 8, -128, 127),
        ("float4_e2m1fn", 4, -6, 6),
        ("float6_e2m3fn", 6, -7.5, 7.5),
        ("float6_e3m2fn", 6, -28, 28),
        ("float8_e4m3fn", 8, -448, 448),
        ("float8_e5m2", 8, -57344, 57344),
        ("float16", 16, -65504, 65504),
    ],
)
def test_bits_and_bounds_are_those_of_the_formats(name: str, bits: int, least: float, greatest: float) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    assert bits_in_file(dtype) == bits
    assert least_and_greatest(dtype) == (least, greatest)


@pytest.mark.parametrize("name", sorted({*CARRIERS, *FLOAT8}))
def test_the_standard_has_each_type_of_the_written_opset_under_its_string(name: str) -> None:
    types = {code.lower() for code in onnx.TensorProto.DataType.keys()}  # noqa: SIM118
    assert TYPE_STRINGS.get(name, name) in types or name in LATER
