"""A bias is a part of its product, and the numbers stay."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.biases import biases_in_products
from primsplit.testing.gradients import check_grads
from tests.random_programs import run
from tests.recording import kinds, record

TYPES = ("float64[N,3]", "float64[4,3]", "float64[4]", "float64[N,4]")
SUMS: dict[str, tuple[Callable[..., Any], list[str] | None]] = {
    "a bias": (lambda x, w, b, c: op.Add(op.Gemm(x, w, transB=1), b), ["Gemm"]),
    "a bias before": (lambda x, w, b, c: op.Add(b, op.Gemm(x, w, transB=1)), ["Gemm"]),
    "several rows in one": (
        lambda x, w, b, c: op.Add(op.Reshape(op.Gemm(x, w, transB=1), [-1, 1, 4]), b),
        ["Gemm", "Reshape"],
    ),
    "a product that is reshaped": (
        lambda x, w, b, c: op.Add(b, op.Reshape(op.MatMul(x, w.T), [-1, 1, 4])),
        ["Transpose", "Gemm", "Reshape"],
    ),
    "a product that is reshaped otherwise": (
        lambda x, w, b, c: op.Add(op.Reshape(op.Gemm(x, w, transB=1), [4, -1]), b[:1]),
        None,
    ),
    "a product that is read twice": (
        lambda x, w, b, c: op.Mul(y := op.Gemm(x, w, transB=1), op.Add(y, b)),
        None,
    ),
    "a matrix": (lambda x, w, b, c: op.Add(op.Gemm(x, w, transB=1), c), None),
    "a product that is scaled": (lambda x, w, b, c: op.Add(op.Gemm(x, w, transB=1, alpha=2.0), b), None),
    "two biases": (lambda x, w, b, c: op.Add(op.Add(op.Gemm(x, w, transB=1), b), b), ["Gemm", "Add"]),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_bias_is_the_third_operand_of_its_product(name: str, rows: int) -> None:
    function, wanted = SUMS[name]
    block = record(function, *TYPES)
    found = biases_in_products(block)
    check_types(found)
    assert found is block if wanted is None else kinds(found) == wanted
    random = np.random.default_rng(rows)
    inputs = [random.standard_normal(s) for s in ((rows, 3), (4, 3), (4,), (rows, 4))]
    (a,), (b,) = run(block, inputs), run(found, inputs)
    np.testing.assert_allclose(a, b, rtol=1e-14)


def layers(x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
    """Two layers with matrices as torch has them."""
    return np.sum(np.tanh(np.tanh(x @ w.T + b) @ v.T + c) ** 2)


def test_a_file_of_layers_has_no_sum_of_its_own() -> None:
    random = np.random.default_rng(0)
    values = [random.standard_normal(s) for s in ((7, 3), (5, 3), (5,), (4, 5), (4,))]
    found = [node.op_type for node in ps.trace(layers, *values).to_onnx().graph.node]
    assert found.count("Gemm") == 2
    assert "Add" not in found
    check_grads(layers, *values, order=2)


def test_a_bias_goes_with_the_product_of_all_steps() -> None:
    def recurrent(xs: Any, w: Any, r: Any, b: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.tanh(x @ w.T + b + h @ r.T)
            return h, h

        return np.sum(ps.scan(step, np.zeros((16, 256)), xs)[1] ** 2)

    random = np.random.default_rng(0)
    xs, w, r, b = (random.standard_normal(s) * 0.1 for s in ((3, 16, 64), (256, 64), (256, 256), (256,)))
    graph = ps.trace(recurrent, xs, w, r, b).to_onnx().graph
    (product,) = (node for node in graph.node if node.op_type == "Gemm")
    assert "b" in product.input
    h, total = np.zeros((16, 256)), 0.0
    for x in xs:
        h = np.tanh(x @ w.T + b + h @ r.T)
        total += np.sum(h**2)
    np.testing.assert_allclose(ps.trace(recurrent, xs, w, r, b).session()(xs, w, r, b)[0], total, rtol=1e-12)
