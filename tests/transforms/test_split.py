"""Splitting: a rule becomes a primal list and a pullback list, and those of a program compose."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import expit

import primsplit as ps
from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.targets.finish import finish
from primsplit.testing import check_grads
from primsplit.transforms.split import split_block

rng = np.random.default_rng(7)


def kinds(block: Block) -> list[str]:
    return [op.kind for op in block.ops]


def test_the_example_of_the_thread_traces_to_three_ops_and_its_known_gradient() -> None:
    def g(a: Any, b: Any) -> Any:
        return a * b

    def f(x1: Any, x2: Any) -> Any:
        return g(x1, x2) + np.sin(x1)

    program = ps.trace(f, 2.0, 3.0)
    assert kinds(program.block) == ["Mul", "Sin", "Add"]
    value, (first, second) = ps.value_and_grad(f, wrt=(0, 1))(2.0, 3.0)
    assert value == pytest.approx(6.909297426825682, rel=1e-15)
    assert first == pytest.approx(2.5838531634528574, rel=1e-15)
    assert second == 2.0


def test_a_dense_product_splits_into_the_textbook_lists_and_stores_nothing() -> None:
    made = ps.split(lambda a, b: a @ b, ps.spec("f64", ["M", "K"]), ps.spec("f64", ["K", "N"]))
    assert kinds(made.primal) == ["MatMul"]
    assert kinds(made.pullback) == ["Transpose", "MatMul", "Transpose", "MatMul"]
    first, left, second, right = made.pullback.ops
    a, b = made.primal.params
    (dy,) = made.split.cotangents
    assert first.inputs == (b,)
    assert left.inputs == (dy, first.outputs[0])
    assert second.inputs == (a,)
    assert right.inputs == (second.outputs[0], dy)
    assert {row["name"]: (row["kind"], row["bytes"]) for row in made.capture_table()} == {
        "a": ("input", "0"),
        "b": ("input", "0"),
    }
    x, y, dz = rng.standard_normal((4, 3)), rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
    value, dx, dw = made.joint()(x, y, dz)
    np.testing.assert_allclose(value, x @ y, rtol=1e-12)
    np.testing.assert_allclose(dx, dz @ y.T, rtol=1e-12)
    np.testing.assert_allclose(dw, x.T @ dz, rtol=1e-12)


def test_a_product_with_respect_to_one_factor_needs_neither_the_work_nor_the_value_of_the_other() -> None:
    made = ps.split(lambda a, b: a @ b, ps.spec("f64", [4, 3]), ps.spec("f64", [3, 5]), wrt="a")
    assert kinds(made.pullback) == ["Transpose", "MatMul"]
    assert [row["name"] for row in made.capture_table()] == ["b"]
    assert made.backward.inputs == ("b", "d_y")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: np.sum(x), [("shape", "int64[1]")]),
        (lambda x: np.tanh(x), [("output", "float64[N]")]),
        (lambda x: np.exp(x), [("output", "float64[N]")]),
        (lambda x: np.sin(x), [("input", "float64[N]")]),
        (lambda x: x + x, []),
        (lambda x: expit(x), [("input", "float64[N]"), ("output", "float64[N]")]),
        (lambda x: np.sum(np.sin(x)), [("shape", "int64[1]"), ("input", "float64[N]")]),
    ],
    ids=["sum", "tanh", "exp", "sin", "add", "sigmoid", "sum of sines"],
)
def test_captures_are_the_least_that_the_pullback_needs(
    function: Callable[[Any], Any], expected: list[tuple[str, str]]
) -> None:
    made = ps.split(function, ps.spec("f64", ["N"]))
    assert [(row["kind"], row["type"]) for row in made.capture_table()] == expected


def test_a_sum_of_static_shape_captures_nothing() -> None:
    assert ps.split(np.sum, ps.spec("f64", [3])).captures == ()


@pytest.mark.parametrize("small", [(4,), (1, 4), (3, 1)])
@pytest.mark.parametrize("swapped", [False, True])
def test_broadcasting_is_undone_in_one_sum(small: tuple[int, ...], swapped: bool) -> None:
    wide, narrow = rng.standard_normal((3, 4)), rng.standard_normal(small)
    arguments = (narrow, wide) if swapped else (wide, narrow)
    made = ps.split(lambda a, b: a * b, *arguments)
    assert Counter(kinds(made.pullback))["ReduceSum"] == 1
    check_grads(lambda a, b: a * b, *arguments)


def test_mixed_precision_gives_each_gradient_its_own_dtype() -> None:
    gradient = ps.grad(lambda x, y: np.sum(x * y), wrt=(0, 1))
    dx, dy = gradient(np.ones(3, np.float32), np.full(3, 2.0))
    assert (dx.dtype, dy.dtype) == (np.float32, np.float64)


def test_a_scalar_factor_collects_the_sum() -> None:
    dx, dy = ps.grad(lambda x, y: np.sum(x * y), wrt=(0, 1))(3.0, np.array([1.0, 2.0]))
    assert dx == 3.0
    np.testing.assert_array_equal(dy, [3.0, 3.0])


def test_the_cotangent_of_a_structured_matrix_keeps_its_structure() -> None:
    d, b, a = rng.standard_normal(3), rng.standard_normal((3, 4)), rng.standard_normal((3, 3))
    seed = rng.standard_normal((3, 4))
    of_diagonal = ps.grad(lambda d: np.sum(seed * (np.diag(d) @ b)))(d)
    np.testing.assert_allclose(of_diagonal, np.diag(seed @ b.T), rtol=1e-13)
    of_triangle = ps.grad(lambda a: np.sum(seed * (np.triu(a) @ b)))(a)
    np.testing.assert_allclose(of_triangle, np.triu(seed @ b.T), rtol=1e-13)


def test_elements_rows_and_joined_arrays_get_back_their_own_part() -> None:
    x = rng.standard_normal((2, 3, 2))
    element = ps.grad(lambda x: x[1, 2, 1] * 3.0)(x)
    assert (np.argwhere(element).tolist(), element.sum()) == ([[1, 2, 1]], 3.0)
    assert ps.grad(lambda x: np.sum(x[:, 1, :]))(x).tolist() == [[[0.0] * 2, [1.0] * 2, [0.0] * 2]] * 2
    parts = [rng.standard_normal((2, 2, n)) for n in (1, 2, 3, 1)]
    seed = rng.standard_normal((2, 2, 7))
    found = ps.grad(lambda *p: np.sum(seed * np.concatenate(p, axis=2)), wrt=(0, 1, 2, 3))(*parts)
    for part, wanted in zip(found, np.split(seed, [1, 3, 6], axis=2), strict=True):
        np.testing.assert_array_equal(part, wanted)


def test_a_rule_with_several_results_and_options_is_split() -> None:
    def f(x: Any) -> Any:
        low, high = np.split(x, [2], axis=0)
        return np.mean(low, axis=0, keepdims=True) * high.sum()

    check_grads(f, rng.standard_normal((3, 2)), resize=(4,))
    assert ps.grad(lambda x: f(x).sum())(np.ones((3, 2))).tolist() == [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]


def test_cotangents_of_several_paths_add_up_and_one_path_adds_nothing() -> None:
    def f(y: Any, c: Any) -> Any:
        first = np.tanh(y[1:5])
        return np.tanh(first * c) * first

    check_grads(f, rng.standard_normal(6), rng.standard_normal(4))
    assert "Add" not in kinds(ps.split(lambda x: np.sin(np.exp(x)), 1.0).pullback)


def test_a_diamond_of_sixty_levels_takes_each_op_once() -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = x * 0.5 + x * 0.5
        return x

    made = ps.split(f, 1.0)
    assert (len(made.primal.ops), len(made.pullback.ops)) == (180, 180)
    assert ps.grad(f)(1.0) == 1.0


def test_a_cotangent_of_ones_can_be_built_in() -> None:
    made = ps.split(lambda x: 2 * x, ps.spec("f64", ["N"]), seed="ones")
    assert made.joint().inputs == ("x",)
    np.testing.assert_array_equal(made.joint()(np.array([1.0, 2.0, 3.0]))[1], [2, 2, 2])


class Point(NamedTuple):
    x: Any
    y: Any


class Line(NamedTuple):
    p1: Point
    p2: Point


def test_points_and_lines_give_the_known_gradients() -> None:
    assert ps.grad(lambda a: Point(a, a).x + Point(a, a).y)(3.0) == 2.0
    line = Line(Point(1.0, 2.0), Point(3.0, 4.0))
    gradient = ps.grad(lambda line: 2 * line.p1.x + 5 * line.p2.y)(line)
    assert gradient == Line(Point(2.0, 0.0), Point(0.0, 5.0))


def test_a_rule_may_call_back_into_differentiation() -> None:
    @ps.primitive
    def twice(x: Any) -> Any:
        return np.sin(np.sin(x))

    @ps.rrule(twice)
    def _rule(x: Any) -> Any:
        return ps.vjp(lambda t: np.sin(np.sin(t)), x)

    check_grads(lambda x: twice(x) * x, rng.standard_normal(4))


def test_exp_is_computed_once_in_the_joint_program() -> None:
    joint = finish(ps.split(np.exp, ps.spec("f64", ["N"])).joint().block)
    assert Counter(kinds(joint))["Exp"] == 1


def test_the_square_has_no_power_in_its_pullback() -> None:
    made = ps.split(lambda x: x**2, ps.spec("f64", ["N"]))
    assert "Pow" not in kinds(finish(made.joint().block))


def test_a_chain_of_products_transposes_nothing_twice() -> None:
    def chain(a: Any, b: Any, c: Any) -> Any:
        return (a @ b) @ c + (a @ b) @ c

    joint = finish(ps.split(chain, *(ps.spec("f64", [3, 3]) for _ in range(3))).joint().block)
    sources = [op.inputs[0] for op in joint.ops if op.kind == "Transpose"]
    assert len(sources) == len(set(sources))


@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")
def test_a_longer_chain_is_split_into_lists_longer_in_proportion() -> None:
    def chain(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = np.sin(x) * 0.5
        return x

    def count(steps: int) -> tuple[int, int]:
        made = ps.split(chain, ps.spec("f64", [3]), steps)
        return len(made.primal.ops), len(made.pullback.ops)

    assert count(200) == (400, 600)
    assert count(2000) == (4000, 6000)


def test_an_output_that_a_rule_hands_on_may_have_no_cotangent() -> None:
    """Outside of the call it is what it was before."""
    first = ps.primitive(lambda x, y: (x, np.tanh(np.sum(y))))
    second = ps.cached(lambda x, y, s: (np.sin(y * s), y, s))

    def f(x: Any, y: Any) -> Any:
        def step(c: Any) -> Any:
            x, y, n = c
            x, s = first(x, y)
            x, y, s = second(x, y, s)
            return y, x, n + 1

        x, y, _ = ps.while_loop(lambda c: c[2] < 1, step, (x, y, 0))
        return np.sum(x * y)

    check_grads(f, np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, -0.1]))


def test_two_uses_of_a_call_share_no_size_that_its_data_decide() -> None:
    """The loops take 3 and 6 steps and keep a row a step: their Splits need two symbols for these counts."""

    @ps.primitive
    def grown(x: Any) -> Any:
        return ps.while_loop(lambda c: c.sum() < 10, lambda c: c * np.exp(c * 0.1) + 0.5, x)

    def product(z: Any) -> Any:
        return np.sum(grown(z[:3])) * np.sum(grown(z[3:]))

    gradient = ps.grad(product)
    z, direction, step = np.array([1.0, 2.0, 0.5, -1.0, 0.3, -0.1]), np.arange(6.0) - 2.5, 1e-6
    slope = (gradient(z + step * direction) - gradient(z - step * direction)) / (2 * step)
    np.testing.assert_allclose(ps.hvp(product, (z,), direction), slope, rtol=1e-6)
    second = ps.grad(lambda z: np.sum(gradient(z) * direction))
    np.testing.assert_allclose(second(z), slope, rtol=1e-6)


def test_a_constant_of_a_loaded_model_is_in_no_other_program(tmp_path: Path) -> None:
    """Programs share the splits of equal ops: a file of the one may be written over by the other."""

    def third(x: Any) -> Any:
        return np.sum(x / 3.0)

    path = str(tmp_path / "third.onnx")
    ps.trace(third, ps.spec("float64", [3])).save(path)
    model = ps.load(path)
    np.testing.assert_allclose(ps.grad(lambda x: model(x))(np.ones(3)), np.full(3, 1 / 3))
    ps.export(third, ps.spec("float64", [3]), path=path)


def test_a_small_constant_keeps_its_own_name() -> None:
    def names(name: str) -> set[str]:
        x, y = Var(Type(np.float64, (3,)), "x"), Var(Type(np.float64, (3,)))
        block = Block("f", (x,), (Op("Mul", (x, Const(np.array([2.0, 3.0, 5.0]), name)), (y,)),), (y,))
        made = split_block(block, (0,), (0,))
        return {v.hint for b in (made.primal, made.pullback) for op in b.ops for v in op.inputs if isinstance(v, Const)}

    assert names("weights") == {"weights"}
    assert names("factors") == {"factors"}
