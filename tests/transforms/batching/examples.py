"""Whole programs for three examples, and what is compared with the examples one by one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import numpy as np_traced
from primsplit.tracing import trees
from primsplit.tracing.specs import leaf_type

COUNT = 3


def batch(program: Callable[..., Any], arguments: Any) -> tuple[Callable[..., Any], list[np.ndarray], list[int]]:
    """The program as a function of its arrays, those for three examples, and which of them are floating point."""
    leaves, structure = trees.flatten(arguments)
    positions = [i for i, x in enumerate(leaves) if leaf_type(x) is not None]

    def function(*arrays: Any) -> Any:
        given = list(leaves)
        for position, array in zip(positions, arrays, strict=True):
            given[position] = array
        return program(*trees.unflatten(structure, given))

    arrays = [np.asarray(leaves[i]) for i in positions]
    stacks = [np.stack([x * (1 + 0.01 * b) if x.dtype.kind == "f" else x for b in range(COUNT)]) for x in arrays]
    return function, stacks, [i for i, x in enumerate(arrays) if x.dtype.kind == "f"]


def loss(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the cosines of all floating-point results."""

    def total(*arrays: Any) -> Any:
        results = [np_traced.asarray(r) for r in trees.flatten(function(*arrays))[0]]
        return sum(np_traced.sum(np_traced.cos(r)) for r in results if r.dtype.kind == "f")

    return total


def check(found: Any, examples: list[Any]) -> None:
    wanted = [np.stack(parts) for parts in zip(*(trees.flatten(e)[0] for e in examples), strict=True)]
    for value, expected in zip(trees.flatten(found)[0], wanted, strict=True):
        scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1)
        np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-8 * scale)
