"""Whether what a fingerprint was made of is provably as it was: a look at each place, without reading it all again.

Every place that was read is kept with the very object that was found there, and of every array a copy. Where each still
holds the same object, and the arrays the same bytes, a new fingerprint would be the same. What only reading tells of is
not kept, nor more than `KEPT` bytes of arrays: then a fingerprint is made at each call.

That an array is read-only tells nothing: it may be written to through a view that was made before, or be read-only for
a while. Comparing all its bytes with a copy takes the time to read them, a hash that no change escapes forty times as
long.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

KEPT = 2**28
"""The bytes of arrays, all together, that are copied and compared for one fingerprint."""

ABSENT = object()
Array = np.ndarray[Any, Any]


@dataclass(slots=True, weakref_slot=True)
class _Copy:
    """The bytes of an array as they were."""

    content: bytearray


_copies: WeakValueDictionary[Any, _Copy] = WeakValueDictionary()
"""By digest and layout: what several functions read is copied once."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """An array, what is told of it, and its bytes."""

    array: Array
    told: tuple[Any, ...]
    copy: _Copy

    def is_same(self) -> bool:
        """True where nothing of the array was changed."""
        return _told(self.array) == self.told and self.copy.content == _bytes(self.array)


def _told(array: Array) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.strides


def _bytes(array: Array) -> memoryview:
    """The bytes of an array in the order of memory, where it lies in one piece."""
    whole = np.asarray(array)
    whole = whole if whole.flags.c_contiguous else np.ascontiguousarray(whole.T)
    return memoryview(whole.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


class Unchanged:
    """The places that were read. `is_provable` is False once one was among them that a look does not settle."""

    __slots__ = ("arrays", "attributes", "contents", "entries", "is_provable", "size")

    def __init__(self, *, is_provable: bool = True) -> None:
        self.is_provable = is_provable
        self.entries: list[tuple[Callable[[Any, Any], Any], Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Callable[[], Iterable[Any]], list[Any]]] = []
        self.arrays: list[_Kept] = []
        self.size = 0

    def __bool__(self) -> bool:
        """True where every place is as it was."""
        for get, key, expected in self.entries:
            if get(key, ABSENT) is not expected:
                return False
        for owner, name, expected in self.attributes:
            if getattr(owner, name, ABSENT) is not expected:
                return False
        for read, expected in self.contents:
            found = [*read()]
            if len(found) != len(expected) or not all(map(is_, found, expected)):
                return False
        return self.is_provable and all(kept.is_same() for kept in self.arrays)

    def give_up(self) -> None:
        """A look does not settle it; nothing is kept any longer."""
        self.is_provable = False
        for kept in (self.entries, self.attributes, self.contents, self.arrays):
            kept.clear()

    def entry(self, mapping: Mapping[Any, Any], key: Any) -> None:
        """What a dictionary holds under a key, or that it holds nothing."""
        if self.is_provable:
            self.entries.append((mapping.get, key, mapping.get(key, ABSENT)))

    def attribute(self, owner: Any, *names: str) -> None:
        """Which objects the attributes of an object are, or that there are none."""
        if self.is_provable:
            self.attributes.extend((owner, n, getattr(owner, n, ABSENT)) for n in names)

    def content(self, *reads: Callable[[], Iterable[Any]]) -> None:
        """Which objects a container gives, in their order."""
        if self.is_provable:
            self.contents.extend((read, [*read()]) for read in reads)

    def array(self, array: Array, digest: bytes) -> None:
        """The elements of an array, none of them an object; its bytes in C order have that digest, and no others."""
        self.size += array.nbytes
        if self.size > KEPT:
            self.give_up()
        elif self.is_provable:
            key = digest, None if array.flags.c_contiguous else array.shape
            copy = _copies.get(key)
            if copy is None:
                copy = _copies[key] = _Copy(bytearray(_bytes(array)))
            self.arrays.append(_Kept(array, _told(array), copy))
