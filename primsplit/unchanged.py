"""Whether what a fingerprint was made of is provably as it was: a look at each place, without reading it all again.

Every place that was read is kept with the very object that was found there. Where each still holds the same object, and
the small arrays among them the same bytes, a new fingerprint would be the same. Large arrays are not kept, nor what
only reading tells of: then a fingerprint is made at each call.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import is_
from typing import Any

import numpy as np

LARGEST = 2**16
"""The bytes of the largest array that is kept and compared."""

ABSENT = object()


class Unchanged:
    """The places that were read. `is_provable` is False once one was among them that a look does not settle."""

    __slots__ = ("arrays", "attributes", "contents", "entries", "is_provable")

    def __init__(self, *, is_provable: bool = True) -> None:
        self.is_provable = is_provable
        self.entries: list[tuple[Callable[[Any, Any], Any], Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Callable[[], Iterable[Any]], list[Any]]] = []
        self.arrays: list[tuple[np.ndarray[Any, Any], np.dtype[Any], tuple[int, ...], bytes]] = []

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
        for array, dtype, shape, content in self.arrays:
            if array.shape != shape or array.dtype is not dtype or array.tobytes() != content:
                return False
        return self.is_provable

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

    def array(self, array: np.ndarray[Any, Any]) -> None:
        """The elements of an array."""
        if array.nbytes > LARGEST or array.dtype.hasobject:
            self.give_up()
        elif self.is_provable:
            self.arrays.append((array, array.dtype, array.shape, array.tobytes()))
