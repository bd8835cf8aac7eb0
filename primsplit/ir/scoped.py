"""Values that a thread has inside of a `with` block, restored also where an error is thrown into the block's ends.

    depth = Scoped(int)
    with depth.set_to(1):       # depth.value is 1 in this thread
        ...
                                # depth.value is 0

Python may raise KeyboardInterrupt just as a block begins or ends. A generator of `contextlib` is then closed late: when
the error is forgotten, perhaps by another thread, in another block. So these blocks are no generators, and blocks of
all variables are on one stack: the end of a block ends those inside of it that were left open, and no others.
"""

import functools
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
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


def as_block(generator: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """Return what `contextlib.contextmanager` returns, for blocks that run the user's function.

    That one assigns to `__traceback__` of an error that passes, which a frozen dataclass refuses.
    """

    @functools.wraps(generator)
    def opened(*args: P.args, **named: P.kwargs) -> AbstractContextManager[T]:
        return _OfGenerator(generator(*args, **named))

    return opened


class _OfGenerator(AbstractContextManager[T]):
    """A block that runs a generator up to its `yield`, and the rest at its end."""

    def __init__(self, generator: Iterator[T]) -> None:
        self.generator = cast("Generator[T, None, None]", generator)

    def __enter__(self) -> T:
        return next(self.generator)

    def __exit__(self, _: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None:
            next(self.generator, None)
            return False
        try:
            self.generator.throw(error)
        except StopIteration as ended:
            return ended is not error
        except BaseException as raised:
            if raised is not error and not (isinstance(error, StopIteration) and raised.__cause__ is error):
                raise
        error.with_traceback(trace)
        return False
