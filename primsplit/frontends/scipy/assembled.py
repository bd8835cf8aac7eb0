"""Sparse matrices of traced elements: arrays with all their zeros, behind the methods that SciPy's matrices have."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import of_at_least, of_length
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.creation import arange, zeros
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import Held, array_like
from primsplit.tracing.broadcasting import expand_to

__all__ = ["Assembled", "assembled", "dense", "holds_known", "is_sparse", "of_diagonals"]


class Assembled(Held):
    """A sparse matrix of traced elements. What is done with it costs what it does for an array of its shape.

    `is_matrix` is True for what `*` multiplies as a matrix: SciPy's older classes, `csr_matrix` and its like.
    """

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, array: Array, *, is_matrix: bool) -> None:
        self.array = array
        self.is_matrix = is_matrix

    def read(self) -> Array:
        """The array, zeros included."""
        return self.array

    @property
    def shape(self) -> Any:
        """As of an array."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of an array."""
        return self.array.dtype

    @property
    def T(self) -> "Assembled":
        """The transpose."""
        return self._made(self.array.T)

    def _made(self, array: Any) -> "Assembled":
        return Assembled(array_like(array), is_matrix=self.is_matrix)

    def transpose(self, axes: Any = None, copy: bool = False) -> "Assembled":
        """The transpose."""
        return self.T

    def toarray(self, order: Any = None, out: Any = None) -> Array:
        """The array, zeros included."""
        return Array(self.array.value)

    todense = toarray

    def tocsr(self, copy: bool = False) -> "Assembled":
        """The matrix itself: no format differs from another."""
        return self

    tocsc = tocoo = tobsr = todia = tolil = todok = tocsr

    def asformat(self, format: Any, copy: bool = False) -> "Assembled":
        """The matrix itself."""
        return self

    def copy(self) -> "Assembled":
        """The matrix itself, which nobody writes to."""
        return self

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> "Assembled":
        """The elements in another dtype."""
        return self._made(self.array.astype(dtype))

    def diagonal(self, k: int = 0) -> Array:
        """The elements of a diagonal."""
        found: Any = np.diagonal(self.array, k)
        return array_like(found)

    def sum(self, axis: Any = None) -> Any:
        """The sum of all elements, or of rows or columns."""
        found = np.sum(self.array, axis=axis)
        return found if axis is None or not self.is_matrix else np.expand_dims(found, axis)

    def dot(self, other: Any) -> Any:
        """The product of matrices."""
        product = np.matmul(self.array, dense(other))
        return self._made(product) if is_sparse(other) else product

    __matmul__ = dot

    def __rmatmul__(self, other: Any) -> Any:
        product = np.matmul(dense(other), self.array)
        return self._made(product) if is_sparse(other) else product

    def multiply(self, other: Any) -> "Assembled":
        """The product element by element."""
        return self._made(self.array * dense(other))

    def __mul__(self, other: Any) -> Any:
        is_product = self.is_matrix and np.ndim(dense(other)) > 0
        return self.dot(other) if is_product else self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        is_product = self.is_matrix and np.ndim(dense(other)) > 0
        return self.__rmatmul__(other) if is_product else self.multiply(other)

    def __truediv__(self, other: Any) -> "Assembled":
        return self._made(self.array / dense(other))

    def __neg__(self) -> "Assembled":
        return self._made(-self.array)

    def __add__(self, other: Any) -> Any:
        total = self.array + dense(other)
        return self._made(total) if is_sparse(other) else total

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __getitem__(self, key: Any) -> Any:
        found = self.array[key]
        return self._made(found) if np.ndim(found) == 2 else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"{name} of a sparse matrix of traced elements")


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse matrix, of SciPy or of traced elements."""
    return isinstance(value, Assembled) or (hasattr(value, "tocsr") and not isinstance(value, Array))


def holds_known(value: Any) -> bool:
    """Whether a value is a SciPy sparse matrix of real numbers."""
    return is_sparse(value) and not isinstance(value, Assembled) and value.dtype.kind in "biuf"


def dense(value: Any) -> Any:
    """The array of a sparse matrix; anything else as an Array."""
    if isinstance(value, Assembled):
        return value.array
    return value.toarray() if is_sparse(value) else array_like(value)


def assembled(form: str, given: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Assembled:
    """Build SciPy's class of this name, such as `csr_matrix`, from traced elements. Raises UnsupportedFunction.

    Elements are told by their rows and columns, where those of one place are added, or by a matrix.
    """
    kind, _, family = form.partition("_")
    pair = given if isinstance(given, tuple) else ()
    if len(pair) == 2 and isinstance(pair[1], tuple | list) and kind in {"coo", "csr", "csc"}:
        data, (rows, columns) = pair
    elif len(pair) == 3 and kind in {"csr", "csc"}:
        data, minor, ends = pair[0], *map(np.asarray, pair[1:])
        major = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        rows, columns = (major, minor) if kind == "csr" else (minor, major)
        least = (len(ends) - 1, int(np.max(minor, initial=-1)) + 1)
        shape = (least if kind == "csr" else least[::-1]) if shape is None else shape
    elif pair:
        raise unsupported(f"scipy.sparse.{form} of traced elements given like that")
    else:
        array = array_like(dense(given))
        return Assembled(array if dtype is None else cast_to(array, dtype), is_matrix=family == "matrix")
    if shape is None:
        shape = tuple(int(np.max(np.asarray(places))) + 1 for places in (rows, columns))
    return Assembled(_summed(data, rows, columns, shape, dtype), is_matrix=family == "matrix")


def _summed(data: Any, rows: Any, columns: Any, shape: Sequence[Any], dtype: Any) -> Array:
    """The array of elements at their places."""
    elements = array_like(data)
    found = zeros(tuple(shape), elements.dtype if dtype is None else dtype)
    places = [_whole(array_like(p)) for p in (rows, columns)]
    places = [of_length(p, elements.shape[0]) if elements.ndim else p for p in places]
    np.add.at(found, tuple(places), elements)
    return found


def _whole(places: Array) -> Array:
    """Places as whole numbers, also those that were computed as floats, which SciPy takes too."""
    return cast_to(places, np.int64) if places.dtype.kind == "f" else places


def of_diagonals(is_matrix: bool) -> Callable[..., Assembled]:
    """`scipy.sparse.diags` of traced diagonals, or `diags_array`."""

    def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None) -> Assembled:
        one = np.ndim(offsets) == 0
        lines = [array_like(d) for d in ([diagonals] if one else diagonals)]
        places = [int(k) for k in ([offsets] if one else offsets)]
        if len(lines) != len(places):
            raise ShapeError(f"{len(lines)} diagonals have {len(places)} offsets", place=tracing.user_place())
        lines = [line.reshape(-1) for line in lines]
        size = lines[0].shape[0] + abs(places[0])
        rows, columns = (size, size) if shape is None else shape
        total: Any = zeros((rows, columns), np.result_type(*lines) if dtype is None else dtype)
        for line, k in zip(lines, places, strict=True):
            total = of_at_least(of_at_least(total, max(-k, 0), 0), max(k, 0), 1)  # else SciPy says: out of bounds
            count = dims.maximum(0, dims.minimum(rows + min(k, 0), columns - max(k, 0)))
            along = arange(count)
            np.add.at(total, (along - min(k, 0), along + max(k, 0)), expand_to(line[:count], (count,)))
        return Assembled(total, is_matrix=is_matrix)

    return diags
