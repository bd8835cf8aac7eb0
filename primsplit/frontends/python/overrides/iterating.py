"""Replaces np.nditer and np.broadcast of traced arrays by iterators over single elements, which can be written to."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.overrides.plain_arrays import not_made
from primsplit.frontends.python.overrides.table import register, when_traced
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.numpy.axes import array_like
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.handles.concretization import literal_size

_FLAGS = {"multi_index", "c_index", "refs_ok", "zerosize_ok", "buffered"}


class ElementIterator:
    """The `np.nditer` of one traced array, or of several that broadcast, row by row.

    Raises UnsupportedFunction for chunks, other axes, and results that it would create; NumberAsked for symbolic sizes.
    """

    def __init__(self, op: Any, flags: Sequence[str] = (), op_flags: Any = None, *rest: Any, **options: Any) -> None:
        operands = list(op) if isinstance(op, list | tuple) else [op]
        if rest or options.keys() - {"order"} or {*flags} - _FLAGS or any(g is None for g in operands):
            raise UnsupportedFunction(
                "np.nditer of traced arrays gives single elements of arrays that are there, in their own dtypes",
                place=tracing.user_place(),
                cure="Leave the other options away, and write to an array made by np.zeros.",
            )
        for array, each in zip(operands, _flags_of_each(op_flags, len(operands)), strict=True):
            if type(array) is np.ndarray and not {"readwrite", "writeonly"}.isdisjoint(each):
                raise not_made(array)
        arrays = [array_like(g) for g in operands]
        self.operands = tuple(self._broadcast(arrays))
        self.shape = tuple(literal_size(d, "np.nditer") for d in self.operands[0].shape)
        self.ndim, self.itersize = len(self.shape), int(np.prod(self.shape))
        self.reset()

    @staticmethod
    def _broadcast(arrays: Sequence[Array]) -> list[Array]:
        """Return the arrays in one shape; those that have it stay the same objects, so that writes reach them."""
        return [a if a.shape == s.shape else s for a, s in zip(arrays, _in_one_shape(arrays), strict=True)]

    def reset(self) -> None:
        """Go to the first element."""
        self.iterindex = 0

    @property
    def finished(self) -> bool:
        """Whether all elements were visited."""
        return self.iterindex >= self.itersize

    @property
    def index(self) -> int:
        """The number of the element, counted row by row."""
        return self.iterindex

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the element."""
        return tuple(map(int, np.unravel_index(self.iterindex, self.shape)))

    @property
    def value(self) -> Any:
        """The element; a tuple for several arrays."""
        elements = tuple(a[(*self.multi_index, ...)] for a in self.operands)
        return elements[0] if len(elements) == 1 else elements

    def iternext(self) -> bool:
        """Go to the next element; return False if there is none."""
        self.iterindex += 1
        return not self.finished

    def __getitem__(self, operand: int) -> Any:
        return self.operands[operand][(*self.multi_index, ...)]

    def __setitem__(self, operand: int, new: Any) -> None:
        self.operands[operand][self.multi_index] = new

    def __len__(self) -> int:
        return self.itersize

    def __iter__(self) -> Iterator[Any]:
        while not self.finished:
            yield self.value
            self.iterindex += 1

    def __enter__(self) -> "ElementIterator":
        return self

    def __exit__(self, *error: Any) -> None:
        self.iterindex = self.itersize


def _flags_of_each(flags: Any, count: int) -> Sequence[Sequence[str]]:
    """Return the flags of each operand; a flat list of flags is for all."""
    if not flags:
        return [()] * count
    return [flags] * count if isinstance(flags[0], str) else list(flags)


class BroadcastElements:
    """The `np.broadcast` of arrays: their common shape, and their elements as tuples."""

    def __init__(self, *given: Any) -> None:
        self.operands = _in_one_shape([array_like(g) for g in given])
        self.shape = self.operands[0].shape
        self.size = self.operands[0].size
        self.nd = self.ndim = len(self.shape)
        self.numiter = len(given)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for place in np.ndindex(*(literal_size(d, "np.broadcast") for d in self.shape)):
            yield tuple(array[place] for array in self.operands)


def _in_one_shape(arrays: Sequence[Array]) -> list[Array]:
    try:
        return list(FUNCTIONS[np.broadcast_arrays](*arrays))
    except ValueError as error:
        raise ShapeError(str(error), place=tracing.user_place()) from None


register(np.nditer, when_traced(np.nditer, ElementIterator))
register(np.broadcast, when_traced(np.broadcast, BroadcastElements))
