"""Sums of many numbers of few bits keep their digits: against float64 of the same numbers."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ops import op

KINDS: dict[str, Callable[..., Any]] = {
    "ReduceSum": lambda x, **o: np.sum(x, **o),
    "ReduceMean": lambda x, **o: np.mean(x, **o),
    "ReduceL1": lambda x, **o: np.sum(np.abs(x), **o),
    "ReduceL2": lambda x, **o: np.sqrt(np.sum(x * x, **o)),
    "ReduceSumSquare": lambda x, **o: np.sum(x * x, **o),
    "ReduceLogSum": lambda x, **o: np.log(np.sum(x, **o)),
    "ReduceLogSumExp": lambda x, **o: np.log(np.sum(np.exp(x), **o)),
}
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((100_000,), (0,)),
    ((99_991,), (0,)),
    ((3, 50_000), (1,)),
    ((49_999, 3), (0,)),
    ((2, 9_000, 2, 12), (1, 3)),
    ((32, 2, 30, 40), (0, 2, 3)),
    ((1, 300, 400, 1), (0, 1, 2, 3)),
]
"""Shapes, some of a prime length, and the axes that are summed."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_a_reduction_of_many_numbers_keeps_its_digits(kind: str, shape: Any, axes: Any) -> None:
    x = np.full(shape, 0.1, np.float32) + np.arange(shape[-1], dtype=np.float32) / np.float32(9 * shape[-1])
    for keepdims in (False, True):
        program = ps.trace(lambda x, k=keepdims: getattr(op, kind)(x, list(axes), keepdims=int(k)), x)
        wanted = KINDS[kind](x.astype(float), axis=axes, keepdims=keepdims)
        np.testing.assert_allclose(program(x), wanted, rtol=5e-6)


@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceSumSquare", "ReduceL2"])
def test_so_does_one_of_as_many_as_the_run_has(kind: str) -> None:
    program = ps.trace(lambda x: getattr(op, kind)(x, keepdims=0), ps.spec("float32", ["N", "M"]))
    for shape in ((1, 1), (3, 5), (2**14, 1), (1, 2**14 - 1), (300, 333), (17, 10_007)):
        x = np.full(shape, 0.1, np.float32)
        np.testing.assert_allclose(program(x), KINDS[kind](x.astype(float)), rtol=2e-5, err_msg=str(shape))
    if kind != "ReduceMean":
        assert program(np.zeros((0, 3), np.float32)) == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("count", [60_000, 49_999])
def test_numbers_of_16_bits_are_rounded_once(dtype: Any, count: int) -> None:
    x = np.full(count, 0.01).astype(dtype)
    for function in (np.sum, np.mean):
        wanted = function(x.astype(float)).astype(dtype)
        assert ps.trace(function, x)(x) == wanted
    halves = np.where(np.arange(60_000) < 30_000, 4.0, -4.0).astype(dtype)  # the sum of a half is no float16
    assert ps.trace(np.sum, halves)(halves) == 0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "a variance far from 0": lambda x: np.var(x + np.float32(1e4)),
    "a standard deviation": np.std,
    "a norm": np.linalg.norm,
    "a product with itself": lambda x: x @ x,
    "rows with a vector": lambda x: np.stack([x, x]) @ x,
    "a vector with columns": lambda x: x @ np.stack([x, x], axis=1),
    "means of columns": lambda x: np.mean(_columns(x), axis=0),
    "norms of columns": lambda x: np.linalg.norm(_columns(x), axis=0),
    "an einsum over rows": lambda x: np.einsum("ij,i->j", _columns(x), x),
    "a logsumexp of columns": lambda x: np.log(np.sum(np.exp(_columns(x)), axis=0)),
}


def _columns(x: Any) -> Any:
    return np.stack([x, 2 * x, 3 * x], axis=1)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", [200_000, 99_991, "N"])
def test_what_is_made_of_such_sums_keeps_its_digits(name: str, count: Any) -> None:
    x = (0.1 + np.sin(np.arange(count if isinstance(count, int) else 99_991))).astype(np.float32)
    program = ps.trace(FUNCTIONS[name], ps.spec("float32", [count]))
    if name == "a variance far from 0":
        shifted = (x + np.float32(1e4)).astype(float)
        assert program(x) == pytest.approx(np.var(shifted), rel=1e-5)
        return
    np.testing.assert_allclose(program(x), FUNCTIONS[name](x.astype(float)), rtol=3e-6)


