"""Arrays that a function gets to keep: what it writes to them stays inside of it, on plain arrays and in a trace."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps


def shifted(x: Any) -> Any:
    """Write to what is given, and return it."""
    x += 1.0
    return x


guarded, checkpointed, primitive = ps.guarded(shifted), ps.checkpoint(shifted), ps.primitive(shifted)
USES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "cond": (lambda x: ps.cond(x[0] > 0, shifted, lambda x: x, x), 1),
    "a side that returns what it is given": (lambda x: ps.cond(x[0] > 0, lambda x: x, shifted, x), 0),
    "a side that returns what is around it": (lambda x: ps.cond(x[0] > 0, lambda: x, lambda: -x), 0),
    "switch": (lambda x: ps.switch(1, [lambda x: x, shifted], x), 1),
    "a carry of scan": (lambda x: ps.scan(lambda c, _: (shifted(c), None), x, None, 3)[0], 3),
    "an element of scan": (lambda x: ps.scan(lambda c, row: (c, shifted(row)), 0.0, x[None])[1][0], 1),
    "no step of scan": (lambda x: ps.scan(lambda c, _: (shifted(c), None), x, None, 0)[0], 0),
    "map": (lambda x: ps.map(shifted, x[None])[0], 1),
    "fori_loop": (lambda x: ps.fori_loop(0, 3, lambda _, c: shifted(c), x), 3),
    "no step of fori_loop": (lambda x: ps.fori_loop(0, 0, lambda _, c: shifted(c), x), 0),
    "while_loop": (lambda x: ps.while_loop(lambda c: c[0] < 3, shifted, x), 2),
    "no step of while_loop": (lambda x: ps.while_loop(lambda c: c[0] < 0, shifted, x), 0),
    "guarded": (lambda x: guarded(x), 1),
    "checkpoint": (lambda x: checkpointed(x), 1),
    "primitive": (lambda x: primitive(x), 1),
}
X = np.array([1.0, 2.0])


@pytest.mark.parametrize("name", USES)
def test_plain_arrays_are_not_written_to_nor_returned(name: str) -> None:
    use, more = USES[name]
    x = X.copy()
    found = use(x)
    np.testing.assert_array_equal(found, X + more)
    np.testing.assert_array_equal(x, X)
    found += 10.0
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("name", USES)
def test_traced_arrays_are_not_written_to_nor_returned(name: str) -> None:
    use, more = USES[name]

    def program(x: Any) -> Any:
        given = x * 1.0
        found = use(given)
        before = found * 1.0
        found += 10.0
        return before, given

    found, given = ps.trace(program, X)(X)
    np.testing.assert_array_equal(found, X + more)
    np.testing.assert_array_equal(given, X)
