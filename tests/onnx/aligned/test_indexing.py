"""Gathering and scattering elements of values of unknown rank: values and derivatives."""

from collections.abc import Sequence

import pytest

from tests.onnx.unranked import Saved, check_at, integers, narrow

ALIGNED = {
    "entries": "i = Constant <value_ints = [2, 0]> () b = Gather <axis = -1> (x, i) y = Mul (b, b)",
    "a table": "h = Cast <to = 7> (x) b = Gather (m, h) c = Mul (b, w) s = ReduceSum <keepdims = 0> (x) y = Mul (c, s)",
}  # fmt: skip

SHAPES = [(4, 3), (2, 1, 3), (3,), (1, 3)]

FRONT = [(3,), (3, 2), (3, 1, 2), (3, 2, 1, 3)]

PLACES = f"{integers('i', 1, 0, 1)} {integers('s', 3, 1)} j = Reshape (i, s)"

ADD = '<reduction = "add">'

COUNTED = {
    "rows": (f"{integers('i', 1, -1)} b = Gather (x, i) y = Mul (b, b)", FRONT),
    "a row": ("i = Constant <value_int = 2> () b = Gather (x, i) y = Mul (b, b)", FRONT),
    "rows by indices of two axes": (f"{PLACES} b = Gather (x, j) y = Mul (b, b)", FRONT),
    "columns": (f"{integers('i', 0, 0)} b = Gather <axis = 1> (x, i) y = Mul (b, b)", FRONT[1:]),
    "entries by itself": ("h = Cast <to = 7> (x) b = Gather <axis = 0> (x, h) y = Mul (b, b)", FRONT),
    "entries of each row": ("h = Cast <to = 7> (x) b = GatherElements <axis = 0> (x, h) y = Mul (b, x)", FRONT),
    "elements in two ways": (
        f"{integers('i', 1, -1)} h = Cast <to = 7> (x) b = Gather (x, h) c = GatherElements (x, i) y = Mul (b, c)",
        [(2,)],
    ),
    "slices": (f"{PLACES} b = GatherND (x, j) y = Mul (b, b)", FRONT),
    "slices written": (
        f"{PLACES} b = GatherND (x, j) c = Sin (b) d = ScatterND {ADD} (x, j, c) y = Mul (d, d)",
        FRONT,
    ),
    "slices written over": (
        f"{integers('l', 2)} {integers('s', 1, 1)} j = Expand (l, s) b = GatherND (x, j) y = ScatterND (x, j, b)",
        FRONT,
    ),
    "elements written": (
        f"h = Cast <to = 7> (x) b = Sin (x) c = ScatterElements {ADD} (x, h, b) y = Mul (c, c)",
        FRONT,
    ),
    "elements by integers of 32 bits": ("h = Cast <to = 6> (x) b = GatherElements (x, h) y = Mul (b, x)", FRONT),
    "rows by integers of 32 bits": (f"{narrow('i', 1, -1)} b = Gather (x, i) y = Mul (b, b)", FRONT),
    "chosen rows": ("c = Constant <value = bool[3] {1, 0, 1}> () b = Compress <axis = 0> (x, c) y = Mul (b, b)", FRONT),
    "chosen elements": ("c = Constant <value = bool[3] {1, 0, 1}> () b = Compress (x, c) y = Mul (b, b)", FRONT),
}


@pytest.mark.parametrize("nodes", ALIGNED.values(), ids=list(ALIGNED))
def test_a_value_of_unknown_rank_has_a_gradient(nodes: str, saved: Saved) -> None:
    check_at(saved(nodes), SHAPES)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "shapes"), COUNTED.values(), ids=list(COUNTED))
def test_so_it_has_where_axes_are_counted_from_the_front_or_computed(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes), shapes)
