"""Models whose inputs or inner values have no rank in their file: what the nodes demand, what the caller says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError, SpecError
from primsplit.programs.pushed import push_program
from primsplit.testing import directional_derivative
from tests.onnx.unranked import Saved, check_at, integers, narrow

LAST = "a = Constant <value_ints = [-1]> ()"
SECOND = "a = Constant <value_ints = [0]> ()"
ALIGNED = {
    "a chain": "a = Exp (x) b = Sigmoid (a) c = Sqrt (b) y = Log (c)",
    "itself twice": "y = Mul (x, x)",
    "a vector": "y = Mul (x, w)",
    "a quotient": "y = Div (w, x)",
    "a matrix": "s = ReduceSum <keepdims = 1> (x) b = Add (s, m) y = Mul (b, w)",
    "three": "y = Sum (x, w, x)",
    "the larger": "y = Max (x, w)",
    "a choice": "c = Greater (x, w) y = Where (c, x, w)",
    "sums of all": "s = ReduceSum <keepdims = 0> (x) t = ReduceMax <keepdims = 1> (x) r = Mul (s, t) y = Mul (r, x)",
    "a mean": f"{LAST} b = ReduceMean <keepdims = 0> (x, a) y = Mul (b, b)",
    "a sum from the front": f"{SECOND} b = ReduceSum <keepdims = 1> (x, a) y = Mul (b, x)",
    "shares": "b = Softmax (x) y = Mul (b, w)",
    "a norm": "b = LayerNormalization (x, w, w) y = Sin (b)",
    "a product": "a = MatMul (x, m) b = Tanh (a) y = Add (b, x)",
    "rows": "s = Constant <value_ints = [-1, 3]> () r = Reshape (x, s) y = Mul (r, w)",
    "a matrix of it": "b = Mul (x, w) c = Flatten (b) y = Mul (c, c)",
    "turned": "b = Mul (x, w) c = Transpose (b) y = Mul (c, c)",
    "joined": "b = Mul (x, x) c = Concat <axis = -1> (x, b) y = Sin (c)",
    "cut": "b, c, d = Split <axis = -1, num_outputs = 3> (x) y = Mul (b, d)",
    "a slice": f"{LAST} o = Constant <value_ints = [1]> () t = Constant <value_ints = [3]> () b = Slice (x, o, t, a)"
    " y = Mul (b, b)",
    "an axis more": f"{SECOND} b = Unsqueeze (x, a) c = Mul (b, b) y = Squeeze (c, a)",
    "an axis more behind": f"{LAST} b = Unsqueeze (x, a) c = Mul (b, w) y = Sin (c)",
    "entries": "i = Constant <value_ints = [2, 0]> () b = Gather <axis = -1> (x, i) y = Mul (b, b)",
    "a table": "h = Cast <to = 7> (x) b = Gather (m, h) c = Mul (b, w) s = ReduceSum <keepdims = 0> (x) y = Mul (c, s)",
    "stretched": "s = Constant <value_ints = [2, 1, 1, 1]> () b = Expand (x, s) y = Mul (b, w)",
    "inside an If": "s = ReduceSum <keepdims = 0> (x) b = Cast <to = 9> (s) y = If (b) "
    "<then_branch = t () => (double p) { p = Mul (x, w) }, else_branch = e () => (double q) { q = Exp (x) }>",
}  # fmt: skip
SHAPES = [(4, 3), (2, 1, 3), (3,), (1, 3)]


@pytest.mark.parametrize("nodes", ALIGNED.values(), ids=list(ALIGNED))
def test_a_value_of_unknown_rank_has_a_gradient(nodes: str, saved: Saved) -> None:
    check_at(saved(nodes), SHAPES)


FRONT = [(3,), (3, 2), (3, 1, 2), (3, 2, 1, 3)]
SQUARE = [(3,), (3, 3), (1, 3, 3), (2, 1, 3, 3)]
IMAGES = [(2, 3, 4), (2, 3, 1, 2), (1, 3, 2, 1, 2)]
PLACES = f"{integers('i', 1, 0, 1)} {integers('s', 3, 1)} j = Reshape (i, s)"
ADD = '<reduction = "add">'
EDGE = '<mode = "edge">'
NEAREST = '<axes = [1], mode = "nearest">'
LAST_COMPUTED = f"{integers('t', 1)} r = Shape (x) n = Shape (r) a = Sub (n, t)"
LAST_OF_32 = f"{integers('l', 1)} r = Shape (x) n = Shape (r) a = Sub (n, l)"
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
    "elements by integers of 32 bits": ("h = Cast <to = 6> (x) b = GatherElements (x, h) y = Mul (b, x)", FRONT),
    "rows by integers of 32 bits": (f"{narrow('i', 1, -1)} b = Gather (x, i) y = Mul (b, b)", FRONT),
    "sums so far along an axis of 32 bits": (
        "a = Constant <value = int32 {0}> () b = CumSum (x, a) y = Mul (b, b)",
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
    "shares in front": ("b = Softmax <axis = 0> (x) y = Mul (b, x)", FRONT),
    "sums so far": ("a = Constant <value_int = 0> () b = CumSum (x, a) y = Mul (b, b)", FRONT),
    "sums so far along the last": (f"{LAST_COMPUTED} c = Squeeze (a) b = CumSum (x, c) y = Mul (b, b)", FRONT),
    "the largest": (f"{integers('k', 2)} b, i = TopK <axis = 0> (x, k) y = Mul (b, b)", FRONT),
    "sums over what is computed": (f"{LAST_COMPUTED} b = ReduceSum <keepdims = 0> (x, a) y = Mul (b, b)", FRONT),
    "norms of layers": (
        "b = LayerNormalization <axis = 1> (x, w, w) y = Mul (b, b)",
        [(2, 3), (4, 2, 3), (2, 2, 1, 3)],
    ),
    "norms of batches": ("b = BatchNormalization (x, w, w, u, v) y = Mul (b, b)", [(2, 3), *IMAGES]),
    "norms of images": ("b = InstanceNormalization (x, w, w) y = Mul (b, x)", IMAGES),
    "means of images": ("b = GlobalAveragePool (x) y = Mul (b, b)", IMAGES),
    "slopes": ("b = Sub (x, v) c = PRelu (b, w) y = Mul (c, x)", FRONT[3:]),
    "a loss": (
        'i = ArgMax <axis = 1, keepdims = 0> (x) y = SoftmaxCrossEntropyLoss <reduction = "none"> (x, i)',
        [(2, 3), *IMAGES],
    ),
    "a likelihood": (
        "i = ArgMax <axis = 1, keepdims = 0> (x) b = Log (x) y = NegativeLogLikelihoodLoss (b, i)",
        [(2, 3), *IMAGES],
    ),
    "larger pictures": (f"s = Constant <value_floats = [2.0]> () y = Resize {NEAREST} (x, , s)", [(2, 3), *IMAGES]),
    "a product with itself": ("b = MatMul (x, x) y = Mul (b, b)", SQUARE),
    "a product with a vector": ("b = MatMul (x, w) y = Mul (b, b)", SQUARE),
    "a product of a vector": ("b = MatMul (w, x) y = Mul (b, b)", SQUARE),
    "an equation with an ellipsis": ('b = Einsum <equation = "...i,ij->...j"> (x, m) y = Mul (b, b)', SQUARE),
    "an equation with an ellipsis behind": ('b = Einsum <equation = "i...,ij->j..."> (x, m) y = Mul (b, b)', FRONT),
    "an equation of two": ('b = Einsum <equation = "...ij,...kj"> (x, x) y = Mul (b, b)', SQUARE[1:]),
    "a triangle": ("b = Trilu <upper = 0> (x) y = Mul (b, b)", SQUARE[1:]),
    "chosen rows": ("c = Constant <value = bool[3] {1, 0, 1}> () b = Compress <axis = 0> (x, c) y = Mul (b, b)", FRONT),
    "chosen elements": ("c = Constant <value = bool[3] {1, 0, 1}> () b = Compress (x, c) y = Mul (b, b)", FRONT),
    "a window of rows": (f"{integers('s', 2)} b = CenterCropPad <axes = [0]> (x, s) y = Mul (b, b)", FRONT),
    "rows turned": (
        f"{integers('s', 2)} b = ReverseSequence <batch_axis = 1, time_axis = 0> (x, s) y = Mul (b, x)",
        [(3, 1), (3, 1, 2)],
    ),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "shapes"), COUNTED.values(), ids=list(COUNTED))
def test_so_it_has_where_axes_are_counted_from_the_front_or_computed(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes), shapes)


def test_a_value_of_unknown_rank_may_have_none_of_its_elements_or_no_axes(saved: Saved) -> None:
    gradient = ps.split(ps.load(saved("b = Mul (x, x) y = Add (b, w)")), seed="ones").joint()
    assert gradient(np.zeros((0, 3)))[1].shape == (0, 3)
    np.testing.assert_allclose(gradient(np.array(2.0))[1], 12.0)


def test_axes_counted_from_either_end_are_summed_over_where_there_are_no_elements_too(saved: Saved) -> None:
    program = ps.load(saved(f"{integers('a', -1, 1, -3)} y = ReduceSumSquare (x, a)"))
    for shape in ((3, 2, 4), (0, 2, 4), (3, 2, 0)):
        np.testing.assert_array_equal(program(np.ones(shape)), np.full((1, 1, 1), np.prod(shape)), strict=False)


def test_what_is_read_beside_a_value_of_unknown_rank_has_a_gradient(saved: Saved) -> None:
    path = saved("b = Mul (x, w) y = MatMul (b, m)")
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    weights = [onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer if t.name in {"w", "m"}]
    _, dw, dm = ps.split(ps.load(path), wrt=["w", "m"], seed="ones").joint()(x, *weights)
    w, m = weights
    np.testing.assert_allclose(dw, (x.sum(axis=(0, 1)) * m.sum(axis=1)))
    np.testing.assert_allclose(dm, np.repeat((x * w).sum(axis=(0, 1))[:, None], 3, axis=1))


def test_results_of_unknown_rank_are_seeded_each_in_its_own_shape(saved: Saved) -> None:
    path = saved(
        "y = Mul (x, w) z = ReduceSum <keepdims = 0> (x, a)".replace("z =", f"{LAST} z ="),
        "(double x) => (double y, double z)",
    )
    made = ps.split(ps.load(path), of="z", seed="ones").joint()(np.ones((2, 3)))
    np.testing.assert_allclose(made[-1], np.ones((2, 3)))


def test_transforms_take_the_rank_of_their_arrays(saved: Saved) -> None:
    program = ps.load(
        saved("b = Mul (x, x) y = Gather <axis = 0> (b, i)".replace("b =", "i = Constant <value_ints = [1]> () b =", 1))
    )
    x, v = np.random.default_rng(0).standard_normal((2, 4, 3))
    mask = np.array([0, 1, 0, 0])[:, None]
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(program(x)))(x), 2 * x * mask)
    np.testing.assert_allclose(ps.hvp(lambda x: np.sum(program(x)))(x, v), 2 * v * mask)
    np.testing.assert_allclose(ps.jvp(program, (x,), (v,))[1], (2 * x * v)[1:2])
    np.testing.assert_allclose(ps.jacobian(program)(x[:, 0])[0], np.diag(2 * x[:, 0])[1])
    np.testing.assert_allclose(ps.vmap(program)(np.stack([x, v])), np.stack([x, v])[:, 1:2] ** 2)


OLD = {
    "bounds": ("b = Clip <max = 0.5> (x) y = Mul (b, x)", FRONT),
    "nothing dropped": ("b = Dropout (x) y = Mul (b, x)", FRONT),
    "padded": ("b = Pad <pads = [0, 1, 0, 2], value = 0.5> (x) y = Mul (b, b)", FRONT[1:2]),
}


@pytest.mark.parametrize(("nodes", "shapes"), OLD.values(), ids=list(OLD))
def test_so_it_has_in_operators_that_once_meant_something_else(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes, opset=9), shapes)


DEMANDING = {
    "a convolution": ("k = Constant <value = double[1, 1, 1, 2] {1.0, 2.0}> () b = Relu (x) y = Conv (b, k)", 4),
    "pooling": ("a = Tanh (x) y = MaxPool <kernel_shape = [2]> (a)", 3),
    "an order of axes": ("y = Transpose <perm = [1, 0, 2]> (x)", 3),
    "a product with a bias": ("b = Softmax (x) y = Gemm (b, m, w)", 2),
    "an equation": ('y = Einsum <equation = "ab,bc->ac"> (x, m)', 2),
    "padding": ("p = Constant <value_ints = [0, 1, 0, 0, 1, 0]> () y = Pad (x, p)", 3),
    "joined with what is turned": ("b = Exp (x) c = Concat <axis = 0> (x, b) y = Transpose <perm = [1, 0]> (c)", 2),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "rank"), DEMANDING.values(), ids=list(DEMANDING))
def test_an_input_has_the_rank_that_nodes_demand(nodes: str, rank: int, saved: Saved) -> None:
    program = ps.load(saved(nodes))
    assert program.types[0].rank == rank
    ps.split(program)


def test_an_inner_value_has_the_rank_that_it_is_declared_with_or_the_run_fails(saved: Saved) -> None:
    nodes = "b = Squeeze (x) i = Constant <value_ints = [1]> () y = Gather (b, i)"
    path = saved(nodes, "(double[n, 1, p] x) => (double y)")
    gradient = ps.split(ps.load(path, specs={"b": 2}), seed="ones").joint()
    np.testing.assert_allclose(gradient(np.ones((2, 1, 3)))[1], np.array([0, 1])[:, None, None] * np.ones((2, 1, 3)))
    with pytest.raises(RunError):
        gradient(np.ones((1, 1, 3)))


@pytest.mark.parametrize(
    ("kind", "weights"), [("Conv", (2, 3, 2)), ("Conv", (2, 3, 2, 3)), ("ConvTranspose", (3, 2, 2, 3))]
)
def test_pictures_and_kernels_of_any_number_of_axes_are_convolved(
    kind: str, weights: tuple[int, ...], saved: Saved
) -> None:
    """A sum of a convolution's elements is linear in either, so that wide differences are right."""
    program = ps.load(saved(f"y = {kind} (x, z)", "(float x, float z) => (float y)"))
    random = np.random.default_rng(0)
    given = [random.standard_normal(s).astype(np.float32) for s in ((2, 3, 5, 4)[: len(weights)], weights)]
    _, *slopes = ps.split(program, seed="ones").joint()(*given)
    for place, slope in enumerate(slopes):
        direction = random.standard_normal(slope.shape).astype(np.float32)
        sides = [[x + s * direction if i == place else x for i, x in enumerate(given)] for s in (1, -1)]
        up, down = (float(np.sum(program(*side), dtype=np.float64)) for side in sides)
        np.testing.assert_allclose(np.vdot(slope, direction), (up - down) / 2, rtol=1e-4, atol=1e-4)


