"""An op computed a tile at a time, along each axis that is listed, gives what it gives of the whole arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.rewrites.loops.tiled_ops import Tiling, tilings
from tests.random_programs import run
from tests.recording import record

ROWS = 4
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], list[tuple[Any, Any]]]] = {
    "elementwise": (op.Mul, [(4, 3), (3,)], [((0, None), 0)]),
    "elementwise, repeated rows": (op.Sub, [(4, 3), (1, 3)], [((0, None), 0)]),
    "elementwise, both": (op.Sub, [(8, 3), (8, 1)], [((0, 0), 0)]),
    "rows of a product": (op.MatMul, [(4, 3), (3, 5)], [((0, None), 0)]),
    "columns of a product": (op.MatMul, [(2, 3), (3, 8)], [((None, 1), 1)]),
    "inner axis of a product": (op.MatMul, [(3, 4), (4, 5)], [((1, 0), None)]),
    "a stack of products": (op.MatMul, [(4, 2, 3), (3, 5)], [((0, None), 0)]),
    "a stack by a stack": (op.MatMul, [(4, 2, 3), (4, 3, 5)], [((0, 0), 0)]),
    "every axis of a product": (op.MatMul, [(4, 4), (4, 4)], [((0, None), 0), ((None, 1), 1), ((1, 0), None)]),
    "Gemm": (lambda a, b, c: op.Gemm(a, b, c), [(4, 3), (3, 5), (5,)], [((0, None, None), 0)]),
    "Gemm, turned": (
        lambda a, b, c: op.Gemm(a, b, c, transA=1, transB=1), [(3, 4), (8, 3), (4, 1)],
        [((1, None, 0), 0), ((None, 0, None), 1)],
    ),
    "Gemm, inner axis": (lambda a, b: op.Gemm(a, b, transA=1), [(4, 3), (4, 5)], [((0, 0), None)]),
    "transposed": (lambda x: op.Transpose(x, perm=[2, 0, 1]), [(4, 3, 5)], [((0,), 1)]),
    "turned round": (op.Transpose, [(3, 4)], [((1,), 0)]),
    "a sum along rows": (lambda x: op.ReduceSum(x, [0], keepdims=0), [(4, 3)], [((0, None), None)]),
    "a sum along others": (lambda x: op.ReduceSum(x, [0], keepdims=0), [(3, 4)], [((1, None), 0)]),
    "a maximum along others, kept": (lambda x: op.ReduceMax(x, [-2]), [(3, 4)], [((1, None), 1)]),
    "a maximum along rows": (lambda x: op.ReduceMax(x, [0]), [(4, 3)], []),
    "a softmax along others": (lambda x: op.Softmax(x, axis=0), [(3, 4)], [((1,), 1)]),
    "a softmax along rows": (lambda x: op.Softmax(x, axis=-1), [(3, 4)], []),
    "joined along others": (lambda x, y: op.Concat(x, y, axis=1), [(4, 3), (4, 2)], [((0, 0), 0)]),
    "joined along rows": (lambda x, y: op.Concat(x, y, axis=-1), [(3, 4), (3, 4)], []),
    "no rows": (op.Neg, [(0, 3)], []),
    "another number of rows": (op.Neg, [(5, 3)], []),
}  # fmt: skip


def tiles(array: np.ndarray[Any, Any], axis: int | None) -> list[np.ndarray[Any, Any]]:
    """The parts of an operand that the tiles read."""
    return [array] * ROWS if axis is None else np.split(array, ROWS, axis)


@pytest.mark.parametrize("name", CASES)
def test_the_tiles_results_are_the_result(name: str) -> None:
    function, shapes, wanted = CASES[name]
    arrays = [np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate(shapes)]

    def recorded(*shapes: tuple[int, ...]) -> Any:
        texts = ["float64[" + ",".join(map(str, s)) + "]" for s in shapes]
        by_count = {1: lambda a: function(a), 2: lambda a, b: function(a, b), 3: lambda a, b, c: function(a, b, c)}
        return record(by_count[len(shapes)], *texts)

    block = recorded(*shapes)
    found = list(tilings(block.ops[-1], ROWS))
    assert [(t.inputs[: len(wanted[0][0])], t.result) for t in found] == wanted
    (whole,) = run(block, arrays) if found else [None]
    for tiling in found:
        pieces = list(zip(*(tiles(a, axis) for a, axis in zip(arrays, tiling.inputs, strict=False)), strict=True))
        one_tile = recorded(*(piece.shape for piece in pieces[0]))
        results = [run(one_tile, list(piece))[0] for piece in pieces]
        joined = sum(results) if tiling.result is None else np.concatenate(results, tiling.result)
        np.testing.assert_allclose(joined, whole, rtol=1e-12, atol=1e-14)


def test_a_reshape_goes_along_the_axis_before_which_as_many_elements_lie() -> None:
    def found(shape: list[int], source: str) -> list[Tiling]:
        return list(tilings(record(lambda x: op.Reshape(x, shape), source).ops[-1], ROWS))

    assert found([4, 15], "float32[4,3,5]") == [Tiling((0, None), 0, writes_shape=True)]
    assert found([12, 5], "float32[4,3,5]") == [Tiling((0, None), 0, writes_shape=True)]
    assert found([2, 3, 4], "float32[6,4]") == [Tiling((1, None), 2, writes_shape=True)]
    assert found([3, 4], "float32[4,3]") == []
    unsqueezed = record(lambda x: op.Unsqueeze(x, [0]), "float32[4,3]").ops[-1]
    assert list(tilings(unsqueezed, ROWS)) == [Tiling((0, None), 1)]


def test_an_expansion_goes_along_the_axes_that_its_input_has() -> None:
    made = record(lambda x: op.Expand(x, [4, 4, 3]), "float32[4,1]").ops[-1]
    assert list(tilings(made, ROWS)) == [Tiling((0, None), 1, writes_shape=True)]


def test_a_gather_goes_along_its_indices_and_the_other_axes_of_its_data() -> None:
    rows = record(lambda x, i: op.Gather(x, i, axis=0), "float32[7,4]", "int64[4]").ops[-1]
    assert list(tilings(rows, ROWS)) == [Tiling((None, 0), 0), Tiling((1, None), 1)]
    columns = record(lambda x, i: op.Gather(x, i, axis=-1), "float32[4,7]", "int64[2,3]").ops[-1]
    assert list(tilings(columns, ROWS)) == [Tiling((0, None), 0)]
    behind = record(lambda x, i: op.Gather(x, i, axis=0), "float32[7,4]", "int64[2,3]").ops[-1]
    assert list(tilings(behind, ROWS)) == [Tiling((1, None), 2)]


def test_shapes_that_are_not_literal_and_dtypes_that_numpy_lacks_are_not_tiled() -> None:
    assert list(tilings(record(lambda x: op.Neg(x), "float32[N,4]").ops[-1], ROWS)) == []
    assert list(tilings(record(lambda x: op.Neg(x), "bfloat16[4]").ops[-1], ROWS)) == []
    assert list(tilings(record(lambda x: op.CumSum(x, np.array(0)), "float32[4]").ops[-1], ROWS)) == []
