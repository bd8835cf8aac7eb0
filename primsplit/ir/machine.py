"""Tell how much memory this machine has, and how many cores and threads this process may use."""

import os
from typing import Any

from primsplit.ir.errors import SpecError

LARGEST = 2**47
"""The bytes that a process can address."""
VARIABLE = "PRIMSPLIT_THREADS"
_CORE = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def memory() -> int:
    """Return the bytes of memory; if the system does not say, the bytes that a process can address."""
    try:
        return min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), LARGEST)
    except (AttributeError, ValueError, OSError):
        return LARGEST


def own_cores() -> int | None:
    """Return the number of cores that this process may use; None if the system does not say.

    They are those of its affinity mask (`taskset`, a container's cpuset); two processors of one core count once.
    """
    try:
        allowed = os.sched_getaffinity(0)
    except (AttributeError, OSError):
        return None
    return len({_core_of(processor) for processor in allowed})


def _core_of(processor: int) -> str:
    """Return a text that is the same for processors of one core."""
    try:
        with open(_CORE.format(processor), encoding="ascii") as file:
            return file.read()
    except OSError:
        return f"processor {processor}"


def check_threads(threads: Any) -> int | None:
    """Return a number of threads that a user gives, None for the process's. Raises SpecError for anything else."""
    if threads is None or (isinstance(threads, int) and not isinstance(threads, bool) and threads > 0):
        return threads
    raise SpecError(f"threads is a whole number of at least 1, or None for those of the process, not {threads!r}")


def wanted_threads() -> int | None:
    """Return the number of threads that PRIMSPLIT_THREADS says; None if it is not set. Raises SpecError."""
    told = os.environ.get(VARIABLE, "").strip()
    if not told:
        return None
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    raise SpecError(f"{VARIABLE} is a whole number of at least 1, not {told!r}")
