"""Dictionaries of limited length, for what is remembered under keys that may come without end."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Limited(dict[K, V]):
    """Holds at most `most` entries: where one more would be set, all others are forgotten first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most and key not in self:
            self.clear()
        super().__setitem__(key, value)


class Recent(OrderedDict[K, V]):
    """Holds at most `most` entries: where one more is set, the one that was used longest ago is forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def used(self, key: K) -> V | None:
        """The entry, which is the one used last from now on; None where there is none."""
        if key not in self:
            return None
        self.move_to_end(key)
        return self[key]

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self.most:
            self.popitem(last=False)
