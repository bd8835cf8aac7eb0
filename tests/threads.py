"""Work done in several threads at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Call `work` with 0 to `count` - 1, each in a thread of its own, and wait for all; raise the first error."""
    ready = Barrier(count)

    def start(i: int) -> None:
        ready.wait()
        work(i)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(start, i) for i in range(count)]:
            done.result()
