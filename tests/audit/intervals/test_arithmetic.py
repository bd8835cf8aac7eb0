"""Ranges of sums, products, quotients, powers and roots, and their hazards."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.intervals.ranges import Level, Range, interval
from primsplit.ops import op
from tests.audit.intervals.sound import ENDS, assert_inside, assert_program_sound, drawn, hazards_of, walk_of, walked

BINARY = re.findall(r"\w+", "Add Sub Mul Div Pow Max Min Mod Less LessOrEqual Greater GreaterOrEqual Equal")
X = np.linspace(-1, 2, 12).reshape(3, 4)
PROGRAMS: dict[str, Any] = {
    "powers": lambda x: (x + 3.0) ** x + x**3 + np.abs(x) ** 0.5 + (x + 2.0) ** -2,
    "norms": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
}
QUOTIENTS: dict[str, Any] = {
    **{f"power {k}": lambda x, k=k: op.Pow(x, float(k)) for k in (-3, -2, -1, 2, 3)},
    "reciprocal": op.Reciprocal,
    "quotient": lambda x: op.Div(3.0, x),
    "quotient of itself": lambda x: op.Div(x - 1.0, x),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", BINARY)
def test_a_function_of_two_stays_in_its_range(kind: str, dtype: Any) -> None:
    attributes = {"fmod": 1} if kind == "Mod" else {}
    program = ps.trace(lambda x, y: getattr(op, kind)(x, y, **attributes), *[ps.spec(dtype, [400])] * 2)
    block, session, random = program.block, program.session(), np.random.default_rng(0)
    for first in ENDS:
        for second in ENDS:
            x, y = drawn(random, first, 400, dtype), drawn(random, second, 400, dtype)
            given_ranges = [interval(float(a.min()), float(a.max()), dtype, (400,)) for a in (x, y)]
            walk = walked(block, given_ranges)
            assert_inside(session(x, y)[0], walk.range(block.results[0]), f"{kind} of {first}, {second}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_stay_in_their_ranges(name: str, dtype: str) -> None:
    assert_program_sound(PROGRAMS[name], X.astype(dtype), -1.0, 2.0)


@pytest.mark.parametrize(("function", "ends", "hazard", "always"), [
    (lambda x: x / (x - x.min()), (0.0, 1.0), "0 / 0", False),
    (lambda x: 1 / (x * 0), (0.0, 1.0), "division by 0", True),
    (lambda x: np.sqrt(x - 0.5), (0.0, 1.0), "square root of a negative number", False),
    (lambda x: (x - 0.5) ** 0.3, (0.0, 1.0), "power of a negative number", False),
    (lambda x: x**-1.5, (0.0, 1.0), "0 to a negative power", False),
])  # fmt: skip
def test_a_hazard_is_told_and_whether_it_always_happens(
    function: Any, ends: tuple[float, float], hazard: str, always: bool
) -> None:
    _, walk = walk_of(function, ps.spec("float64", [3]), ranges=[ends])
    assert [h.always for h in hazards_of(walk, hazard)] == [always]


@pytest.mark.parametrize(("function", "ends", "hazard"), [
    (np.sqrt, (0.0, 1.0), "square root of a negative number"),
    (lambda x: x**0.3, (0.0, 1.0), "power of a negative number"),
    (lambda x: x**3, (-1.0, 0.0), "power of a negative number"),
    (lambda x: x**-1.5, (1e-9, 1.0), "0 to a negative power"),
    (lambda x: x**0.5, (0.0, 1.0), "0 to a negative power"),
    (np.log, (0.0, 1.0), "logarithm of a negative number"),
    (np.log, (1e-9, 1.0), "logarithm of 0"),
    (np.arcsin, (-1.0, 1.0), "Asin outside of its domain"),
    (np.arccosh, (1.0, 2.0), "Acosh outside of its domain"),
    (lambda x: 1.0 / x, (1e-9, 1.0), "division by 0"),
])  # fmt: skip
def test_the_end_of_a_domain_is_no_hazard(function: Any, ends: tuple[float, float], hazard: str) -> None:
    block, walk = walk_of(function, ps.spec("float64", [3]), ranges=[ends])
    assert hazards_of(walk, hazard) == []
    assert walk.range(block.results[0]).nan == Level.NEVER


def test_a_difference_from_the_maximum_is_not_positive() -> None:
    block, walk = walk_of(lambda x: x - x.max(axis=1, keepdims=True), ps.spec("float64", ["N", 4]), ranges=[(-9, 9)])
    assert walk.range(block.results[0]).ends == (-18.0, 0.0)


def test_a_maximum_that_meets_other_elements_bounds_nothing() -> None:
    block, walk = walk_of(lambda x: x - x.max(axis=1), ps.spec("float64", [4, 4]), ranges=[(-9, 9)])
    assert walk.range(block.results[0]).ends == (-18.0, 18.0)


def test_a_square_is_not_negative_and_a_value_without_itself_is_0() -> None:
    block, walk = walk_of(lambda x: x * x + (x - x), ps.spec("float64", [3]), ranges=[(-2, 3)])
    assert walk.range(block.results[0]).ends == (0.0, 9.0)


@pytest.mark.parametrize("nonzero", [False, True])
@pytest.mark.parametrize("ends", [(-2.0, 0.0), (0.0, 2.0), (-2.0, 1.0), (-2.0, -0.5), (0.5, 2.0)])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_and_powers_by_a_range_that_ends_at_0_hold_those_beside_it(
    name: str, ends: tuple[float, float], nonzero: bool
) -> None:
    program = ps.trace(QUOTIENTS[name], ps.spec("float64", [1000]))
    given = replace(interval(*ends, np.float64, (1000,)), nonzero=nonzero)
    low, high = walked(program.block, [given]).range(program.block.results[0]).ends
    x = np.linspace(*ends, 1002)
    found = program(x[x != 0.0][:1000])
    assert low <= found.min()
    assert found.max() <= high


def test_a_number_without_a_range_is_finite_and_its_products_may_be_too_large() -> None:
    block = ps.trace(lambda x: x * x, ps.spec("float32", [3])).block
    walk = walked(block, [Range(np.asarray(-np.inf), np.asarray(np.inf), np.dtype(np.float32), (3,))])
    found = walk.range(block.results[0])
    assert (found.ends, found.inf, not walk.hazards, len(walk.open)) == ((0.0, np.inf), Level.UNBOUNDED, True, 1)
