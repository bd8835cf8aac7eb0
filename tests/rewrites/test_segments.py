"""The cuts of a forward pass that is recomputed: at narrow places, in segments of about the square root."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Op, Type, Var
from primsplit.ir.dims import symbol
from primsplit.rewrites.segments import cut_values


def chain(sizes: Sequence[int]) -> tuple[list[Op], list[Var]]:
    """Ops one after the other, and what they make, of these sizes."""
    values = [Var(Type(np.float32, (size,))) for size in sizes]
    ops = [Op("Tanh", (given,), (made,)) for given, made in zip([Var(values[0].type), *values], values, strict=False)]
    return ops, values


def test_a_chain_of_equal_values_is_cut_into_the_square_root_of_segments() -> None:
    ops, values = chain([100] * 36)
    found = cut_values(ops, values)
    assert 3 <= len(found) <= 8
    places = sorted(values.index(v) for v in found)
    assert max(b - a for a, b in zip([-1, *places], [*places, 35], strict=True)) <= 9


def test_a_cut_is_at_the_narrow_place() -> None:
    ops, values = chain([100, 100, 100, 1] * 8)
    assert {v.type.shape for v in cut_values(ops, values)} == {(1,)}


def test_there_is_no_cut_where_one_saves_nothing() -> None:
    ops, values = chain([100] * 3)
    assert cut_values(ops, values) == set()
    assert cut_values(ops, []) == set()
    ops, values = chain([100] * 36)
    wide = Var(Type(np.float32, (100,)))
    every = Op("Sum", tuple(values), (wide,))
    assert cut_values([*ops, every], [*values, wide]) == set()


def test_sizes_that_only_the_run_knows_count_as_large() -> None:
    values = [Var(Type(np.float32, (symbol("N"), 8))) for _ in range(25)]
    ops = [Op("Tanh", (given,), (made,)) for given, made in zip([Var(values[0].type), *values], values, strict=False)]
    assert 3 <= len(cut_values(ops, values)) <= 6
