"""Check cheaply that a fingerprint still holds: compare each place that it read, without computing it again.

Each place is stored with the very object that was there, and each array with a copy of its bytes. If every place still
holds the same object, and the arrays hold the same bytes, a new fingerprint would be equal. Where that cannot be
proven, and for more than `KEPT` bytes of arrays, nothing is stored, and each call computes a fingerprint.

A read-only flag proves nothing: the array may be written through an older view, or be read-only for a while only.
Comparing all bytes with a copy takes as long as reading them; a hash that misses no change takes forty times as long.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

KEPT = 2**28
"""The most bytes of arrays that are copied and compared for one fingerprint."""

ABSENT = object()
Array = np.ndarray[Any, Any]


@dataclass(slots=True, weakref_slot=True)
class _Copy:
    """A copy of an array's bytes."""

    content: bytearray


_copies: WeakValueDictionary[Any, _Copy] = WeakValueDictionary()
"""By digest and layout: an array that several functions read is copied once."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """An array whose elements may change, and its dtype and layout as they were."""

    array: Array
    told: tuple[Any, ...]

    def is_same(self) -> bool:
        """Whether the array is laid out as before."""
        return _layout(self.array) == self.told


def _layout(array: Array) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.strides


@dataclass(frozen=True, slots=True)
class _Kept:
    """An array, its dtype and layout as they were, and the copy of its bytes."""

    array: Array
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    copy: _Copy
    is_short: bool

    def is_same(self) -> bool:
        """Whether nothing of the array has changed."""
        array = self.array
        if array.dtype != self.dtype or array.shape != self.shape or array.strides != self.strides:
            return False
        # A short array is copied sooner than a view of its bytes is made.
        content: object = np.ndarray.tobytes(array) if self.is_short else _bytes(array)
        return self.copy.content == content


SHORT = 2**12


def _bytes(array: Array) -> memoryview:
    """Return the bytes of an array in the order of memory, if it is contiguous."""
    whole = np.asarray(array)
    whole = whole if whole.flags.c_contiguous else np.ascontiguousarray(whole.T)
    return memoryview(whole.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


class Unchanged:
    """The places that were read. `is_provable` is False once a place cannot be checked by a look at it."""

    __slots__ = ("arrays", "attributes", "contents", "entries", "is_provable", "size")

    def __init__(self, *, is_provable: bool = True) -> None:
        self.is_provable = is_provable
        self.entries: list[tuple[Callable[[Any, Any], Any], Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Callable[[], Iterable[Any]], list[Any]]] = []
        self.arrays: list[_Kept | _Layout] = []
        self.size = 0

    def __bool__(self) -> bool:
        """Whether every place still holds the object that it held when it was noted."""
        for get, key, expected in self.entries:
            if get(key, ABSENT) is not expected:
                return False
        try:
            for owner, name, expected in self.attributes:
                if getattr(owner, name, ABSENT) is not expected:
                    return False
        except ValueError:  # a cell of a closure is empty now
            return False
        for read, expected in self.contents:
            current = [*read()]
            if len(current) != len(expected) or (current and not all(map(is_, current, expected))):
                return False
        for kept in self.arrays:
            if not kept.is_same():
                return False
        return self.is_provable

    def give_up(self) -> None:
        """Store nothing any longer: some place cannot be checked by a look at it."""
        self.is_provable = False
        for kept in (self.entries, self.attributes, self.contents, self.arrays):
            kept.clear()

    def entry(self, mapping: Mapping[Any, Any], key: Any) -> None:
        """Watch what a dictionary holds under a key, or that it lacks the key."""
        if self.is_provable:
            self.entries.append((mapping.get, key, mapping.get(key, ABSENT)))

    def attribute(self, owner: Any, *names: str) -> None:
        """Watch which objects the attributes of an object are, or that it lacks them."""
        if self.is_provable:
            self.attributes.extend((owner, n, getattr(owner, n, ABSENT)) for n in names)

    def content(self, *reads: Callable[[], Iterable[Any]]) -> None:
        """Watch which objects a container yields, in order."""
        if self.is_provable:
            self.contents.extend((read, [*read()]) for read in reads)

    def layout(self, array: Array) -> tuple[Any, ...]:
        """Watch the dtype and layout of an array, and not its elements; return them."""
        if self.is_provable:
            self.arrays.append(_Layout(array, _layout(array)))
        return _layout(array)

    def array(self, array: Array, digest: bytes) -> None:
        """Watch the elements of an array of numbers; `digest` identifies its bytes in C order."""
        self.size += array.nbytes
        if self.size > KEPT:
            self.give_up()
        elif self.is_provable:
            key = digest, None if array.flags.c_contiguous else array.shape
            copy = _copies.get(key)
            if copy is None:
                copy = _copies[key] = _Copy(bytearray(_bytes(array)))
            is_short = array.flags.c_contiguous and array.nbytes <= SHORT
            self.arrays.append(_Kept(array, array.dtype, array.shape, array.strides, copy, is_short))
