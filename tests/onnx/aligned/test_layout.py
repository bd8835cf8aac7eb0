"""Moving, joining, slicing and repeating elements of values of unknown rank: values and derivatives."""

from collections.abc import Sequence

import numpy as np
import pytest

import primsplit as ps
from tests.onnx.unranked import Saved, check_at, integers, narrow

LAST = "a = Constant <value_ints = [-1]> ()"

SECOND = "a = Constant <value_ints = [0]> ()"

ALIGNED = {
    "rows": "s = Constant <value_ints = [-1, 3]> () r = Reshape (x, s) y = Mul (r, w)",
    "a matrix of it": "b = Mul (x, w) c = Flatten (b) y = Mul (c, c)",
    "turned": "b = Mul (x, w) c = Transpose (b) y = Mul (c, c)",
    "joined": "b = Mul (x, x) c = Concat <axis = -1> (x, b) y = Sin (c)",
    "cut": "b, c, d = Split <axis = -1, num_outputs = 3> (x) y = Mul (b, d)",
    "a slice": f"{LAST} o = Constant <value_ints = [1]> () t = Constant <value_ints = [3]> () b = Slice (x, o, t, a)"
    " y = Mul (b, b)",
    "an axis more": f"{SECOND} b = Unsqueeze (x, a) c = Mul (b, b) y = Squeeze (c, a)",
    "an axis more behind": f"{LAST} b = Unsqueeze (x, a) c = Mul (b, w) y = Sin (c)",
    "stretched": "s = Constant <value_ints = [2, 1, 1, 1]> () b = Expand (x, s) y = Mul (b, w)",
}  # fmt: skip

SHAPES = [(4, 3), (2, 1, 3), (3,), (1, 3)]

FRONT = [(3,), (3, 2), (3, 1, 2), (3, 2, 1, 3)]

SQUARE = [(3,), (3, 3), (1, 3, 3), (2, 1, 3, 3)]

EDGE = '<mode = "edge">'

LAST_COMPUTED = f"{integers('t', 1)} r = Shape (x) n = Shape (r) a = Sub (n, t)"

LAST_OF_32 = f"{integers('l', 1)} r = Shape (x) n = Shape (r) a = Sub (n, l)"

