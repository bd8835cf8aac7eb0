"""Work done in several threads at once."""

import threading
from collections.abc import Callable


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Call `work` with 0 to `count` - 1, each in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
