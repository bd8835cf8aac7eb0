"""Choose which cases of a sweep run by default: `@pytest.mark.sweep(4)` leaves three of four to the slow tests."""

import zlib
from collections.abc import Sequence


def chance(name: str) -> int:
    """Return a number that depends on the test's name alone."""
    return zlib.crc32(name.encode())


def kept(names: Sequence[str], count: int) -> set[str]:
    """Return one name of each `count` that follow one another: neighbours in a table of cases are alike."""
    return {min(names[first : first + count], key=chance) for first in range(0, len(names), count)}


def tenths(names: Sequence[str]) -> dict[str, int]:
    """Return the tenth, 0 to 9, of each case: those of one function go in turn to all tenths, from one by its name."""
    found: dict[str, int] = {}
    last: dict[str, int] = {}
    for name in names:
        function = name.partition("[")[0]
        found[name] = last[function] = (last.get(function, chance(function)) + 1) % 10
    return found