@pytest.mark.parametrize("count", [200_000, 99_991, "N"])
def test_cotangents_that_a_broadcast_adds_up_keep_their_digits(count: Any) -> None:
    """The gradients of a factor and of a bias: sums over all rows."""
    length = count if isinstance(count, int) else 150_001
    x = np.full((length, 2), 0.1, np.float32)
    spec = ps.spec("float32", [count, 2])
    made = ps.split(lambda s, b, x: np.mean(x * s + b), np.float32(2), np.zeros(2, np.float32), spec, wrt=(0, 1))
    by_factor, by_bias = made.joint()(np.float32(2), np.zeros(2, np.float32), x)[1:]
    np.testing.assert_allclose(by_factor, np.float64(x[0, 0]), rtol=1e-5)
    np.testing.assert_allclose(by_bias, [0.5, 0.5], rtol=1e-5)


def test_few_numbers_are_summed_by_one_operator() -> None:
    made = ps.trace(np.sum, ps.spec("float32", [2**13 - 1])).to_onnx()
    assert [node.op_type for node in made.graph.node] == ["ReduceSum"]
    made = ps.trace(np.sum, ps.spec("float64", [2**20])).to_onnx()
    assert [node.op_type for node in made.graph.node] == ["ReduceSum"]


def test_a_sum_in_each_step_of_a_loop_keeps_its_digits_where_the_run_has_many() -> None:
    def means(x: Any) -> Any:
        return ps.scan(lambda total, k: (total + np.sum(x * k), np.mean(x * k)), np.float32(0), np.float32([1, 2]))

    program = ps.trace(means, ps.spec("float32", ["N"]))
    total, steps = program(np.full(99_991, 0.1, np.float32))
    tenth = float(np.float32(0.1))
    np.testing.assert_allclose(total, 3 * 99_991 * tenth, rtol=1e-6)
    np.testing.assert_allclose(steps, [tenth, 2 * tenth], rtol=1e-6)


def test_one_comparison_outside_of_the_loop_chooses_for_all_sums_over_a_size() -> None:
    def sums(x: Any) -> Any:
        return ps.scan(lambda total, k: (total + np.sum(np.sin(x * k)), np.sum(x * k)), np.sum(x), np.float32([1, 2]))

    nodes = ps.trace(sums, ps.spec("float32", ["N"])).to_onnx().graph.node
    assert [node.op_type for node in nodes].count("Less") == 1
    bodies = [a.g for node in nodes if node.op_type == "Scan" for a in node.attribute if a.name == "body"]
    assert all("Less" not in [node.op_type for node in body.node] for body in bodies)


def test_a_product_in_the_run_reads_the_matrix_as_it_lies_in_memory() -> None:
    """A Transpose outside of the branches would be a copy in each run."""
    program = ps.trace(lambda x, v: x.T @ v, ps.spec("float32", ["N", 3]), ps.spec("float32", ["N"]))
    assert "Transpose" not in [node.op_type for node in program.to_onnx().graph.node]


def test_rows_of_a_symbolic_number_are_summed_by_one_product_without_a_branch() -> None:
    program = ps.trace(lambda x: np.sum(x, axis=0), ps.spec("float32", ["N", 16]))
    kinds = [node.op_type for node in program.to_onnx().graph.node]
    assert "If" not in kinds
    assert "Gemm" in kinds
    for count in (0, 1, 7, 100_003):
        made = program(np.full((count, 16), 0.1, np.float32))
        np.testing.assert_allclose(made, np.full(16, count * float(np.float32(0.1))), rtol=1e-5)


LOADED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a vector": (np.sum, (200_003,)),
    "a mean of two axes": (np.mean, (300, 701)),
    "rows": (lambda x: np.sum(x, axis=0), (5_003, 40)),
    "columns": (lambda x: np.mean(x, axis=1), (3, 50_001)),
    "a variance": (np.var, (200_003,)),
    "a norm": (np.linalg.norm, (200_003,)),
    "a dot product": (lambda x: x @ x, (200_003,)),
    "exponentials": (lambda x: np.log(np.sum(np.exp(x))), (200_003,)),
    "a sum in a branch": (lambda x: np.sum(x) if x[0] > 0 else np.sum(x * x), (200_003,)),
}


def nodes_in(graph: Any) -> int:
    return sum(1 + sum(nodes_in(a.g) for a in n.attribute if a.type == a.GRAPH) for n in graph.node)


@pytest.mark.parametrize("name", LOADED)
def test_a_program_that_is_saved_and_loaded_again_does_not_grow(name: str, tmp_path: Any) -> None:
    function, shape = LOADED[name]
    made = ps.split(function, ps.spec("float32", ["N", "M"][: len(shape)])).joint()
    counts = []
    for turn in range(3):
        path = tmp_path / f"{turn}.onnx"
        made.save(path)
        counts.append(nodes_in(onnx.load(path).graph))
        made = ps.load(path)
    assert counts[2] <= counts[1] <= 1.1 * counts[0]

    x = np.full(shape, 0.1, np.float32)
    value = made(x, *([] if np.ndim(function(x)) == 0 else [np.ones(np.shape(function(x)), np.float32)]))[0]
    np.testing.assert_allclose(value, function(x.astype(float)), rtol=2e-5, atol=1e-9)
