"""Each value of a program in float32 is as near to the same in float64 as its bound says."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primsplit as ps
from primsplit.audit.intervals.ranges import of_array
from primsplit.audit.intervals.sum_errors import bounded
from primsplit.audit.intervals.walk import Walk
from primsplit.ir import Block
from primsplit.rewrites.inline import inline_calls
from primsplit.testing.reference import computing, play
from tests.audit.intervals.sound import drawn
from tests.random_programs import blocks

X = np.linspace(-1, 2, 12).reshape(3, 4).astype(np.float32)
W = np.cos(np.arange(20.0)).reshape(4, 5).astype(np.float32)

ENDS = [(-2.0, 3.0), (0.5, 2.0), (2.0, 2.0)]

PROGRAMS: dict[str, Any] = {
    "a softmax": lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1)[:, None]).sum(1)[:, None],
    "products of matrices": lambda x: np.tanh(x @ W) @ W.T,
    "means and variances": lambda x: (x - x.mean(0)) / np.sqrt(x.var(0) + np.float32(1e-3)),
    "norms": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    "running sums": lambda x: np.cumsum(x, axis=0)[::-1] * np.cumsum(x[::-1], axis=1),
    "pieces": lambda x: np.concatenate([x[:, :2].T, x[:2, 1:]], axis=0) * np.pad(x, 1)[1:3, 1:3].sum(),
    "products of rows": lambda x: np.prod(x, axis=1),
    "powers": lambda x: (x + 3) ** 3 + np.abs(x + 2) ** np.float32(0.5),
    "a scan": lambda x: ps.scan(lambda c, r: (np.tanh(c + r), c * r), 0 * x[0], x)[1],
    "scattered": lambda x: np.sum(x[np.array([0, 2, 2, 1])] * x[np.array([1, 1, 0, 2])]),
}


def assert_bounded(block: Block, arrays: Sequence[np.ndarray], *, all_known: bool = True) -> None:
    """Each value in the dtypes of the program is as near to that in float64 as its bound says."""
    block = inline_calls(block)
    walk = Walk(compute=computing(), errors=bounded)
    with np.errstate(all="ignore"):
        results = walk.block(block, [of_array(a) if a.dtype.kind != "f" else _exact(a) for a in arrays])
    for (made, own), (_, wide) in zip(play(block, arrays), play(block, arrays, np.float64), strict=False):
        for var, array, exact in zip(made.outputs, own, wide, strict=False):
            found = walk.found.get(var)
            if found is None or found.error is None or array.dtype.kind != "f" or made.blocks():
                continue
            finite = np.isfinite(exact) & np.isfinite(array)
            gap = np.abs(array.astype(np.float64) - exact)[finite]
            bound = np.broadcast_to(found.error, array.shape)[finite]
            assert np.all(gap <= bound * (1 + 1e-6)), (made.kind, float(np.max(gap - bound)))
    assert not all_known or all(np.all(np.isfinite(r.error)) for r in results if r.error is not None)


def _exact(array: np.ndarray) -> Any:
    from dataclasses import replace

    return replace(of_array(array), value=None, error=np.zeros(()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_values_and_gradients_of_a_program_are_as_near_as_their_bounds(name: str) -> None:
    function, random = PROGRAMS[name], np.random.default_rng(0)
    for _ in range(4):
        x = random.uniform(0.2, 2, X.shape).astype(np.float32)
        assert_bounded(ps.trace(function, x).block, [x])
        assert_bounded(ps.split(lambda x: np.sum(function(x)), x).joint().block, [x])


@settings(max_examples=100, deadline=None)
@given(
    blocks(),
    st.lists(st.sampled_from([(-2.0, 3.0), (0.5, 2.0), (2.0, 2.0)]), min_size=4, max_size=4),
    st.integers(0, 99),
)
def test_the_values_of_a_random_program_are_as_near_as_their_bounds(
    block: Block, ends: list[tuple[float, float]], seed: int
) -> None:
    random = np.random.default_rng(seed)
    shapes = ((4, 3), (4, 3), (3,), ())
    assert_bounded(block, [drawn(random, e, s, np.float32) for e, s in zip(ends, shapes, strict=True)], all_known=False)


def test_a_bound_of_a_sum_grows_with_its_terms() -> None:
    bounds = []
    for count in (10, 1000):
        block = inline_calls(ps.trace(lambda x: np.sum(x), ps.spec(np.float32, [count])).block)
        walk = Walk(errors=bounded)
        (found,) = walk.block(block, [_exact(np.ones(count, np.float32))])
        bounds.append(float(found.error))
    assert bounds == pytest.approx([9 * 2**-24 * 10, 999 * 2**-24 * 1000])
