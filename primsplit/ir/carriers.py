"""List narrow dtypes that files cannot hold or onnxruntime lacks kernels for, and the wider dtypes that carry them.

Inside a program such numbers keep their own dtype (`float4_e2m1fn`, `int2`), so that rounding to it and quantizing to
it stay visible. In a file each becomes the same number in its carrier: the narrowest dtype that holds all its numbers
and that onnxruntime computes with. The opset has integers of four bits, but onnxruntime has few kernels for them: they
are carried where a kernel is missing. `targets/carrying.py` rewrites programs; here are the tables.

```
float4_e2m1fn[2](0.5, 6.0)   in a program
float16[2](0.5, 6.0)         in its file
```
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
"""The carrier of each dtype, by its name."""

FOUR_BITS = frozenset({"int4", "uint4"})
LATER = frozenset(CARRIERS) - FOUR_BITS
"""The dtypes that the written opset lacks."""

DTYPE_OF = "dtype of "
"""The prefix of a metadata key: after it comes the name of an input or output that the file holds in a carrier."""

FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
POWERS_OF_TWO = "float8_e8m0fnu"
"""The dtype of scales, and of nothing else."""

QUANTIZED = frozenset({*FLOAT8, *CARRIERS}) - {POWERS_OF_TWO}
"""The dtypes that numbers are quantized to, besides NumPy's integers."""

TYPE_STRINGS: Mapping[str, str] = {
    **{name: name.removesuffix("fn").removesuffix("fnu").replace("_", "") for name in CARRIERS},
    **{name: name.replace("_", "") for name in FLOAT8},
}
"""The standard's names of dtypes, where they differ from NumPy's."""

MOVING = frozenset(
    {"Concat", "Expand", "Flatten", "Gather", "Identity", "If", "Loop", "Pad", "Reshape", "Scan", "ScatterND"}
    | {"Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where"}
)
"""Operators that move or count elements without a look at them: they do the same to a carrier.

No trait: those of many such operators that programs may use on these dtypes.
"""

CHANGING: Mapping[str, frozenset[str]] = {
    "Cast": frozenset({"T1", "T2"}),
    "CastLike": frozenset({"T1", "T2"}),
    "ConstantOfShape": frozenset({"T2"}),
    "DequantizeLinear": frozenset({"T1"}),
    "QuantizeLinear": frozenset({"T2"}),
}
"""Operators that convert from or to such a dtype, with the type variables of the written opset that may hold it.

No trait: the type variables are those of one opset, the dtypes those of later ones.
"""


def least_and_greatest(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the bounds of a dtype that numbers are quantized to."""
    info = limits(dtype)
    return float(info.min), float(info.max)


def limits(dtype: npt.DTypeLike) -> Any:
    """Return `iinfo` or `finfo` of a dtype, also of one that NumPy does not know."""
    read: Any = ml_dtypes.iinfo if "int" in np.dtype(dtype).name else ml_dtypes.finfo
    return read(dtype)


@functools.cache
def bits_in_file(dtype: np.dtype[Any]) -> int:
    """Return the bits of an element in a file; in memory each takes whole bytes."""
    if dtype.isbuiltin == 1:
        return 8 * dtype.itemsize
    return int(limits(dtype).bits)


def in_carrier(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the numbers of an array in their carrier; the array itself if its dtype has none."""
    carrier = CARRIERS.get(array.dtype.name)
    return array if carrier is None else array.astype(carrier)
