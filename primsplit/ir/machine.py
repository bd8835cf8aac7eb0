"""Tell how much memory this machine has."""

import os

LARGEST = 2**47
"""The bytes that a process can address."""


def memory() -> int:
    """Return the bytes of memory; if the system does not say, the bytes that a process can address."""
    try:
        return min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), LARGEST)
    except (AttributeError, ValueError, OSError):
        return LARGEST
