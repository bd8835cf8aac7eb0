"""Reductions in stages: any axes, literal and symbolic sizes, sizes without a divisor."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

REDUCTIONS: dict[str, Any] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceL1": np.sum,
    "ReduceL2": lambda x, **options: np.sqrt(np.sum(x * x, **options)),
    "ReduceSumSquare": lambda x, **options: np.sum(x * x, **options),
    "ReduceLogSum": lambda x, **options: np.log(np.sum(x, **options)),
    "ReduceLogSumExp": lambda x, **options: np.log(np.sum(np.exp(x), **options)),
}
"""The reference for each operator, for positive numbers."""


def _check(kind: str, x: np.ndarray[Any, Any], spec: list[Any], axes: list[int], *, keepdims: int = 0) -> None:
    program = ps.trace(lambda x: getattr(op, kind)(x, axes, keepdims=keepdims), ps.spec("float32", spec))
    wanted = REDUCTIONS[kind](x.astype(float), axis=tuple(axes), keepdims=bool(keepdims))
    made = program(x)
    assert made.shape == wanted.shape
    np.testing.assert_allclose(made, wanted, rtol=4e-5)


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("count", [1, 2, 2**14 - 1, 2**14, 2**18, 2**18 + 3])
def test_a_vector_of_a_symbolic_size(kind: str, count: int) -> None:
    _check(kind, np.full(count, 0.1, np.float32), ["N"], [0])


@pytest.mark.parametrize("count", [1, 2**11 - 1, 2**11, 50_021])
@pytest.mark.parametrize(
    ("spec", "axes"),
    [
        (["N", 3], [0]),
        ([2, "N"], [1]),
        ([2, "N", 3], [1]),
        (["N", 2, 3], [0, 2]),
        (["N", 9], [0, 1]),
        (["M", "N"], [1]),
    ],
    ids=str,
)
def test_axes_of_a_symbolic_size(spec: list[Any], axes: list[int], count: int) -> None:
    shape = [{"N": count, "M": 2}.get(size, size) for size in spec]
    x = np.full(shape, 0.1, np.float32)
    for kind in ("ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSumExp"):
        _check(kind, x, spec, axes, keepdims=int(kind == "ReduceSum"))


@pytest.mark.parametrize("spec", [["N"], ["N", 3], ["N", "M"]], ids=str)
def test_the_sum_of_nothing_is_0(spec: list[Any]) -> None:
    program = ps.trace(lambda x: np.sum(x, axis=0), ps.spec("float32", spec))
    assert not np.any(program(np.zeros([0, 3, 3][: len(spec)], np.float32)))


@pytest.mark.parametrize("count", [2**11, 50_021, 60_000])
def test_long_rows_of_a_literal_size_below_a_symbolic_one(count: int) -> None:
    _check("ReduceSum", np.full((3, count), 0.1, np.float32), ["N", count], [1])
    _check("ReduceSum", np.full((count, 3), 0.1, np.float32), [count, "N"], [0])
    _check("ReduceSum", np.full((2, count), 0.1, np.float32), ["N", count], [0, 1])


@pytest.mark.parametrize("count", [100_000, 99_991, 1_000_003])
@pytest.mark.parametrize("is_symbolic", [False, True])
def test_a_mean_keeps_the_digits_that_a_variance_far_from_0_needs(count: int, is_symbolic: bool) -> None:
    x = (1e4 + np.random.default_rng(count).standard_normal(count)).astype(np.float32)
    program = ps.trace(np.mean, ps.spec("float32", ["N" if is_symbolic else count]))
    assert float(program(x)) == pytest.approx(float(np.mean(x.astype(float))), rel=1.3e-7)


def test_a_file_holds_no_table_of_the_lengths_that_are_tried() -> None:
    program = ps.trace(np.sum, ps.spec("float32", ["N"]))
    graph = program.to_onnx(provenance="none").graph
    assert max(len(tensor.raw_data) for tensor in graph.initializer) < 64
    assert graph.ByteSize() < 6_000
