"""Refuse two threads that use the buffers of one prepared program at once."""

import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import RunError

Mark = tuple[int]
"""Created by one event in the thread of this number. Marks are compared by identity, so that each event has its own."""
CURE = "Give each thread a copy, which has buffers of its own: copy.copy(prepared)."


class SingleUse:
    """A run, inside `with`; a second one that begins before the first has ended raises RunError.

    It is not a lock to wait for: the second thread would overwrite the arrays in which the first one got its results.
    """

    def __init__(self) -> None:
        self._running: dict[str, Mark] = {}

    def __enter__(self) -> None:
        mine = (threading.get_ident(),)
        # One step of the interpreter, which no other thread comes between.
        if self._running.setdefault("run", mine) is not mine:
            raise self.refusal("is called while another call of it runs")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        del self._running["run"]

    def refuse_while_running(self) -> None:
        """Raise RunError if another thread is inside of a run."""
        running = self._running.get("run")
        if running is not None and running[0] != threading.get_ident():
            raise self.refusal("is used while a call of it runs in another thread")

    @staticmethod
    def refusal(done: str) -> RunError:
        """Return the error for a prepared program that two threads use at once."""
        return RunError(f"one prepared program {done}: both share its buffers", place=tracing.user_place(), cure=CURE)


class Trail:
    """Which thread wrote to shared buffers last, and which threads wrote before and have not used what they wrote."""

    def __init__(self) -> None:
        self._last: Mark = (threading.get_ident(),)
        self._mine = threading.local()

    def overwrite(self) -> None:
        """Note that this thread writes, and uses what it wrote at once."""
        self._last = (threading.get_ident(),)

    def write(self) -> None:
        """Note that this thread writes, and will use what it wrote later."""
        self._last = self._mine.mark = (threading.get_ident(),)

    def is_overwritten(self) -> bool:
        """Return True, once, if another thread that still runs has written since this one did."""
        mine: Mark | None = getattr(self._mine, "mark", None)
        if mine is None:
            return False
        self._mine.mark = None
        last = self._last
        return mine is not last and last[0] != threading.get_ident() and _is_alive(last[0])


def _is_alive(number: int) -> bool:
    return any(thread.ident == number for thread in threading.enumerate())


def references(arrays: Iterable[Any]) -> list[int]:
    """Return the number of references to each array; also by its views, which refer to it as their base.

    A prepared program overwrites the results of its last call. The count alone tells whether another thread still
    refers to them, or to a view of them: then new arrays are allocated.
    """
    return [sys.getrefcount(array) for array in arrays]
