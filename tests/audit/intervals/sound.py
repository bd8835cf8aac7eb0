"""What tests of ranges share: arrays within ranges, and a check that values lie in the ranges that were found."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.intervals.at import Hazard
from primsplit.audit.intervals.ranges import Range, interval, of_array
from primsplit.audit.intervals.walk import Walk
from primsplit.ir import Block, is_call
from primsplit.rewrites.inline import inline_calls
from primsplit.testing.reference import play

ENDS = [
    (-2.0, 3.0),
    (0.0, 1.0),
    (-0.9, 0.9),
    (1e-3, 1e3),
    (5.0, 20.0),
    (-1e30, 1e30),
    (-4.0, -1.0),
    (2.0, 2.0),
    (-1e-40, 0.0),
    (-20.0, -18.0),
    (-1e-3, -1e-9),
]


def walked(block: Block, ranges: Sequence[Range]) -> Walk:
    walk = Walk()
    with np.errstate(all="ignore"):
        walk.block(block, ranges)
    return walk


def assert_inside(array: np.ndarray, found: Range, what: str) -> None:
    """Each element is in its range, or NaN or infinite where the range says that it may be."""
    numbers = array.astype(np.float64)
    assert found.nan or not np.isnan(numbers).any(), f"NaN of {what}"
    assert found.inf or not np.isinf(numbers).any(), f"infinity of {what}"
    finite = np.isfinite(numbers)
    low, high = (np.broadcast_to(end, array.shape) for end in (found.low, found.high))
    assert np.all(numbers[finite] >= low[finite]), f"{what} at {found.text}: {numbers[finite].min()}"
    assert np.all(numbers[finite] <= high[finite]), f"{what} at {found.text}: {numbers[finite].max()}"
    assert not found.nonzero or np.all(numbers != 0), f"0 of {what}"


def drawn(random: np.random.Generator, ends: tuple[float, float], shape: Any, dtype: Any) -> np.ndarray:
    """Numbers between two ends, the ends among them, a third of them near 0."""
    low, high = ends
    numbers = random.uniform(low / 2, high / 2, shape) * 2
    numbers = np.where(random.uniform(size=shape) < 0.3, np.clip(numbers * 1e-3, low, high), numbers)
    flat = numbers.reshape(-1)
    flat[:2] = (low, high)[: flat.size]
    return np.clip(flat.reshape(shape), low, high).astype(dtype)


def assert_sound(block: Block, ranges: Sequence[Range], arrays: Sequence[np.ndarray]) -> Walk:
    """The values of a program on arrays within the ranges are in the ranges that a walk finds."""
    walk = walked(block, ranges)
    for made, values in play(block, arrays):
        for var, array in zip(made.outputs, values, strict=False):
            if array.dtype.kind in "iufb" and var in walk.found and not is_call(made):
                assert_inside(array, walk.found[var], f"{made.kind} {var.hint}")
    return walk


def assert_program_sound(function: Callable[..., Any], x: np.ndarray, low: float, high: float) -> None:
    """The values of a function and of its gradient lie in their ranges, at arrays between two numbers."""
    blocks = [ps.trace(function, x).block]
    if blocks[0].results[0].type.is_float:
        blocks.append(ps.split(lambda x: np.sum(function(x)), x).joint().block)
    random = np.random.default_rng(1)
    for block in map(inline_calls, blocks):
        for _ in range(5):
            array = random.uniform(low, high, x.shape).astype(x.dtype)
            assert_sound(block, [interval(low, high, x.dtype, x.shape)], [array])
            assert_sound(block, [of_array(array)], [array])


def walk_of(function: Callable[..., Any], *specs: Any, ranges: Sequence[tuple[float, float]]) -> tuple[Block, Walk]:
    """The block of a function without calls, and the walk of it with these ranges of its inputs."""
    block = inline_calls(ps.trace(function, *specs).block)
    shapes = [tuple(d if isinstance(d, int) else None for d in p.type.shape or ()) for p in block.params]
    params = [interval(*r, p.type.dtype, shape) for r, p, shape in zip(ranges, block.params, shapes, strict=True)]
    return block, walked(block, params)


def hazards_of(walk: Walk, kind: str) -> list[Hazard]:
    """The hazards of one kind."""
    return [h for hazards in walk.hazards.values() for h in hazards.values() if h.kind == kind]
