"""Work that is done once for each key, by the thread that comes first; the others wait, but never in a circle."""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Holder:
    """The thread that has a key, and what tells the others that it is done."""

    thread: int
    done: threading.Event = field(default_factory=threading.Event)


_guard = threading.Lock()
_waiting: dict[int, _Holder] = {}
"""Which holder each thread that waits is waiting for, whatever the work is."""


class Turns:
    """Keys, each of which one thread has at a time.

    A lock around all the work would be held while that work waits for other work, which another thread may be doing and
    need this for.
    """

    def __init__(self) -> None:
        self.held: dict[Hashable, _Holder] = {}

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """Have the key, once no other thread has it. A thread that would wait for itself goes on without."""
        mine = self._wait_for(key, threading.get_ident())
        try:
            yield
        finally:
            if mine is not None:
                with _guard:
                    del self.held[key]
                mine.done.set()

    def _wait_for(self, key: Hashable, me: int) -> _Holder | None:
        """The thread `me` as the holder of the key; None where waiting would not end."""
        while True:
            with _guard:
                holder = self.held.get(key)
                if holder is None:
                    mine = self.held[key] = _Holder(me)
                    return mine
                if _leads_to(holder, me):
                    return None
                _waiting[me] = holder
            try:
                holder.done.wait()
            finally:
                with _guard:
                    del _waiting[me]


def _leads_to(holder: _Holder, me: int) -> bool:
    """True where the holder is this thread, or waits for one that it has, directly or not."""
    met: _Holder | None = holder
    while met is not None:
        if met.thread == me:
            return True
        met = _waiting.get(met.thread)
    return False
