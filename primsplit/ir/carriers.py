"""Dtypes of few bits that came after the opset that files are written in, and the dtypes that carry their numbers.

A program holds such numbers under their own dtype, so that what rounds to it, or is quantized to it, is told apart from
anything else. In a file each is the same number in its carrier, the narrowest dtype that holds every number of it and
that onnxruntime computes with. Integers of four bits the opset has, and onnxruntime has few kernels for them: they are
carried where those do not do. `passes.carrying` writes programs so; here are the dtypes, and arrays on their way.
"""

import functools
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

CARRIERS: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(carrier)
    for name, carrier in {
        "int2": np.int8,
        "uint2": np.uint8,
        "int4": np.int8,
        "uint4": np.uint8,
        "float4_e2m1fn": np.float16,
        "float6_e2m3fn": np.float16,
        "float6_e3m2fn": np.float16,
        "float8_e8m0fnu": np.float32,
    }.items()
}
"""By the name of the dtype."""

FOUR_BITS = frozenset({"int4", "uint4"})
LATER = frozenset(CARRIERS) - FOUR_BITS
"""What the written opset lacks."""

DTYPE_OF = "dtype of "
"""What stands before the name of an input or output in the metadata of a file that holds it in a carrier."""

FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
POWERS_OF_TWO = "float8_e8m0fnu"
"""Scales, and nothing else, are of this dtype."""

QUANTIZED = frozenset({*FLOAT8, *CARRIERS}) - {POWERS_OF_TWO}
"""What numbers are quantized to, besides NumPy's integers."""

TYPE_STRINGS: Mapping[str, str] = {
    **{name: name.removesuffix("fn").removesuffix("fnu").replace("_", "") for name in CARRIERS},
    **{name: name.replace("_", "") for name in FLOAT8},
}
"""What the standard calls dtypes that it does not call as NumPy does."""

MOVING = frozenset(
    {"Concat", "Expand", "Flatten", "Gather", "Identity", "If", "Loop", "Pad", "Reshape", "Scan", "ScatterND"}
    | {"Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where"}
)
"""Operators that move numbers, whatever they are, or count them: what they do to a carrier they do to the number."""

CHANGING: Mapping[str, frozenset[str]] = {
    "Cast": frozenset({"T1", "T2"}),
    "CastLike": frozenset({"T1", "T2"}),
    "ConstantOfShape": frozenset({"T2"}),
    "DequantizeLinear": frozenset({"T1"}),
    "QuantizeLinear": frozenset({"T2"}),
}
"""Operators that make such numbers, or read them as others, by the type variables of the opset that is written."""


def least_and_greatest(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The bounds of a dtype that numbers are quantized to."""
    info = limits(dtype)
    return float(info.min), float(info.max)


def limits(dtype: npt.DTypeLike) -> Any:
    """What `iinfo` or `finfo` says of a dtype, one that NumPy does not know too."""
    read: Any = ml_dtypes.iinfo if "int" in np.dtype(dtype).name else ml_dtypes.finfo
    return read(dtype)


@functools.cache
def bits_in_file(dtype: np.dtype[Any]) -> int:
    """The bits of an element in a file: in memory each takes whole bytes."""
    if dtype.isbuiltin == 1:
        return 8 * dtype.itemsize
    return int(limits(dtype).bits)


def in_carrier(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The numbers of an array in their carrier; the array itself where they have none."""
    carrier = CARRIERS.get(array.dtype.name)
    return array if carrier is None else array.astype(carrier)
