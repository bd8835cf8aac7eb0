"""Queries of complex arrays: their parts, absolute value and angle, which elements are not 0, shapes and dtypes."""

import math
from typing import Any

import numpy as np

from primsplit.numpy.axes import one_axis
from primsplit.numpy.complex import functions
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.operands import as_complex, operand, pair_of, part_dtype
from primsplit.numpy.units import same
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.complex_array import ComplexArray

AS_THEY_ARE: tuple[Any, ...] = (
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.can_cast,
    np.may_share_memory,
    np.shares_memory,
)
"""Functions that only ask for a shape or a dtype."""

for _asked in AS_THEY_ARE:
    offers(_asked)(FUNCTIONS[_asked])


@offers(np.real)
def real(val: Any) -> Array:
    """The real part, a view."""
    return operand(val).real


@offers(np.imag)
def imag(val: Any) -> Array:
    """The imaginary part, a view."""
    return operand(val).imag


@offers(np.angle)
def angle(z: Any, deg: bool = False) -> Array:
    """The angle in radians, or degrees, whose gradient at 0 is 0."""
    found = as_complex(z)
    turned = functions.angle(pair_of(found, part_dtype(found.dtype)))
    return op.Mul(turned, 180.0 / math.pi) if deg else turned


@offers(np.conjugate)
def conjugate(z: ComplexArray) -> ComplexArray:
    """The method `conj`."""
    found = ComplexArray(same(z.real), op.Neg(z.imag))
    found.scalar = z.scalar
    return found


@offers(np.iscomplexobj)
def is_complex(x: Any) -> bool:
    """Return whether the array is complex."""
    return operand(x).dtype.kind == "c"


@offers(np.isrealobj)
def is_real(x: Any) -> bool:
    """False for a complex array."""
    return operand(x).dtype.kind != "c"


@offers(np.iscomplex)
def has_imaginary_part(x: Any) -> Array:
    """Return where the imaginary part is not 0."""
    return op.Not(op.Equal(as_complex(x).imag, 0.0))


@offers(np.isreal)
def has_no_imaginary_part(x: Any) -> Array:
    """Return where the imaginary part is 0."""
    return op.Equal(as_complex(x).imag, 0.0)


def _of_truth(key: Any) -> None:
    """Register a function that asks of elements whether they are 0."""
    of_booleans = FUNCTIONS[key]

    @offers(key)
    def asked(a: Any, *args: Any, **options: Any) -> Any:
        return of_booleans(as_complex(a) != 0, *args, **options)


for _truth in (np.any, np.all, np.count_nonzero, np.nonzero, np.flatnonzero, np.argwhere):
    _of_truth(_truth)


def _of_shape(key: Any) -> None:
    """Register a function that asks for the shape of an array alone."""
    of_real = FUNCTIONS[key]

    @offers(key)
    def asked(a: Any, *args: Any, **options: Any) -> Any:
        return of_real(as_complex(a).real, *args, **options)


for _shaped in (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from):
    _of_shape(_shaped)


SPECTRAL: dict[Any, float] = {2: np.inf, -2: -np.inf, "nuc": 1}
"""The norm of its singular values that a norm of a matrix is."""


def _of_size(key: Any) -> None:
    """Register a norm, which reads the sizes of the elements alone, unless it asks for singular values."""
    of_sizes = FUNCTIONS[key]

    @offers(key)
    def norm(x: Any, /, *args: Any, **options: Any) -> Any:
        z = as_complex(x)
        given = dict(zip(("ord", "axis", "keepdims"), args, strict=False)) | options
        axes = (-2, -1) if given.get("axis") is None else given["axis"]
        count = np.ndim(x) if given.get("axis") is None else len(axes) if isinstance(axes, tuple | list) else 1
        is_of_matrix = key is np.linalg.matrix_norm or (key is np.linalg.norm and count == 2)
        if is_of_matrix and given.get("ord") in SPECTRAL:
            return _spectral(z, axes, SPECTRAL[given["ord"]], keepdims=given.get("keepdims", False))
        return of_sizes(np.abs(z), *args, **options)


def _spectral(z: ComplexArray, axes: tuple[int, int], order: float, *, keepdims: Any) -> Any:
    matrices: Any = z
    values = np.linalg.svdvals(np.moveaxis(matrices, axes, (-2, -1)))
    found = np.linalg.vector_norm(values, axis=-1, ord=order)
    return np.expand_dims(found, tuple(sorted(one_axis(a, z.ndim) for a in axes))) if keepdims else found


for _norm in (np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm):
    _of_size(_norm)


_var, _std = FUNCTIONS[np.var], FUNCTIONS[np.std]


@offers(np.var)
def var(a: Any, *args: Any, **options: Any) -> Any:
    """The mean square of the distances from the mean: the sum of the variances of the parts."""
    found = as_complex(a)
    return _var(found.real, *args, **options) + _var(found.imag, *args, **options)


@offers(np.std)
def std(a: Any, *args: Any, **options: Any) -> Any:
    """The root of the variance, whose gradient is 0 where all numbers are equal."""
    found = as_complex(a)
    return np.hypot(_std(found.real, *args, **options), _std(found.imag, *args, **options))
