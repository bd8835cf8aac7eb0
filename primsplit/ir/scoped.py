"""Values that a thread has inside of a `with` block, restored also where an error is thrown into the block's ends.

    depth = Scoped(int)
    with depth.set_to(1):       # depth.value is 1 in this thread
        ...
                                # depth.value is 0

Python may raise KeyboardInterrupt just as a block begins or ends. A generator of `contextlib` is then closed late: when
the error is forgotten, perhaps by another thread, in another block. So these blocks are no generators, and blocks of
all variables are on one stack: the end of a block ends those inside of it that were left open, and no others.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Scoped(threading.local, Generic[T]):
    """A value of this thread, at first what `initial` returns."""

    def __init__(self, initial: Callable[[], T]) -> None:
        self.value: T = initial()

    def set_to(self, value: T) -> AbstractContextManager[T]:
        """Return a context in which this is the value, for one `with` statement, which gives the value."""
        return _Block(self, value)


class _Block(AbstractContextManager[T]):
    """A block of a thread: the variable that it sets, what this was before, and the block around it."""

    __slots__ = ("around", "before", "value", "variable")

    def __init__(self, variable: Scoped[Any], value: T) -> None:
        self.variable, self.value = variable, value
        self.before: Any = None
        self.around: _Block[Any] | None = None

    def __enter__(self) -> T:
        self.before, self.around = self.variable.value, _thread.innermost
        self.variable.value, _thread.innermost = self.value, self  # nothing is thrown in between
        return self.value

    def __exit__(self, *_: object) -> None:
        block = _thread.innermost
        while block is not None and block is not self:
            block = block.around
        while block is not None and (last := _thread.innermost) is not None:
            last.variable.value, _thread.innermost = last.before, last.around
            if last is self:
                return


class _Thread(threading.local):
    innermost: _Block[Any] | None = None


_thread = _Thread()
