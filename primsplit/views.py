"""What a traced array that is a view remembers of its base."""

from collections.abc import Callable
from typing import Any


class View:
    """What a view was taken from, how to read it anew, and how to write through it.

    `write` is None where NumPy might have made a copy instead, which only the memory layout tells.
    """

    __slots__ = ("base", "read", "seen", "write")

    def __init__(
        self,
        base: Any,
        read: Callable[[Any], Any],
        write: Callable[[Any, Any], Any] | None,
    ) -> None:
        self.base = base
        self.read = read
        self.write = write
        self.seen = base.version