def test_pictures_of_any_number_of_axes_are_pooled_in_float32(saved: Saved) -> None:
    """onnxruntime pools along three axes at most."""
    program = ps.load(saved("y = GlobalAveragePool (x)", "(float x) => (float y)"))
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 2)).astype(np.float32)
    np.testing.assert_allclose(program(x), x.mean(axis=(2, 3), keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(ps.split(program, seed="ones").joint()(x)[1], np.full(x.shape, 1 / 8), rtol=1e-6)


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


def test_the_number_of_elements_of_a_value_of_unknown_rank_is_read(saved: Saved) -> None:
    path = saved("n = Size (x) f = Cast <to = 11> (n) b = Mul (x, x) y = Div (b, f)")
    check_at(path, SHAPES)


def test_a_value_of_unknown_rank_in_a_dtype_that_the_written_opset_lacks_has_a_gradient(saved: Saved) -> None:
    nodes = (
        "a = Cast <to = 16> (x) b = Mul (a, a) s = ReduceSum <keepdims = 0> (b) c = Mul (b, s) y = Cast <to = 1> (c)"
    )
    x = np.array([[0.5, 1.0], [2.0, -1.0]], np.float32)
    _, slope = ps.split(ps.load(saved(nodes, "(float x) => (float y)")), seed="ones").joint()(x)
    np.testing.assert_allclose(slope, 4 * x * (x * x).sum())


DEEP = "(double x, int64 i) => (double y)"
PAIRS = np.array([[1, -2], [0, 1], [1, -2]])
ROWS = np.array([[[1], [-2]]])
OTHERS = {
    "larger pictures": (
        'r = Shape (x) s = Add (r, r) b = Resize <mode = "linear"> (x, , , s) y = Mul (b, b)',
        "(double x) => (double y)",
        [((2, 3),), ((3,),)],
    ),
    "a window": (
        "r = Shape (x) t = Constant <value_int = 1> () s = Add (r, t) b = CenterCropPad (x, s) y = Mul (b, b)",
        "(double x) => (double y)",
        [((2, 3),), ((3,),), ((1, 2, 2),)],
    ),
    "slices": ("b = GatherND (x, i) y = Mul (b, b)", DEEP, [((3, 4, 2), PAIRS), ((3, 4), PAIRS), ((3, 4), ROWS)]),
    "slices of a batch": (
        "b = GatherND <batch_dims = 1> (x, i) y = Mul (b, b)",
        DEEP,
        [((3, 2, 4), PAIRS), ((1, 3, 4), ROWS), ((1, 3), ROWS)],
    ),
    "slices written": (
        f"b = GatherND (x, i) c = Sin (b) d = ScatterND {ADD} (x, i, c) y = Mul (d, d)",
        DEEP,
        [((3, 4, 2), PAIRS), ((3, 4), PAIRS), ((3, 4), ROWS), ((3,), ROWS)],
    ),
    "samples": (
        "y = GridSample (x, z)",
        "(double x, double z) => (double y)",
        [((2, 3, 4, 5), (2, 2, 3, 2)), ((1, 2, 3, 4, 2), (1, 2, 1, 2, 3))],
    ),
    "larger pictures along some axes": (
        'r = Shape <start = -1> (x) s = Add (r, r) b = Resize <axes = [-1], mode = "linear"> (x, , , s) y = Mul (b, b)',
        "(double x) => (double y)",
        [((2, 3),), ((3,),)],
    ),
    "turned pairs": (
        "y = RotaryEmbedding <num_heads = 2> (x, z, z)",
        "(double x, double z) => (double y)",
        [((2, 3, 8), (2, 3, 2)), ((2, 2, 3, 4), (2, 3, 2))],
    ),
}


@pytest.mark.parametrize(("nodes", "head", "cases"), OTHERS.values(), ids=list(OTHERS))
def test_an_operator_that_differs_from_rank_to_rank_has_a_gradient(
    nodes: str, head: str, cases: Sequence[tuple[Any, ...]], saved: Saved
) -> None:
    program = ps.load(saved(nodes, head, opset=23 if "Rotary" in nodes else 20))
    gradient = ps.split(program, seed="ones").joint()
    for case in cases:
        random = np.random.default_rng(1)
        given = [random.uniform(0.1, 0.9, a) if isinstance(a, tuple) else a for a in case]
        moving = [a for a in given if a.dtype == np.float64]
        directions = [random.standard_normal(a.shape) for a in moving]
        rest = given[len(moving) :]
        slopes = gradient(*given)[-len(moving) :]

        def total(moved: Sequence[Any], rest: Sequence[Any] = rest) -> float:
            return float(np.sum(program(*moved, *rest)))

        expected = directional_derivative(total, moving, directions)
        found = sum(np.vdot(s, d) for s, d in zip(slopes, directions, strict=True))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_branch_does_not_leave_its_values_to_what_is_behind_it(saved: Saved) -> None:
    nodes = (
        "s = ReduceSum <keepdims = 0> (w) b = Cast <to = 9> (s) z = If (b) "
        "<then_branch = t () => (double p) { p = Mul (x, w) }, else_branch = e () => (double q) { q = Exp (x) }> "
        "y = Mul (z, x)"
    )
    path = saved(
        nodes.replace("ReduceSum <keepdims = 0> (w)", "ReduceSum <keepdims = 0> (c)"),
        "(double x, double c) => (double y)",
    )
    gradient = ps.split(ps.load(path), wrt="x", seed="ones").joint()
    x = np.array([[0.5, 0.25, 1.0]])
    np.testing.assert_allclose(gradient(x, np.ones(1))[-1], 2 * x * [0.5, -1.0, 2.0])
    np.testing.assert_allclose(gradient(x, np.zeros(1))[-1], np.exp(x) * (1 + x))


def test_a_size_that_is_said_takes_the_place_of_its_name_in_every_input(saved: Saved) -> None:
    path = saved("y = Mul (x, z)", "(double[n, 3] x, double[n, 3] z) => (double[n, 3] y)")
    program = ps.load(path, specs={"x": "[5,3]"})
    assert [t.shape for t in program.types] == [(5, 3), (5, 3)]
    with pytest.raises(ShapeError):
        program(np.ones((4, 3)), np.ones((4, 3)))


@pytest.mark.parametrize(
    ("specs", "told"),
    [
        ({"q": "[3]"}, "no value q"),
        ({"x": "f32[N,3]"}, "x is float64 in its file"),
        ({"x": "[N,4]"}, r"declares \[n,3\]"),
        ({"x": "[N]"}, "has 2 axes"),
        ({"x": 3}, "has 2 axes"),
        ({"x": None}, "says no type of x"),
    ],
)
def test_a_type_that_does_not_fit_is_refused(specs: dict[str, Any], told: str, saved: Saved) -> None:
    with pytest.raises(SpecError, match=told):
        ps.load(saved("y = Mul (x, x)", "(double[n, 3] x) => (double y)"), specs=specs)


GRU = (
    "y = GRU <hidden_size = 2> (x, w, r, b)",
    "float[T, B, I] x, float[D, G, I] w, float[D, G, H] r, float[D, Q] b",
    ((3, 2, 4), (1, 6, 4), (1, 6, 2), (1, 12)),
)
LSTM = (
    "y = LSTM <hidden_size = 2> (x, w, r, b, , h, c, p)",
    "float[T,B,I] x, float[D,G,I] w, float[D,G,H] r, float[D,Q] b, float[D,E,S] h, float[D,F,U] c, float[D,P] p",
    ((3, 2, 4), (1, 8, 4), (1, 8, 2), (1, 16), (1, 2, 2), (1, 2, 2), (1, 6)),
)


@pytest.mark.parametrize(("nodes", "inputs", "shapes"), [GRU, LSTM], ids=["GRU", "LSTM"])
def test_a_recurrent_layer_whose_weights_have_no_sizes_has_those_of_its_attributes(
    nodes: str, inputs: str, shapes: Sequence[tuple[int, ...]], tmp_path: Path
) -> None:
    path = str(tmp_path / "model.onnx")
    text = f'<ir_version: 8, opset_import: ["" : 14]> g ({inputs}) => (float[T, D, B, H] y) {{ {nodes} }}'
    onnx.save(onnx.parser.parse_model(text), path)
    program = ps.load(path)
    random = np.random.default_rng(0)
    given = [random.uniform(-0.8, 0.8, s).astype(np.float32) for s in shapes]
    directions = [random.standard_normal(a.shape) for a in given]

    def total(moved: Sequence[Any]) -> float:
        return float(np.sum(program(*(a.astype(np.float32) for a in moved)), dtype=np.float64))

    slopes = ps.split(program, seed="ones").joint()(*given)[1:]
    found = sum(np.vdot(s, d) for s, d in zip(slopes, directions, strict=True))
    wide = [a.astype(np.float64) for a in given]
    both = [total([a + s * d for a, d in zip(wide, directions, strict=True)]) for s in (0.01, -0.01)]
    np.testing.assert_allclose(found, (both[0] - both[1]) / 0.02, rtol=1e-3)


def test_a_squeeze_that_torch_exports_as_two_branches_of_two_ranks_has_derivatives(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    text = """<ir_version: 8, opset_import: ["" : 17]> g (double[N, M, K] x) => (double[N, K] y) {
        b = Tanh (x) o = Constant <value_ints = [1]> () s = Shape (b) n = Gather (s, o) c = Equal (n, o)
        d = If (c) <then_branch = t () => (double[N, K] u) { u = Squeeze (b, o) },
                    else_branch = e () => (double[N, M, K] v) { v = Identity (b) }>
        y = Mul (d, d) }"""
    onnx.save(onnx.parser.parse_model(text), path)
    program = ps.load(path)
    gradient, forward = ps.split(program, seed="ones").joint(), push_program(program).joint()
    for shape in ((3, 1, 4), (0, 1, 4), (3, 1, 0), (1, 1, 1)):
        x = np.random.default_rng(0).standard_normal(shape)
        slope = 2 * np.tanh(x) * (1 - np.tanh(x) ** 2)
        np.testing.assert_allclose(gradient(x)[1], slope, strict=True)
        np.testing.assert_allclose(forward(x, x)[1], (slope * x)[:, 0], strict=True)
