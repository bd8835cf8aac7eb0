"""Dictionaries of bounded size, for caches whose keys never end.

Threads may share them, but another thread may remove any entry at any time: read one by `get` or `used`.
"""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Limited(dict[K, V]):
    """A dictionary of at most `most` entries: setting one more forgets all others first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most and key not in self:
            self.clear()
        super().__setitem__(key, value)


class Recent(OrderedDict[K, V]):
    """A dictionary of at most `most` entries: setting one more forgets the least recently used."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def used(self, key: K) -> V | None:
        """Return the entry, and mark it as the most recently used; None if there is none."""
        try:
            self.move_to_end(key)
            return self[key]
        except KeyError:  # also where another thread has just removed it
            return None

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self.most:
            self.popitem(last=False)
