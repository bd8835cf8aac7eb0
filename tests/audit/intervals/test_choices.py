"""Ranges of comparisons and choices."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.intervals.ranges import interval
from primsplit.ops import op
from tests.audit.intervals.sound import assert_program_sound, walk_of, walked

X = np.linspace(-1, 2, 12).reshape(3, 4)
PROGRAMS: dict[str, Any] = {
    "choices": lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), -1.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_stay_in_their_ranges(name: str, dtype: str) -> None:
    assert_program_sound(PROGRAMS[name], X.astype(dtype), -1.0, 2.0)


def test_a_comparison_is_known_where_ranges_do_not_meet() -> None:
    specs = [ps.spec("float64", [3])] * 2
    for ends, known in (((2, 3), (1.0, 1.0)), ((-1, 0), (0.0, 0.0)), ((0, 2), (0.0, 1.0))):
        block, walk = walk_of(lambda x, y: x > y, *specs, ranges=[ends, (0.5, 1)])
        assert walk.range(block.results[0]).ends == known


def test_what_a_condition_excludes_is_not_in_the_range() -> None:
    block, walk = walk_of(lambda x: np.log(np.where(x > 0.5, x, 1.0)), ps.spec("float64", [3]), ranges=[(-2, 2)])
    assert walk.range(block.results[0]).ends == pytest.approx((np.log(0.5), np.log(2.0)))
    assert not walk.hazards


def test_a_divisor_that_is_exchanged_where_it_is_0_makes_no_0_by_0() -> None:
    _, walk = walk_of(lambda x: x / np.where(x == 0, 1.0, x), ps.spec("float64", [3]), ranges=[(-1, 1)])
    assert not walk.hazards


ENDS = [(low, high) for low in range(3) for high in range(low, 3)]


@pytest.mark.parametrize("kind", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
def test_a_comparison_of_ranges_that_touch_is_known_if_all_their_numbers_agree(kind: str) -> None:
    block = ps.trace(lambda x, y: getattr(op, kind)(x, y), *[ps.spec("float64", [3])] * 2).block
    compare = {"Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater}
    function = compare.get(kind, np.equal if kind == "Equal" else np.greater_equal)
    for one in ENDS:
        for other in ENDS:
            walk = walked(block, [interval(*map(float, ends), np.float64, (3,)) for ends in (one, other)])
            low, high = walk.range(block.results[0]).ends
            true = function(*np.meshgrid(one, other))
            assert (low, high) == (true.all(), true.any()) or (kind == "Equal" and low <= true.all() and high == 1), (
                one,
                other,
            )
