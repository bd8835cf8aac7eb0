"""Triangular systems by the inverses of their blocks on the diagonal."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.tiles import TILE, System, tiles
from tests.numpy.matrices import normal


def triangle(n: int, *, lower: bool) -> Any:
    """A triangular matrix far from singular."""
    whole = normal(n, n) / n + 2 * np.eye(n)
    return np.tril(whole) if lower else np.triu(whole)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [1, TILE - 1, TILE, TILE + 5, 3 * TILE])
def test_a_system_is_solved_from_either_side(n: int, lower: bool, right: bool) -> None:
    t, b = triangle(n, lower=lower), normal(n, 2, seed=1)
    b = b.T if right else b

    def solved(t: Any, b: Any) -> Any:
        return System(t, b, *tiles(t, lower=lower, unit=False), lower=lower, right=right).solve()

    wanted = b @ np.linalg.inv(t) if right else np.linalg.solve(t, b)
    np.testing.assert_allclose(ps.trace(solved, t, b)(t, b), wanted, rtol=1e-10, atol=1e-12)
    sizes = ps.spec("float64", ["N", "N"]), ps.spec("float64", [2, "N"] if right else ["N", 2])
    np.testing.assert_allclose(ps.trace(solved, *sizes)(t, b), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("unit", [False, True])
def test_blocks_and_their_inverses_belong_together(unit: bool) -> None:
    t = triangle(2 * TILE, lower=True)
    blocks, inverses = ps.trace(lambda t: tiles(t, lower=True, unit=unit), t)(t)
    assert blocks.shape == (2, TILE, TILE)
    np.testing.assert_allclose(blocks @ inverses, np.broadcast_to(np.eye(TILE), blocks.shape), atol=1e-12)
    assert (np.diagonal(blocks, axis1=1, axis2=2) == 1).all() == unit
