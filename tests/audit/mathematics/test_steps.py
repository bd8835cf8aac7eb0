"""An index of a step goes to the operands that have the axis of steps."""

import ast

import numpy as np
import pytest

from primsplit.audit.mathematics.simplify import text_of
from primsplit.audit.mathematics.steps import at_step

SHAPES = {"hs": (5, 3), "x": (5,), "w": (3,), "cube": (5, 3, 4), "one": (1, 3), "long": (6, 3)}

ROWS = [
    ("1 - hs**2", "1 - hs[t]**2", (5, 3)),
    ("w * hs", "w * hs[t]", (5, 3)),
    ("x[:, None] * hs", "x[t, None] * hs[t]", (5, 3)),
    ("hs[:, ::-1] > w", "hs[t, ::-1] > w", (5, 3)),
    ("where(hs > 0, hs, w)", "where(hs[t] > 0, hs[t], w)", (5, 3)),
    ("transpose(cube, (0, 2, 1))", "transpose(cube[t], (1, 0))", (5, 4, 3)),
    ("-sin(long[:-1])", "-sin(long[t])", (5, 3)),
    ("take(cube, array([0, 2]), axis=2)", "take(cube[t], array([0, 2]), axis=1)", (5, 3, 2)),
]


@pytest.mark.parametrize(("given", "wanted", "shape"), ROWS)
def test_a_step_reads_its_part_of_the_operands(given: str, wanted: str, shape: tuple[int, ...]) -> None:
    value = ast.parse(given, mode="eval").body
    found = at_step(value, ast.Name("t", ast.Load()), shape, SHAPES.get)
    assert found is not None
    assert text_of(found) == wanted
    random = np.random.default_rng(0)
    space = {n: getattr(np, n) for n in ("where", "transpose", "take", "array", "sin")}
    space |= {n: random.standard_normal(s) for n, s in SHAPES.items()} | {"t": 2}
    np.testing.assert_array_equal(np.broadcast_to(eval(wanted, space), shape[1:]), eval(given, space)[2])


@pytest.mark.parametrize(
    "given", ["one * hs", "hs @ cube", "sum(hs)", "transpose(cube, (1, 0, 2))", "unknown + hs", "hs * long[:-1]"]
)
def test_what_is_not_known_to_be_elementwise_keeps_its_index(given: str) -> None:
    value = ast.parse(given, mode="eval").body
    assert at_step(value, ast.Name("t", ast.Load()), (5, 3), SHAPES.get) is None
