"""A loop over a number that only the run knows is refused, with the lines to write for it; those do what it does."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import NumberAsked

X = np.array([0.3, -0.7, 1.2])


def of_an_argument(x, n):
    y = x
    for i in range(n):
        y = y + 0.1 * np.sin(y) * i
    return np.sum(y)


def of_a_number_that_is_counted(x, n):
    y = x * n
    for _ in range(1, np.count_nonzero(x > 0) + 2):
        y = y * 0.5
    return np.sum(y)


def of_several_names(x, n):
    y, total = x * 1.0, 0.0
    for i in range(2, n):
        half = y * 0.5
        total += np.sum(half)
        y[0] = total * i
    return total + y[0]


def written_as_told(function: Callable[..., Any], told: str) -> Callable[..., Any]:
    """The function with the lines that the error tells, in place of its loop."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("    for "))
    end = next(i for i in range(begin + 1, len(lines)) if not lines[i].startswith("        "))
    given = told.splitlines()[-5:] if "carried" in told else told.splitlines()[-4:]
    place = next(i for i, line in enumerate(given) if "..." in line)
    new = [*given[:place], *lines[begin + 1 : end], *given[place + 1 :]]
    names: dict[str, Any] = {"np": np, "ps": ps}
    exec("\n".join([*lines[:begin], *new, *lines[end:]]), names)
    made: Callable[..., Any] = names[function.__name__]
    return made


@pytest.mark.parametrize("function", [of_an_argument, of_a_number_that_is_counted, of_several_names])
def test_the_lines_that_are_told_do_what_the_loop_does(function: Callable[..., Any]) -> None:
    specs = ps.spec("float64", [3]), ps.spec("int64", [])
    with pytest.raises(NumberAsked) as caught:
        ps.trace(function, *specs)
    assert len(str(caught.value).splitlines()) < 10
    program = ps.trace(written_as_told(function, str(caught.value)), *specs)
    for n in (0, 1, 2, 5):
        for x in (X, -X):
            np.testing.assert_allclose(program(x, np.int64(n)), function(x, n), rtol=1e-13)


def test_a_loop_that_may_end_early_is_a_while_loop() -> None:
    def halved(x, n):
        for _ in range(n):
            x = x * 0.5
            if np.sum(x) < 0.1:
                break
        return x

    with pytest.raises(NumberAsked, match=r"ps\.while_loop, which carries _, x, and tests what ends it"):
        ps.trace(halved, X, np.int64(3))
