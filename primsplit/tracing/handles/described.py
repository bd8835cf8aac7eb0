"""The attributes of a traced array that describe it without its elements: dtype, shape, size."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.ir.dims import Dim, Shape, product
from primsplit.ir.errors import TraceError

RANK_CURE = "Of a model, say the type of an input: ps.load(path, specs={'x': 'f32[N,3]'}), or --spec x:f32[N,3]."


class Described:
    """The dtype and the sizes of a traced array, which are those of its Value."""

    __slots__ = ()
    _value: Value

    @property
    def type(self) -> Type:
        """dtype and shape."""
        return self._value.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """As in NumPy."""
        return self._value.type.dtype

    @property
    def shape(self) -> Shape:
        """As in NumPy; sizes known only at run time are `Size` expressions."""
        shape = self._value.type.shape
        if shape is None:
            raise TraceError("the rank of this value is not known", place=tracing.user_place(), cure=RANK_CURE)
        return shape

    @shape.setter
    def shape(self, new: Any) -> None:
        raise TraceError(
            "the shape of a traced array cannot be set", place=tracing.user_place(), cure="Write x = x.reshape(...)."
        )

    @property
    def ndim(self) -> int:
        """As in NumPy."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """As in NumPy."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        """As in NumPy."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Dim:
        """As in NumPy."""
        return self.size * self.dtype.itemsize
