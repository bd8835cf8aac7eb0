"""Each value that a program computes lies in the range that the walk finds for it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primsplit as ps
from primsplit.audit.intervals.ranges import interval
from primsplit.ir import Block, Var
from primsplit.ops import op
from primsplit.rewrites.inline import inline_calls
from tests.audit.intervals.sound import ENDS, assert_program_sound, assert_sound, drawn, walk_of, walked
from tests.random_programs import blocks

X = np.linspace(-1, 2, 12).reshape(3, 4)
PROGRAMS: dict[str, Any] = {
    "a scan": lambda x: ps.scan(lambda c, r: (np.tanh(c + r), c * r), 0.0 * x[0], x)[1],
    "a loop": lambda x: ps.while_loop(lambda c: np.sum(c) < 100.0, lambda c: c * 1.5 + 1.0, x),
    "a branch": lambda x: ps.cond(np.sum(x) > 0, lambda x: np.exp(x), lambda x: -x, x),
}


@settings(max_examples=150, deadline=None)
@given(blocks(), st.lists(st.sampled_from(ENDS), min_size=4, max_size=4), st.integers(0, 2**31))
def test_the_values_of_a_random_program_stay_in_their_ranges(
    block: Block, ends: list[tuple[float, float]], seed: int
) -> None:
    block = inline_calls(block)
    random = np.random.default_rng(seed)
    arrays = [drawn(random, e, s, np.float32) for e, s in zip(ends, ((4, 3), (4, 3), (3,), ()), strict=True)]
    ranges = [interval(a.min(), a.max(), p.type.dtype) for a, p in zip(arrays, block.params, strict=True)]
    assert_sound(block, ranges, arrays)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_stay_in_their_ranges(name: str, dtype: str) -> None:
    assert_program_sound(PROGRAMS[name], X.astype(dtype), -1.0, 2.0)


def test_a_branch_that_is_never_taken_is_not_walked() -> None:
    block, walk = walk_of(
        lambda x: ps.cond(np.sum(x) > 0, lambda x: x, lambda x: np.log(x), x), ps.spec("float64", [3]), ranges=[(1, 2)]
    )
    assert walk.range(block.results[0]).ends == (1.0, 2.0)
    assert not walk.hazards


def test_a_loop_of_unknown_length_has_a_range_for_every_length() -> None:
    def halves(x: Any) -> Any:
        return ps.while_loop(lambda c: np.sum(c) > 1.0, lambda c: c * 0.5, x)

    block, walk = walk_of(halves, ps.spec("float64", [3]), ranges=[(0, 8)])
    assert walk.range(block.results[0]).ends == (0.0, 8.0)


def test_an_unknown_operator_is_listed_and_may_be_anything() -> None:
    block = ps.trace(lambda x: op.MeanVarianceNormalization(x), ps.spec("float32", [2, 3, 4, 4])).block
    walk = walked(block, [interval(0, 1, np.float32, (2, 3, 4, 4))])
    assert [made.kind for made in walk.unknown] == ["MeanVarianceNormalization"]
    result = block.results[0]
    assert isinstance(result, Var)
    assert walk.found[result].ends == (-np.inf, np.inf)
    assert walk.found[result].nan
