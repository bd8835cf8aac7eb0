"""Regions to be computed in tiles are searched only as far as they can gain."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Op, Type, Var
from primsplit.rewrites.loops import tiled_regions
from primsplit.rewrites.loops.tiled_regions import CACHE, LARGE, Region, region_of, row_counts


def chain(x: Any) -> Any:
    return np.sum(np.exp(np.sin(x) * 2.0))


def block_of(rows: int) -> Block:
    return ps.trace(chain, ps.spec("float64", [rows, 4])).block


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Region]:
    """The regions that are searched."""
    monkeypatch.setattr(tiled_regions, "_scattered", lambda region: {id(op) for op, _ in region.inside[:1]})
    found: list[Region] = []
    real = Region

    def noted(*args: Any) -> Region:
        found.append(real(*args))
        return found[-1]

    monkeypatch.setattr(tiled_regions, "Region", noted)
    return found


@pytest.mark.parametrize(("rows", "is_cached"), [(200_000, True), (2_000_000, False)])
def test_a_region_that_fits_into_the_cache_saves_nothing_and_is_not_searched_again(
    rows: int, is_cached: bool, made: list[Region]
) -> None:
    block = block_of(rows)
    assert rows in row_counts(block)
    region = region_of(block, rows)
    assert made[0].is_cached is is_cached
    assert (2 * rows * 4 * 8 < CACHE) is is_cached, "an operand and a result are alive at once"
    if is_cached:
        assert region.saved == 0
        assert made == [region]


def test_ops_on_little_data_are_asked_for_no_tilings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = tiled_regions.tilings

    def noted(op: Op, rows: int) -> Any:
        asked.append(op.kind)
        return real(op, rows)

    monkeypatch.setattr(tiled_regions, "tilings", noted)

    def f(x: Any, w: Any) -> Any:
        return np.sum(np.exp(x) * np.cosh(np.tanh(w)))

    block = ps.trace(f, ps.spec("float32", [LARGE, 4]), ps.spec("float32", [4])).block
    Region(block, LARGE, set())
    assert "Exp" in asked
    assert "Tanh" not in asked


@pytest.mark.parametrize(("elements", "is_worth"), [(LARGE // 8, True), (LARGE // 8 - 1, False)])
def test_an_op_that_reads_a_large_array_is_worth_a_look(elements: int, is_worth: bool) -> None:
    x = Var(Type("float64", [elements]))
    assert tiled_regions._is_large(Op("ReduceSum", (x,), (Var(Type("float64", [])),)), ()) is is_worth
    assert tiled_regions._is_large(Op("Expand", (Var(Type("float64", [])), None), (x,)), ()) is is_worth
    assert tiled_regions._is_large(Op("ReduceSum", (x,), (Var(Type("float64", [])),)), {x})
