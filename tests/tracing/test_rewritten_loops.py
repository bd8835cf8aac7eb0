"""A loop over a number that only the run knows is shown as the `ps.fori_loop` that replaces it."""

from collections.abc import Callable
from typing import Any

import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError

Function = Callable[[Any, Any], Any]


def powers(x: Any, n: Any) -> Any:
    y = x * 1.0
    for _ in range(n):
        y = y * x
    return y


def two_names(x: Any, n: Any) -> Any:
    total, last = x * 0.0, x * 1.0
    for i in range(2, n + 1):
        last = last * i
        total = total + last
    return total


def elements(x: Any, n: Any) -> Any:
    y = x.copy()
    for i in range(n):
        y[i] = 0.0
    return y


def with_an_end(x: Any, n: Any) -> Any:
    y = x * 1.0
    for i in range(n):
        if i > 3:
            break
        y = y * x
    return y


def by_twos(x: Any, n: Any) -> Any:
    y = x * 1.0
    for _ in range(0, n, 2):
        y = y * x
    return y


def of_nothing(x: Any, n: Any) -> Any:
    for i in range(n):
        seen = i  # noqa: F841
    return x


def cure(function: Function) -> str:
    """The text of the error, without its indents."""
    with pytest.raises(ConcretizationError) as caught:
        ps.trace(function, ps.spec("float64", [3]), ps.spec("int64", []), branches="error")
    return "\n".join(line.strip() for line in str(caught.value).splitlines())


SHOWN = {
    powers: ["def step(_, y):", "...  # the lines of the loop", "return y", "y = ps.fori_loop(0, n, step, y)"],
    two_names: [
        "def step(i, carried):", "last, total = carried", "...  # the lines of the loop", "return last, total",
        "last, total = ps.fori_loop(2, n + 1, step, (last, total))",
    ],
    elements: ["def step(i, y):", "return y", "y = ps.fori_loop(0, n, step, y)"],
    with_an_end: ["ps.while_loop, which carries i, y, and tests what ends it"],
}  # fmt: skip


@pytest.mark.parametrize("function", SHOWN)
def test_the_lines_that_replace_a_loop_are_shown(function: Function) -> None:
    told = cure(function)
    for line in SHOWN[function]:
        assert line in told


@pytest.mark.parametrize("function", [by_twos, of_nothing])
def test_other_loops_are_not_rewritten(function: Function) -> None:
    assert "step(" not in cure(function)


def test_the_lines_that_are_shown_compute_what_the_loop_does() -> None:
    def rewritten(x: Any, n: Any) -> Any:
        def step(i: Any, carried: Any) -> Any:
            last, total = carried
            last = last * i
            total = total + last
            return last, total

        _, total = ps.fori_loop(2, n + 1, step, (x * 1.0, x * 0.0))
        return total

    assert ps.trace(rewritten, 1.5, 4)(1.5, 4) == two_names(1.5, 4) == 1.5 * (2 + 6 + 24)
