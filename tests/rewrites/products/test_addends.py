"""A derivative's addend to a product of matrices becomes a part of it, and values are left alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.addends import addends_in_products
from primsplit.targets.finish import finish
from primsplit.testing.gradients import check_grads
from tests.random_programs import run
from tests.recording import derivative, kinds

MATRICES = ("float64[N,3]", "float64[3,4]", "float64[N,5]", "float64[4,5]")
SUMS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "MatMul + MatMul": (lambda x, a, y, b: op.Add(op.MatMul(x, a), op.MatMul(x, a * 2.0)), ["MatMul", "Mul", "Gemm"]),
    "MatMul + Gemm": (
        lambda x, a, y, b: op.Add(op.MatMul(x, a), op.Gemm(y, b, transA=0, transB=1)),
        ["MatMul", "Gemm"],
    ),
    "the product before": (lambda x, a, y, b: op.Add(op.MatMul(x, a), op.MatMul(y, b.T) * 2.0), None),
    "a product read twice": (lambda x, a, y, b: op.Add(op.Exp(z := op.MatMul(x, a)), z), None),
    "a product with an addend": (
        lambda x, a, y, b: op.Add(op.Exp(op.MatMul(x, a)), op.Gemm(x, a, a[0])),
        None,
    ),
    "a row added": (lambda x, a, y, b: op.Add(a[0], op.MatMul(x, a)), None),
}


def inputs_of(rows: int) -> list[Any]:
    random = np.random.default_rng(rows)
    return [random.standard_normal(s) for s in ((rows, 3), (3, 4), (rows, 5), (4, 5))]


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("rows", [0, 1, 6])
def test_what_is_added_to_a_product_is_its_third_operand(name: str, rows: int) -> None:
    function, wanted = SUMS[name]
    block = derivative(function, *MATRICES)
    found = addends_in_products(block, [0])
    check_types(found)
    assert found is block if wanted is None else kinds(found) == wanted
    (a,), (b,) = run(block, inputs_of(rows)), run(found, inputs_of(rows))
    np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize(
    ("rows", "between", "is_fused"), [(32, 9, True), (33, 1, True), (33, 2, True), (33, 3, False), ("N", 3, False)]
)
def test_an_addend_may_follow_a_large_product_by_few_ops(rows: int | str, between: int, is_fused: bool) -> None:
    """A product of 32 rows takes 2**14 bytes, which is small: it may wait for any number of ops."""

    def f(x: Any, a: Any, y: Any) -> Any:
        product, other = op.MatMul(x, a), y
        for _ in range(between):
            other = op.Sin(other)
        return op.Mul(op.Add(product, y), other)

    block = derivative(f, f"float64[{rows},3]", "float64[3,64]", f"float64[{rows},64]")
    assert ("Gemm" in kinds(addends_in_products(block, [0]))) is is_fused


def test_a_value_is_left_as_it_rounds() -> None:
    block = derivative(SUMS["MatMul + Gemm"][0], *MATRICES)
    assert addends_in_products(block, []) is block


def test_a_loop_of_the_value_is_left_and_one_of_a_derivative_is_not() -> None:
    def f(x: Any, a: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            return op.Add(op.MatMul(carry, a), op.MatMul(x, a)), None

        return op.Identity(ps.scan(step, x, None, length=2)[0])

    block = derivative(f, "float64[2,3]", "float64[3,3]")
    assert addends_in_products(block, []) is block
    (body,) = [b for op in addends_in_products(block, [0]).ops for b in op.blocks()]
    assert "Gemm" in kinds(body)


def test_a_product_over_an_axis_that_may_be_empty_is_left() -> None:
    block = derivative(lambda x, y: op.Add(op.MatMul(x, y), op.MatMul(x, y * 2.0)), "float64[3,N]", "float64[N,4]")
    assert addends_in_products(block, [0]) is block


def test_a_product_around_a_loop_stays_there() -> None:
    def f(x: Any, a: Any) -> Any:
        product = op.MatMul(x, a)
        return ps.scan(lambda carry, _: (op.Add(carry, product), None), product, None, length=4)[0]

    block = derivative(lambda x, a: op.Identity(f(x, a)), "float64[2,3]", "float64[3,3]")
    found = addends_in_products(block, [0])
    assert "MatMul" in kinds(found)
    inputs = [np.arange(6.0).reshape(2, 3), np.arange(9.0).reshape(3, 3)]
    np.testing.assert_allclose(run(found, inputs)[0], 5 * inputs[0] @ inputs[1])


def test_the_gradient_of_shared_weights_is_one_chain_of_products() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(np.tanh(x @ w) @ w))

    w, x = np.random.default_rng(0).standard_normal((3, 3)), np.random.default_rng(1).standard_normal((4, 3))
    made: Block = ps.split(f, w, x, wrt="w").joint().block
    assert "Add" not in kinds(finish(made, [1]))
    check_grads(f, w, x)
