"""How much memory this machine has."""

import os

LARGEST = 2**47
"""The bytes that a process can address."""


def memory() -> int:
    """The bytes of memory; where the system does not tell, what can be addressed."""
    try:
        return min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), LARGEST)
    except (AttributeError, ValueError, OSError):
        return LARGEST
