"""Elementwise operators, reductions and normalizations of values of unknown rank: values and derivatives."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from tests.onnx.unranked import Saved, check_at, integers

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
}  # fmt: skip

SHAPES = [(4, 3), (2, 1, 3), (3,), (1, 3)]

FRONT = [(3,), (3, 2), (3, 1, 2), (3, 2, 1, 3)]

IMAGES = [(2, 3, 4), (2, 3, 1, 2), (1, 3, 2, 1, 2)]

LAST_COMPUTED = f"{integers('t', 1)} r = Shape (x) n = Shape (r) a = Sub (n, t)"

COUNTED = {
    "sums so far along an axis of 32 bits": (
        "a = Constant <value = int32 {0}> () b = CumSum (x, a) y = Mul (b, b)",
        FRONT,
    ),
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
}


def test_axes_counted_from_either_end_are_summed_over_where_there_are_no_elements_too(saved: Saved) -> None:
    program = ps.load(saved(f"{integers('a', -1, 1, -3)} y = ReduceSumSquare (x, a)"))
    for shape in ((3, 2, 4), (0, 2, 4), (3, 2, 0)):
        np.testing.assert_array_equal(program(np.ones(shape)), np.full((1, 1, 1), np.prod(shape)), strict=False)


def test_pictures_of_any_number_of_axes_are_pooled_in_float32(saved: Saved) -> None:
    """onnxruntime pools along three axes at most."""
    program = ps.load(saved("y = GlobalAveragePool (x)", "(float x) => (float y)"))
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 2)).astype(np.float32)
    np.testing.assert_allclose(program(x), x.mean(axis=(2, 3), keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(ps.split(program, seed="ones").joint()(x)[1], np.full(x.shape, 1 / 8), rtol=1e-6)


@pytest.mark.parametrize("nodes", ALIGNED.values(), ids=list(ALIGNED))
def test_a_value_of_unknown_rank_has_a_gradient(nodes: str, saved: Saved) -> None:
    check_at(saved(nodes), SHAPES)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "shapes"), COUNTED.values(), ids=list(COUNTED))
def test_so_it_has_where_axes_are_counted_from_the_front_or_computed(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes), shapes)


HEAD = '<ir_version: 9, opset_import: ["" : 19]>'

READ = "n = DequantizeLinear <axis = {axis}> (q, s) y = Mul (n, n)"

LEVELS = np.arange(12, dtype=np.int8).reshape(4, 3)

SCALES = [np.array(0.5, np.float32), np.array([0.25], np.float32), np.array([0.5, 0.2, 0.1], np.float32)]


def loaded(folder: Path, text: str, *unranked: str) -> ps.Program:
    """The model's program, these values of it without a rank."""
    model = onnx.parser.parse_model(f"{HEAD}\n{text}")
    for value in (*model.graph.input, *model.graph.output):
        if value.name in unranked:
            value.type.tensor_type.ClearField("shape")
    path = str(folder / "model.onnx")
    onnx.save(model, path)
    return ps.load(path)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize(
    ("sizes", "unranked"),
    [("[4,3]", ("s", "y")), ("[4,3]", ("q", "s", "y")), ("[N,M]", ("q", "y")), ("[N,M]", ())],
)
def test_integers_are_read_with_a_scale_that_may_be_one_for_all(
    sizes: str, unranked: tuple[str, ...], axis: int, tmp_path: Path
) -> None:
    """The sum of squares of `q s` has the derivative `2 s q^2` by each scale, summed over what it is for."""
    text = f"g (int8{sizes} q, float[K] s) => (float[N,M] y) {{ {READ.format(axis=axis)} }}"
    gradient = ps.split(loaded(tmp_path, text, *unranked), wrt="s", seed="ones").joint()
    for scale in SCALES if "s" in unranked else SCALES[1:]:
        value, slope = gradient(LEVELS, scale)
        squares = LEVELS.astype(np.float64) ** 2
        by_column = 2 * squares.sum(axis=0)
        np.testing.assert_allclose(value, squares * scale**2, rtol=1e-5)
        wanted = by_column * scale if scale.size == 3 else by_column.sum() * scale
        np.testing.assert_allclose(slope, wanted, rtol=1e-5)
        assert slope.shape == scale.shape


PAIR = """z = Constant <value = int8 {{0}}> () q = QuantizeLinear <axis = {axis}> (x, s)
n = DequantizeLinear <axis = {axis}> (q, s) y = Mul (n, n)"""


@pytest.mark.parametrize("unranked", [("s", "y"), ("x", "s", "y")])
def test_numbers_are_quantized_with_a_scale_of_unknown_rank(unranked: tuple[str, ...], tmp_path: Path) -> None:
    text = f"g (float[4,3] x, float s) => (float y) {{ {PAIR.format(axis=1)} }}"
    gradient = ps.split(loaded(tmp_path, text, *unranked), wrt=["x", "s"], seed="ones").joint()
    x = (np.arange(12).reshape(4, 3) / 7).astype(np.float32)
    for scale in (SCALES[0], SCALES[2]):
        levels = np.round(x / scale)
        value, dx, dscale = gradient(x, scale)
        np.testing.assert_allclose(value, (levels * scale) ** 2, rtol=1e-5)
        np.testing.assert_allclose(dx, 2 * levels * scale, rtol=1e-5)
        steps = 2 * levels * scale * (levels - x / scale)
        np.testing.assert_allclose(dscale, steps.sum(axis=0) if scale.ndim else steps.sum(), rtol=1e-3, atol=1e-5)