COUNTED = {
    "joined in front": ("b = Exp (x) c = Concat <axis = 0> (x, b, x) y = Mul (c, c)", FRONT),
    "joined with a matrix": ("b = Concat <axis = 0> (x, m) y = Mul (b, b)", [(2, 3), (0, 3)]),
    "cut in front": (f"{integers('s', 1, 2)} b, c = Split <axis = 0> (x, s) y = Mul (b, c)", FRONT),
    "a slice in front": (f"{integers('o', 1)} {integers('t', 3)} b = Slice (x, o, t) y = Mul (b, b)", FRONT),
    "a slice along both ends": (
        f"{integers('o', 1, 0)} {integers('t', 3, 1)} {integers('a', 0, -1)} b = Slice (x, o, t, a) y = Mul (b, b)",
        FRONT[1:],
    ),
    "a slice by integers of 32 bits": (
        f"{narrow('o', 1)} {narrow('t', 3)} {narrow('a', 0)} {narrow('p', 2)} b = Slice (x, o, t, a, p) y = Mul (b, b)",
        FRONT,
    ),
    "a slice along what is computed in 32 bits": (
        f"{narrow('o', 0)} {narrow('t', 1)} {LAST_OF_32} h = Cast <to = 6> (a) b = Slice (x, o, t, h) y = Mul (b, x)",
        FRONT,
    ),
    "padded along an axis of 32 bits": (
        f"{integers('p', 1, 2)} {narrow('a', 0)} b = Pad {EDGE} (x, p, , a) y = Mul (b, b)",
        FRONT,
    ),
    "a slice along what is computed": (
        f"{integers('o', 0)} {LAST_COMPUTED} b = Slice (x, o, t, a) y = Mul (b, x)",
        FRONT,
    ),
    "repeated as often as it is long": ("r = Shape (x) b = Tile (x, r) y = Mul (b, b)", [(), *FRONT]),
    "repeated": (f"{integers('r', 2, 3)} b = Tile (x, r) y = Mul (b, b)", FRONT[1:2]),
    "padded by its sizes": ("r = Shape (x) p = Concat <axis = 0> (r, r) b = Pad (x, p) y = Mul (b, b)", FRONT),
    "padded in front": (f"{integers('p', 1, 2)} {integers('a', 0)} b = Pad {EDGE} (x, p, , a) y = Mul (b, b)", FRONT),
    "stretched by what is computed": (
        f"{integers('t', 2)} r = Shape (x) s = Concat <axis = 0> (t, r) b = Expand (x, s) y = Mul (b, b)",
        [(), *FRONT],
    ),
    "an axis of size 1 behind the first": (
        f"{integers('a', 1)} b = Unsqueeze (x, a) c = Mul (b, b) y = Squeeze (c, a)",
        FRONT,
    ),
    "no axes of size 1": ("b = Squeeze (x) y = Mul (b, b)", [(), *FRONT, (1, 1)]),
    "two axes behind": ("b = Flatten <axis = -1> (x) y = Mul (b, b)", FRONT),
    "a triangle": ("b = Trilu <upper = 0> (x) y = Mul (b, b)", SQUARE[1:]),
    "a window of rows": (f"{integers('s', 2)} b = CenterCropPad <axes = [0]> (x, s) y = Mul (b, b)", FRONT),
    "rows turned": (
        f"{integers('s', 2)} b = ReverseSequence <batch_axis = 1, time_axis = 0> (x, s) y = Mul (b, x)",
        [(3, 1), (3, 1, 2)],
    ),
}


def test_pieces_whose_sizes_have_no_rank_are_as_many_as_the_node_gives(saved: Saved) -> None:
    program = ps.load(saved("b, c = Split <axis = -1> (x, i) y = Mul (b, b)", DEEP))
    x = np.arange(6.0).reshape(2, 3)
    value, slope = ps.split(program, seed="ones").joint()(x, np.array([2, 1]))
    np.testing.assert_array_equal(value, x[:, :2] ** 2)
    np.testing.assert_array_equal(slope, 2 * x * [1, 1, 0])


def test_an_array_is_stretched_to_a_shape_of_unknown_length(saved: Saved) -> None:
    path = saved("b = Expand (x, i) y = Mul (b, b)", "(double[n, 3] x, int64[k] i) => (double y)")
    gradient = ps.split(ps.load(path), seed="ones").joint()
    x = np.arange(3.0).reshape(1, 3)
    for shape in ((4, 3), (2, 1, 3), (3,), ()):
        value, slope = gradient(x, np.array(shape, np.int64))
        wide = np.broadcast_to(x, np.broadcast_shapes(x.shape, shape))
        np.testing.assert_array_equal(value, wide**2, strict=True)
        np.testing.assert_array_equal(slope, 2 * x * (wide.size // 3), strict=True)


DEEP = "(double x, int64 i) => (double y)"


@pytest.mark.parametrize("nodes", ALIGNED.values(), ids=list(ALIGNED))
def test_a_value_of_unknown_rank_has_a_gradient(nodes: str, saved: Saved) -> None:
    check_at(saved(nodes), SHAPES)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "shapes"), COUNTED.values(), ids=list(COUNTED))
def test_so_it_has_where_axes_are_counted_from_the_front_or_computed(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes), shapes)


@pytest.mark.parametrize("axes", [(0, 1), (-1, -2)])
def test_a_value_is_padded_along_axes_that_all_count_from_one_end(axes: tuple[int, int], saved: Saved) -> None:
    nodes = f"{integers('p', 1, 0, 1, 2)} {integers('a', *axes)} b = Pad {EDGE} (x, p, , a) y = Mul (b, b)"
    check_at(saved(nodes), FRONT[1:])
