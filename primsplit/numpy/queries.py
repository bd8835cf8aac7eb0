"""Queries of an array's type: shape, rank, dtype. The answers are Python values."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import BFLOAT16
from primsplit.ir.dims import Dim, Shape, product
from primsplit.ir.errors import DtypeError
from primsplit.numpy.axes import array_like, many_axes
from primsplit.numpy.ufuncs import Casting
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import as_array
from primsplit.tracing.handles.views import bases_of


@implements(np.shape)
def shape(a: Any) -> Shape:
    """The sizes; those known only at run time are `Size` expressions."""
    return array_like(a).shape


@implements(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes."""
    return array_like(a).ndim


@implements(np.size)
def size(a: Any, axis: Any = None) -> Dim:
    """The number of elements, in all or along axes."""
    found = array_like(a)
    return product(found.shape[i] for i in many_axes(axis, found.ndim))


@implements(np.iscomplexobj)
def is_complex(x: Any) -> bool:
    """False for real arrays; see `complex.questions`."""
    return False


@implements(np.isrealobj)
def is_real(x: Any) -> bool:
    """Return whether the array is real."""
    return True


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that NumPy's promotion gives; Python numbers are weak."""
    found = [_promotable(v) for v in arrays_and_dtypes]
    if any(d == BFLOAT16 for d in found if isinstance(d, np.dtype)):
        others = [d for d in found if not (isinstance(d, np.dtype) and d == BFLOAT16)]
        if all(isinstance(d, int | float) or (isinstance(d, np.dtype) and d.kind in "biu") for d in others):
            return BFLOAT16
        found = [np.dtype(np.float32), *others]
    try:
        return np.result_type(*found)
    except TypeError as error:
        raise DtypeError(str(error), place=tracing.user_place()) from None


def _promotable(value: Any) -> Any:
    if isinstance(value, Array):
        if value.weak and value.dtype != np.bool_:
            return 0 if value.dtype.kind in "iu" else 0.0
        return value.dtype
    if isinstance(value, str | type | np.dtype | np.ndarray | np.generic | int | float):
        return value
    return as_array(value).dtype


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Casting = "safe") -> bool:
    """Return whether the casting rule allows this cast."""
    source = from_.dtype if isinstance(from_, Array) else from_
    target = to.dtype if isinstance(to, Array) else to
    return bool(np.can_cast(source, target, casting))


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    """The float type that all arrays fit in."""
    return np.common_type(*(np.zeros(0, a.dtype) if isinstance(a, Array) else a for a in arrays))


@implements(np.may_share_memory, np.shares_memory)
def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Return True for an array and its view, or an array that may be one."""
    if not (isinstance(a, Array) and isinstance(b, Array)):
        return False
    return any(x is y for x in (a, *bases_of(a)) for y in (b, *bases_of(b)))
