"""Compute products with a vector over many terms in parts of one length that are added up afterwards.

    y = MatMul(x[1000000], w[1000000,5])   ->   p = MatMul(Reshape(x, [1000,1,1000]), Reshape(w, [1000,1000,5]))
                                                y = ReduceSum(p[1000,1,5], [0])

onnxruntime adds up a product with a vector term by term. A product of two matrices it adds up in blocks, which is
accurate.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from primsplit.ir import Op, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ops import op
from primsplit.rewrites.sums.stages import divisor, parted_and_rest, reduced_in_stages
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to

FEW = 3
"""Products of at most so many rows and columns are added up term by term too."""


@dataclass(frozen=True, slots=True)
class VectorProduct:
    """A product of `vector[..., k]` with `matrix[..., k, c]`, or `matrix[..., c, k]` where `is_last`.

    `step` is the MatMul or Gemm that computes it.
    """

    step: Op
    vector: Array
    matrix: Array
    is_last: bool

    @property
    def terms(self) -> Dim:
        """The number of terms of each sum."""
        sizes = self.vector.shape[-1], self.matrix.shape[-1 if self.is_last else -2]
        return next((size for size in sizes if isinstance(size, int)), sizes[0])

    def plain(self) -> Array:
        """Return the product as one operator, which reads the matrix as it lies in memory."""
        return self._finished(_product(self.vector, self.matrix, is_last=self.is_last))

    def in_parts(self) -> Array:
        """Return the product in parts."""
        length = divisor(self.terms, math.isqrt(self.terms)) if isinstance(self.terms, int) else None
        columns = self.matrix.shape[-2 if self.is_last else -1]
        if length is None and dims.is_one(columns) and self.vector.ndim == 1:
            return self._finished(self._as_sum())
        axis = self.matrix.ndim - (1 if self.is_last else 2)
        if length is not None:
            vector, matrix = _parts(self.vector, -1, length), _parts(self.matrix, axis, length)
            return self._finished(self._of_parts(vector, matrix))
        vector, few = parted_and_rest(self.vector, self.vector.ndim - 1)
        matrix, narrow = parted_and_rest(self.matrix, axis)
        rest = _product(few, narrow, is_last=self.is_last)
        return self._finished(op.Add(self._of_parts(vector, matrix), rest))

    def _as_sum(self) -> Array:
        """Return the product of two vectors, term by term."""
        flat = reshape_to(self.matrix, self.vector.shape)
        if flat is self.vector or self.matrix.value is self.vector.value:
            return reduced_in_stages(self.vector, "ReduceSumSquare", frozenset({0}))
        return reduced_in_stages(op.Mul(self.vector, flat), "ReduceSum", frozenset({0}))

    def _of_parts(self, vector: Array, matrix: Array) -> Array:
        """Return the sum of the products of the parts: the vector's are [..., n, k], the matrix's have n before k."""
        if self.is_last:
            pairs = op.MatMul(op.Unsqueeze(matrix, [-2]), op.Unsqueeze(vector, [-4, -1]))
            return op.ReduceSum(op.Squeeze(pairs, [-1]), [-2], keepdims=0)
        return op.ReduceSum(op.MatMul(op.Unsqueeze(vector, [-2]), matrix), [-3], keepdims=0)

    def _finished(self, product: Array) -> Array:
        """Return the product in the shape of the operator's result, with a Gemm's factors and addend."""
        attributes, result = self.step.attributes, self.step.outputs[0].type
        found = reshape_to(product, result.shape or ())
        if self.step.kind == "MatMul":
            return found
        found = _times(found, attributes.get("alpha", 1.0))
        addend = self.step.inputs[2] if len(self.step.inputs) > 2 else None
        return found if addend is None else op.Add(found, _times(Array(addend), attributes.get("beta", 1.0)))


def vector_product(step: Op, turned: Mapping[Value | None, Value]) -> VectorProduct | None:
    """Return the product with a vector, or a few, that a MatMul or Gemm of float32 is; None for one of larger matrices.

    `turned` maps transposes to their matrices.
    """
    left, right = step.inputs[:2]
    if left is None or right is None or left.type.dtype != np.float32:
        return None
    if left.type.shape is None or right.type.shape is None or step.outputs[0].type.shape is None:
        return None
    first, second = _Operand.of(left, turned), _Operand.of(right, turned)
    if step.attributes.get("transA", 0):
        first = first.transposed()
    if step.attributes.get("transB", 0):
        second = second.transposed()
    if (vector := first.row()) is not None:
        return VectorProduct(step, vector, *second.with_terms_first())
    if (vector := second.transposed().row()) is not None:
        matrix, is_last = first.transposed().with_terms_first()
        return VectorProduct(step, vector, matrix, is_last)
    result = step.outputs[0].type.shape
    if (
        not first.is_turned
        and not second.is_turned
        and len(result) == 2
        and all(isinstance(size, int) and size <= FEW for size in result)
    ):
        return VectorProduct(step, first.array, *second.with_terms_first())
    return None


@dataclass(frozen=True, slots=True)
class _Operand:
    """A factor: an array, of whose last two axes the factor may be the transpose."""

    array: Array
    is_turned: bool = False

    @classmethod
    def of(cls, value: Value, turned: Mapping[Value | None, Value]) -> "_Operand":
        source = turned.get(value)
        return cls(Array(value)) if source is None else cls(Array(source), is_turned=True)

    def transposed(self) -> "_Operand":
        return _Operand(self.array, is_turned=not self.is_turned)

    def row(self) -> Array | None:
        """Return the rows [..., k] if the factor is [..., 1, k]."""
        shape = self.array.shape
        if len(shape) == 1:
            return self.array
        single, terms = (shape[-1], shape[-2]) if self.is_turned else (shape[-2], shape[-1])
        return reshape_to(self.array, (*shape[:-2], terms)) if dims.is_one(single) else None

    def with_terms_first(self) -> tuple[Array, bool]:
        """Return the array of a factor [..., k, c], and whether k is its last axis."""
        if self.array.ndim == 1:
            return op.Unsqueeze(self.array, [-1]), False
        return self.array, self.is_turned


def _product(vector: Array, matrix: Array, *, is_last: bool) -> Array:
    if is_last:
        return op.MatMul(matrix, op.Unsqueeze(vector, [-1]))
    if vector.ndim == matrix.ndim == 2:
        return op.Unsqueeze(op.MatMul(vector, matrix), [-2])
    return op.MatMul(op.Unsqueeze(vector, [-2]), matrix)


def _parts(x: Array, axis: int, length: int) -> Array:
    """Return the array with an axis in parts of this length."""
    axis %= x.ndim
    count = x.shape[axis] // length
    return reshape_to(x, (*x.shape[:axis], count, length, *x.shape[axis + 1 :]))


def _times(x: Array, factor: float) -> Array:
    return x if factor == 1.0 else op.Mul(x, np.asarray(factor, x.dtype))
