"""Sorting, one-hot rows and norms of arrays without elements, where onnxruntime before 1.31 ends the process."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.targets.finish import finish

SIZES: list[Any] = ["A", "B", "C"]
SHAPES = [(0, 3, 2), (3, 0, 2), (3, 2, 0), (2, 3, 4)]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_sorted_where_there_are_none(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    wanted = np.sort(x, axis)
    program = ps.trace(lambda x: np.sort(x, axis), ps.spec("float64", SIZES))
    np.testing.assert_array_equal(program(x), wanted)
    gradient = ps.split(lambda x: np.sum(np.sort(x, axis) ** 2), ps.spec("float64", SIZES)).joint()(x)[1]
    np.testing.assert_allclose(gradient, 2 * x)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_hot_rows_of_none_have_the_right_shape(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    places = np.arange(np.prod(shape)).reshape(shape) % 4
    wanted = np.moveaxis(np.eye(4, dtype=dtype)[places], -1, axis)

    def hot(i: Any, size: Any) -> Any:
        return op.OneHot(i, size, np.array([0, 1], dtype), axis=axis)

    program = ps.trace(hot, ps.spec("int64", ["A", "B"]), ps.spec("int64", []))
    np.testing.assert_array_equal(program(places, np.int64(4)), wanted)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_norm_along_nothing_divides_nothing(shape: tuple[int, ...], axis: int) -> None:
    x = np.ones(shape)
    program = ps.trace(lambda x: op.LpNormalization(x, axis=axis, p=1), ps.spec("float64", SIZES))
    np.testing.assert_array_equal(program(x), x / max(shape[axis], 1))


def test_what_has_rows_is_sorted_without_asking() -> None:
    for sizes in (["N"], [3, "N"], [2, 3]):
        block = finish(ps.trace(lambda x: np.sort(x), ps.spec("float64", sizes)).block)
        assert "If" not in {step.kind for step in walk(block)}
