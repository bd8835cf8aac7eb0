"""Keep between calls what a function read, the programs of its calls, and how often they were found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from primsplit.ir.caching.limited import Limited
from primsplit.ir.caching.unchanged import Unchanged


@dataclass
class Statistics:
    """The number of calls that found their program, and of calls that had to record it."""

    hits: int = 0
    misses: int = 0


@dataclass(slots=True)
class Known:
    """The function's reads, as long as they are `unchanged`, and the programs of calls, by their looks."""

    read: Any
    unchanged: Unchanged
    rules: int
    programs: Limited[Any, Callable[[Sequence[Any]], Any]]
