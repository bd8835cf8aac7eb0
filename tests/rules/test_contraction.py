"""Rules of products: MatMul of every rank, Gemm, Einsum, Det, and what exactly their splits are."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.ops import op
from primsplit.rules.table import RULES
from primsplit.testing import check_grads
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

Shapes = list[tuple[int, ...]]


def arrays(shapes: Shapes) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal(s) for s in shapes]


def in_numpy(operator: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """The operator while tracing, and plain NumPy to compare with."""

    def either(*inputs: Any) -> Any:
        chosen = operator if tracing.is_recording() else plain
        return chosen(*inputs)

    return either


MATMULS: list[Shapes] = [
    [(4,), (4,)], [(3, 4), (4,)], [(2, 3, 4), (4,)], [(4,), (4, 5)], [(4,), (2, 4, 5)], [(3, 4), (4, 5)],
    [(2, 3, 4), (4, 5)], [(3, 4), (2, 4, 5)], [(1, 3, 4), (4, 5)], [(2, 1, 3, 4), (3, 4, 5)], [(2, 2, 3, 4), (4, 5)],
    [(3, 4), (4, 1)], [(1, 4), (4, 5)],
]  # fmt: skip


@pytest.mark.parametrize("shapes", MATMULS)
def test_matmul_of_every_rank(shapes: Shapes) -> None:
    check_grads(in_numpy(op.MatMul, np.matmul), *arrays(shapes))


@pytest.mark.parametrize("third", [None, (3, 5), (5,), (3, 1), (1, 5), ()])
@pytest.mark.parametrize(("turn_a", "turn_b"), list(itertools.product([0, 1], [0, 1])))
def test_gemm_with_every_flag_and_form_of_c(turn_a: int, turn_b: int, third: tuple[int, ...] | None) -> None:
    def gemm(*inputs: Any) -> Any:
        return op.Gemm(*inputs, transA=turn_a, transB=turn_b, alpha=0.5, beta=2.0)

    def plain(a: Any, b: Any, c: Any = 0.0) -> Any:
        return 0.5 * (a.T if turn_a else a) @ (b.T if turn_b else b) + 2.0 * c

    shapes: Shapes = [(4, 3) if turn_a else (3, 4), (5, 4) if turn_b else (4, 5)]
    check_grads(in_numpy(gemm, plain), *arrays(shapes if third is None else [*shapes, third]))


EQUATIONS: list[tuple[str, Shapes]] = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...i,...i->...", [(2, 3), (1, 3)]),
    ("i,i", [(4,), (4,)]),
    ("ij->j", [(3, 4)]),
    ("ij->", [(3, 4)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("iij,i->j", [(3, 3, 2), (3,)]),
    ("iii->i", [(3, 3, 3)]),
    ("iji->j", [(3, 2, 3)]),
    ("ij,kl->jl", [(3, 4), (2, 5)]),
    ("i,ij,j", [(3,), (3, 4), (4,)]),
    ("ij,jk->ik", [(3, 1), (4, 2)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum_of_every_kind_of_equation(equation: str, shapes: Shapes) -> None:
    def operator(*inputs: Any) -> Any:
        return op.Einsum(*inputs, equation=equation)

    check_grads(in_numpy(operator, lambda *inputs: np.einsum(equation, *inputs)), *arrays(shapes))


@pytest.mark.parametrize("rows", [(1, 5, 5), (5, 1, 1), (1, 1, 5), (1, 1, 1)])
def test_einsum_along_an_axis_whose_size_a_sum_of_two_arrays_made(rows: tuple[int, int, int]) -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return np.sum(op.Einsum(x + y, z, equation="bi,bj->bij"))

    specs = [ps.spec("float64", [size, 2]) for size in ("N", "M", "K")]
    x, y, z = arrays([(size, 2) for size in rows])
    value, *found = ps.split(function, *specs).joint()(x, y, z)
    long = max(rows)
    left, right = np.broadcast_to(x + y, (long, 2)), np.broadcast_to(z, (long, 2))
    np.testing.assert_allclose(value, np.einsum("bi,bj->", left, right))
    for gradient, factor, given in zip(found, (right, right, left), (x, y, z), strict=True):
        each = np.repeat(factor.sum(axis=1, keepdims=True), 2, axis=1)
        np.testing.assert_allclose(gradient, each if len(given) == long else each.sum(axis=0, keepdims=True))


def test_det_of_matrices_whose_size_only_the_run_knows() -> None:
    joint = ps.split(lambda x: op.Det(x), ps.spec("float64", ["B", "N", "N"])).joint()
    for size in (0, 1, 5):
        x, seed = arrays([(2, size, size), (2,)])
        value, slope = joint(x, seed)
        np.testing.assert_allclose(value, np.linalg.det(x), rtol=1e-12)
        np.testing.assert_allclose(slope, (seed * value)[:, None, None] * np.linalg.inv(x).swapaxes(1, 2), rtol=1e-9)


def test_det_of_a_singular_float32_matrix_has_its_cofactors() -> None:
    a = np.diag(np.array([2, 0, 3, 4], "float32"))
    _, found = ps.split(op.Det, ps.spec("float32", ["N", "N"])).joint().session()(a)
    np.testing.assert_array_equal(found, np.diag(np.array([0, 24, 0, 0], "float32")))


@pytest.mark.parametrize(
    ("wrt", "pullback", "captured"),
    [
        (0, ["Transpose", "MatMul"], [1]),
        (1, ["Transpose", "MatMul"], [0]),
        ((0, 1), ["Transpose", "MatMul"] * 2, [0, 1]),
    ],
)
def test_the_split_of_a_dense_matmul_is_exactly_the_textbooks(
    wrt: Any, pullback: list[str], captured: list[int]
) -> None:
    made = ps.split(np.matmul, ps.spec("float64", [3, 4]), ps.spec("float64", [4, 5]), wrt=wrt).split
    assert [o.kind for o in made.primal.ops] == ["MatMul"]
    assert [o.kind for o in made.pullback.ops] == pullback
    assert sorted(made.primal.params.index(c) for c in made.captures) == captured
    assert made.stored() == ()


def test_the_weight_gradient_of_a_batch_is_one_product_of_matrices() -> None:
    specs = ps.spec("float64", ["B", "S", 4]), ps.spec("float64", [4, 5])
    made = ps.split(np.matmul, *specs, wrt=1).split
    assert [o.kind for o in made.pullback.ops] == ["Reshape", "Reshape", "Transpose", "MatMul"]


def test_no_vector_is_the_right_operand_of_a_matmul() -> None:
    specs = ps.spec("float64", ["N", 4]), ps.spec("float64", [4])
    block = ps.split(np.matmul, *specs).split.joint()
    assert all(o.inputs[1].type.rank == 2 for o in block.ops if o.kind == "MatMul")


def test_integer_products_have_no_gradient() -> None:
    assert RULES["MatMulInteger"].form == "no_gradient"


@pytest.mark.parametrize("row", rows_of("contraction"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
