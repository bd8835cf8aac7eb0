"""Open onnxruntime's sessions with threads that stay on the process's own cores, and that are not too many in all.

onnxruntime's default is a pool for each session: one thread for each core of the machine, pinned to it, also where the
process may use two of the cores; 200 sessions on 64 cores have 12,600. A pool that sessions share is no way out for a
library: once `onnxruntime.set_global_thread_pool_sizes` has created it, onnxruntime refuses each session whose options
do not ask for it ("use_per_session_threads must be false"), also those of the user and of other libraries. So sessions
of small arrays have no further threads, and the others share out a number of threads, the first ones taking most.
Where the user has created the shared pool, sessions use it.
"""

import os
import threading
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import onnxruntime

from primsplit.ir.machine import own_cores, wanted_threads

POOLS = 8
"""So many sessions' worth of threads may exist at a time, beside the threads that call them."""
LEAST = 32
"""The number of threads that may exist at a time on a machine with few cores."""
SHARE = 4
"""A session takes at most one of so many parts of the threads that may still be created."""
_ASKED = "use_per_session_threads"


class _Taken:
    """The further threads of each living session, by its options, and whether sessions have to use the shared pool."""

    lock = threading.Lock()
    by_options: ClassVar[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
    shares = False


def open_session(source: str | bytes, options: Any, threads: int | None = None, **named: Any) -> Any:
    """Return a session of onnxruntime on the CPU with so many threads, None for the process's number.

    Raises what onnxruntime raises.
    """
    options.intra_op_num_threads = threads or _own_share(options)
    if _Taken.shares:
        options.use_per_session_threads = False
    try:
        return _opened(source, options, named)
    except Exception as error:  # onnxruntime raises classes that share no ancestor of its own
        if _ASKED not in str(error):
            raise
    options.use_per_session_threads, _Taken.shares = False, True
    return _opened(source, options, named)


def _opened(source: str | bytes, options: Any, named: dict[str, Any]) -> Any:
    """Return the session. Without a fallback, onnxruntime prints nothing where it fails."""
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"], enable_fallback=0, **named)


def _own_share(options: Any) -> int:
    """Return the number of threads for a new session with these options, which live as long as the session does.

    It is never 0, with which onnxruntime would pin the threads to cores.
    """
    count = wanted_threads() or own_cores() or os.cpu_count() or 1
    with _Taken.lock:
        left = max(LEAST, POOLS * (count - 1)) - sum(_Taken.by_options.values())
        further = _Taken.by_options[options] = max(0, min(count - 1, left // SHARE))
    return 1 + further
