"""Loops run as far as every index stays inside of its axis; what does not fit is told by both sources."""

import itertools
from typing import Any

import pytest

from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.sizes import check
from tests.frontends.loops.running import drawn

SIZES = list(range(5))


def inside(index: int, size: int) -> bool:
    return 0 <= index < size


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("t := x[i]*1", lambda i, n, m: inside(i, n)),
        ("t := x[i-1]*x[i+1]", lambda i, n, m: inside(i - 1, n) and inside(i + 1, n)),
        ("t := x[i-2] + y[i]", lambda i, n, m: inside(i - 2, n) and inside(i, m)),
        ("t := x[2*i]", lambda i, n, m: inside(2 * i, n)),
        ("t := x[2*i+1]*y[i]", lambda i, n, m: inside(2 * i + 1, n) and inside(i, m)),
        ("t := x[3*i-2]", lambda i, n, m: inside(3 * i - 2, n)),
        ("t := x[3-i]", lambda i, n, m: inside(3 - i, n)),
        ("t := x[3-2*i]*y[i+1]", lambda i, n, m: inside(3 - 2 * i, n) and inside(i + 1, m)),
        ("t[i] := x[i+1]", lambda i, n, m: inside(i + 1, n) and i >= 0),
        ("t := x[mod(i+3)] + y[i]", lambda i, n, m: inside(i, m)),
        ("t := x[mod(i+3)]", lambda i, n, m: inside(i, n)),
    ],
)
def test_a_loop_runs_over_all_turns_that_stay_inside(text: str, stays: Any) -> None:
    nest = parse_notation(text)
    for n, m in itertools.product(SIZES, SIZES):
        shapes = {"x": (n,), "y": (m,)}
        sizes = check(nest, {name: shapes[name] for name, _ in nest.arguments})
        turns = [i for i in range(-10, 10) if stays(i, n, m)]
        assert list(range(*sizes.ranges["i"])) == turns, (n, m)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(("n", "k"), [(7, 3), (6, 2), (3, 3), (2, 3), (5, 1)])
def test_a_window_slides_as_long_as_it_is_inside(step: int, n: int, k: int) -> None:
    nest = parse_notation(f"y[i] := x[{step}*i + a]*k[a]")
    turns = [i for i in range(20) if step * i + k - 1 < n]
    assert list(range(*check(nest, {"x": (n,), "k": (k,)}).ranges["i"])) == turns
    assert interpret(nest, {"x": drawn(0, n), "k": drawn(1, k)})["y"].shape == (len(turns),)
