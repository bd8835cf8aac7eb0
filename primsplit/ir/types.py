"""Type: the dtype and the shape of a tensor; and which dtypes a program can hold."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from primsplit.ir.carriers import CARRIERS, FLOAT8
from primsplit.ir.dims import Dim, Shape, Size, abbreviated, product, same_shape, substitute

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


@functools.cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return `dtype.name`, which NumPy composes anew each time."""
    return dtype.name


def is_held(dtype: np.dtype[Any]) -> bool:
    """Whether a program can hold arrays of this dtype: numbers of at most 64 bits, in native byte order, and texts.

    Of the dtypes that NumPy lacks, a program can hold those of the ONNX standard.
    """
    if dtype.isbuiltin == 2:
        return dtype == BFLOAT16 or dtype.name in FLOAT8 or dtype.name in CARRIERS
    return dtype.kind in "biufUST" and dtype.isnative and (dtype.kind != "f" or dtype.itemsize <= 8)


class Type:
    """The dtype and shape of a tensor. `shape` is None where even the rank is unknown."""

    __slots__ = ("dtype", "key", "shape")
    dtype: np.dtype[Any]
    shape: Shape | None
    key: tuple[str, tuple[int | str, ...] | None]

    def __init__(self, dtype: npt.DTypeLike, shape: Iterable[Dim] | None) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = None if shape is None else tuple(shape)
        dims = None if self.shape is None else tuple(d.text if isinstance(d, Size) else d for d in self.shape)
        self.key = (dtype_name(self.dtype), dims)

    @property
    def rank(self) -> int | None:
        """The number of axes, or None where it is unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether the dtype carries gradients."""
        return self.key[0] in FLOATS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        if self.shape is None:
            return f"{self.dtype.name}[...]"
        return f"{self.dtype.name}[{','.join(str(d) for d in self.shape)}]" if self.shape else self.dtype.name

    def substitute(self, sizes: Mapping[str, Dim]) -> "Type":
        """Return the type with symbols replaced."""
        if not sizes or self.shape is None or all(isinstance(d, int) for d in self.shape):
            return self
        return Type(self.dtype, [abbreviated(substitute(d, sizes)) for d in self.shape])

    def abbreviated(self) -> "Type":
        """Return the type with a symbol for every long size."""
        if self.shape is None or all(abbreviated(d) is d for d in self.shape):
            return self
        return Type(self.dtype, map(abbreviated, self.shape))

    def nbytes(self) -> Dim | None:
        """Return the bytes of one value; None for an unknown rank."""
        return None if self.shape is None else product(self.shape) * self.dtype.itemsize

    def takes_at_most(self, nbytes: int) -> bool:
        """Whether one value is known to take at most so many bytes: its sizes are literal."""
        size = self.literal_nbytes()
        return size is not None and size <= nbytes

    def literal_nbytes(self) -> int | None:
        """Return the bytes of one value, if all of its sizes are literal, else None."""
        if self.shape is None:
            return None
        total = self.dtype.itemsize
        for dim in self.shape:
            if not isinstance(dim, int):
                return None
            total *= dim
        return total


def same_types(a: Type, b: Type) -> bool:
    """Whether the two types are equal for all values of the symbols; False if that is not proven."""
    return a.dtype == b.dtype and a.shape is not None and b.shape is not None and same_shape(a.shape, b.shape)
