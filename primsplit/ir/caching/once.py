"""Do work once for each key: the first thread does it and the others wait, but never in a circle."""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Holder:
    """The thread that works on a key, and the event that ends the others' wait."""

    thread: int
    done: threading.Event = field(default_factory=threading.Event)


_guard = threading.Lock()
_waiting: dict[int, _Holder] = {}
"""For each waiting thread, the holder that it waits for, whatever the work is."""


class Turns:
    """Keys that one thread holds at a time.

    A single lock around all the work could deadlock: the work may wait for work of another thread, which needs the
    lock.
    """

    def __init__(self) -> None:
        self.held: dict[Hashable, _Holder] = {}

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """Hold the key, once no other thread holds it. A thread that would wait for itself proceeds without it."""
        mine = self._wait_for(key, threading.get_ident())
        try:
            yield
        finally:
            if mine is not None:
                with _guard:
                    del self.held[key]
                mine.done.set()

    def _wait_for(self, key: Hashable, me: int) -> _Holder | None:
        """Return thread `me` as the new holder of the key; None if it would wait for itself."""
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
    """Whether the holder is this thread, or waits for a key that this thread holds, directly or through others."""
    current: _Holder | None = holder
    while current is not None:
        if current.thread == me:
            return True
        current = _waiting.get(current.thread)
    return False
