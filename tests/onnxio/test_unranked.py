"""Models whose inputs or inner values have no rank in their file: what the nodes demand, what the caller says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest

import primsplit as ps
from primsplit.errors import RunError, ShapeError, SpecError, TraceError
from primsplit.testing import directional_derivative

WEIGHTS = "<double[3] w = {0.5, -1.0, 2.0}, double[3,3] m = {0.5, 1.0, -0.5, 0.3, 0.2, 0.9, 1.1, -0.7, 0.4}>"

Saved = Callable[..., str]


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Saves the model of these nodes, which reads `x` and gives `y`, both without a shape."""

    def save(nodes: str, head: str = "(double x) => (double y)") -> str:
        text = f'<ir_version: 8, opset_import: ["" : 18]>\ng {head} {WEIGHTS} {{ {nodes} }}'
        model = onnx.parser.parse_model(text)
        for value in (*model.graph.input, *model.graph.output):
            if not value.type.tensor_type.shape.dim:
                value.type.tensor_type.ClearField("shape")
        path = str(tmp_path / "model.onnx")
        onnx.save(model, path)
        return path

    return save


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
    path = saved(nodes)
    gradient = ps.split(ps.load(path), seed="ones").joint()
    evaluator: Any = onnx.reference.ReferenceEvaluator(path)
    random = np.random.default_rng(0)
    for shape in SHAPES:
        x, direction = random.uniform(0.1, 0.9, shape), random.standard_normal(shape)
        value, slope = gradient(x)
        expected: Any = evaluator.run(None, {"x": x})[0]
        np.testing.assert_allclose(value, expected, strict=True)
        moved = directional_derivative(
            lambda x: float(np.sum(evaluator.run(None, {"x": x[0]})[0])),
            [x],
            [direction],
        )
        np.testing.assert_allclose(np.vdot(slope, direction), moved, rtol=1e-6)
        assert slope.shape == shape


def test_a_value_of_unknown_rank_may_have_none_of_its_elements_or_no_axes(saved: Saved) -> None:
    gradient = ps.split(ps.load(saved("b = Mul (x, x) y = Add (b, w)")), seed="ones").joint()
    assert gradient(np.zeros((0, 3)))[1].shape == (0, 3)
    np.testing.assert_allclose(gradient(np.array(2.0))[1], 12.0)


def test_what_is_read_beside_a_value_of_unknown_rank_has_a_gradient(saved: Saved) -> None:
    path = saved("b = Mul (x, w) y = MatMul (b, m)")
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    _, dw, dm = ps.split(ps.load(path), wrt=["w", "m"], seed="ones").joint()(
        x, *(onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer)
    )
    w, m = (onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer)
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
    with pytest.raises(TraceError):
        ps.split(ps.load(path))
    gradient = ps.split(ps.load(path, specs={"b": 2}), seed="ones").joint()
    np.testing.assert_allclose(gradient(np.ones((2, 1, 3)))[1], np.array([0, 1])[:, None, None] * np.ones((2, 1, 3)))
    with pytest.raises(RunError):
        gradient(np.ones((1, 1, 3)))


REFUSED = "i = Constant <value_ints = [1]> () b = Gather (x, i) y = Mul (b, b)"


def test_a_gradient_that_needs_the_rank_is_refused_with_the_way_to_say_it(saved: Saved) -> None:
    path = saved(REFUSED)
    with pytest.raises(TraceError, match="rank") as error:
        ps.split(ps.load(path))
    assert "specs=" in str(error.value)
    x = np.arange(12.0).reshape(4, 3)
    for said in ("f64[N,3]", "[N,M]", 2, x, ps.spec("float64", ["N", 3])):
        _, slope = ps.split(ps.load(path, specs={"x": said}), seed="ones").joint()(x)
        np.testing.assert_allclose(slope, np.array([0, 2, 0, 0])[:, None] * x)


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
