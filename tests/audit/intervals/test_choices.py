"""Ranges of comparisons and choices."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.audit.intervals.sound import assert_program_sound, walk_of

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
