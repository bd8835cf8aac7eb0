"""Products with a transposed matrix leave nothing for onnxruntime to fuse, so that they run where the file has them."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.transposed import gemm_of_transposed
from tests.random_programs import run
from tests.recording import kinds, record, sub_block

rng = np.random.default_rng(5)


def _turned(x: Any) -> Any:
    return op.Transpose(x, perm=[1, 0])


@pytest.mark.parametrize(
    ("program", "attributes"),
    [
        (lambda a: op.MatMul(_turned(a), a), (1, 0)),
        (lambda a: op.MatMul(a, _turned(a)), (0, 1)),
        (lambda a: op.MatMul(_turned(a), _turned(op.Transpose(a))), (1, 1)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_product_with_a_transposed_matrix_is_a_gemm(program: Any, attributes: Any, dtype: str) -> None:
    block = record(lambda a: program(a), f"{dtype}[N,M]")
    after = gemm_of_transposed(block)
    check_types(after)
    product = after.ops[-1]
    assert (product.kind, product.attributes["transA"], product.attributes["transB"]) == ("Gemm", *attributes)
    for shape in ((4, 3), (1, 1), (0, 3), (3, 0)):
        inputs = [rng.standard_normal(shape).astype(dtype)]
        for expected, found in zip(run(block, inputs), run(after, inputs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("program", "spec"),
    [
        (lambda a: op.MatMul(a, op.Transpose(a, perm=[0, 2, 1])), "float32[B,N,M]"),
        (lambda a: op.MatMul(a, op.Transpose(a, perm=[0, 1])), "float32[N,N]"),
        (lambda a: op.MatMul(_turned(a), a), "int64[N,M]"),
        (lambda a: op.MatMul(op.Tanh(_turned(a)), a), "float32[N,M]"),
        (lambda a: op.MatMul(_turned(a), op.ReduceSum(a, [1], keepdims=0)), "float32[N,M]"),
    ],
)
def test_other_products_stay(program: Any, spec: str) -> None:
    block = record(lambda a: program(a), spec)
    assert gemm_of_transposed(block) is block


@pytest.mark.parametrize(
    ("shapes", "after"),
    [
        (((9, 256), (9, 512)), ["Transpose", "Flatten", "Gemm"]),
        (((9, 255), (9, 512)), ["Gemm"]),
        (((9, 256), (9, 511)), ["Gemm"]),
        (((1025, 256), (1025, 512)), ["Gemm"]),
        (((0, 256), (0, 512)), ["Transpose", "Flatten", "Gemm"]),
    ],
)
def test_a_matrix_is_turned_once_before_a_wide_product(shapes: Any, after: list[str], tmp_path: Any) -> None:
    program = ps.trace(lambda a, b: a.T @ b, *(ps.spec("float32", s) for s in shapes))
    model = program.to_onnx()
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    (found,) = session.run(None, dict(zip((i.name for i in session.get_inputs()), inputs, strict=True)))
    np.testing.assert_allclose(found, inputs[0].T @ inputs[1], rtol=1e-4, atol=1e-4)
    kept = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
    assert [kind for kind in kept if kind in {"Transpose", "Flatten", "Gemm"}] == after


def test_a_transpose_that_something_else_reads_stays() -> None:
    block = record(lambda a: (op.MatMul(_turned(a), a), op.Neg(_turned(a))), "float32[N,M]")
    assert kinds(gemm_of_transposed(block)) == ["Gemm", "Transpose", "Neg"]


def test_a_product_in_a_branch_reads_the_matrix_outside() -> None:
    def program(a: Any) -> Any:
        turned = _turned(a)
        first, second = sub_block(lambda: op.MatMul(turned, a)), sub_block(lambda: op.MatMul(a, turned))
        return op.If(
            op.Greater(op.ReduceMax(a, keepdims=0), 0.0), then_branch=first, else_branch=second, types=[a.type]
        )

    after = gemm_of_transposed(record(program, "float32[3,3]"))
    check_types(after)
    assert "Transpose" not in kinds(after)


def test_onnxruntime_fuses_no_product_of_a_network_s_gradient(tmp_path: Any) -> None:
    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.tanh(x @ w)
        return np.mean(x * x)

    weights = [ps.spec("float32", [8, 8])] * 3
    made = ps.split(loss, weights, ps.spec("float32", ["N", 8]), wrt="weights")
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(made.joint().to_onnx().SerializeToString(), options)
    found = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
    assert found.count("Gemm") == 5
    assert "FusedMatMul" not in found


@pytest.mark.parametrize("spec", ["float32[N,2,3]", "float64[2,N,3]", "float32[2,5,N,3]", "float32[2,5,3]"])
def test_a_stack_times_a_transposed_matrix_is_one_gemm(spec: str) -> None:
    dtype = spec.split("[", maxsplit=1)[0]
    block = record(lambda a, w: op.MatMul(a, _turned(w)), spec, f"{dtype}[4,3]")
    after = gemm_of_transposed(block)
    check_types(after)
    assert kinds(after) == ["Reshape", "Gemm", "Reshape"]
    for size in (7, 1, 0):
        shape = [d if isinstance(d, int) else size for d in block.params[0].type.shape or ()]
        inputs = [rng.standard_normal(shape).astype(dtype), rng.standard_normal((4, 3)).astype(dtype)]
        (found,) = run(after, inputs)
        np.testing.assert_allclose(found, inputs[0] @ inputs[1].T, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("specs", [("float32[B,N,3]", "float32[4,3]"), ("float32[N,2,M]", "float32[4,M]")])
def test_a_stack_of_which_two_sizes_are_unknown_stays(specs: tuple[str, str]) -> None:
    block = record(lambda a, w: op.MatMul(a, _turned(w)), *specs)
    assert gemm_of_transposed(block) is block
