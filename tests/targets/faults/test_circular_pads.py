"""Circular padding by more than there is, where onnxruntime leaves memory as it was, and of nothing."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.targets.finish import finish
from tests.numpy.agreement import check_grads

PADS = [0, 5, 1, 4]


def around(x: Any, pads: Any = PADS) -> Any:
    return op.Pad(x, pads, mode="wrap")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 5), (6, 6)])
def test_it_goes_around_as_often_as_it_is_asked_to(shape: tuple[int, int], dtype: str, is_told: bool) -> None:
    x = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    wanted = np.pad(x, [(0, 1), (5, 4)], mode="wrap")
    sizes = shape if is_told else ["N", "M"]
    np.testing.assert_array_equal(ps.trace(around, ps.spec(dtype, sizes))(x), wanted)
    given = ps.trace(around, ps.spec(dtype, sizes), ps.spec("int64", [4]))
    np.testing.assert_array_equal(given(x, np.array(PADS)), wanted)


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (2, 0)])
def test_of_nothing_are_made_zeros(shape: tuple[int, int]) -> None:
    found = ps.trace(around, ps.spec("float32", ["N", "M"]))(np.ones(shape, np.float32))
    assert found.shape == (shape[0] + 1, shape[1] + 9)
    assert not found.any()


def test_margins_are_taken_off() -> None:
    x = np.arange(6.0).reshape(2, 3)
    program = ps.trace(around, ps.spec("float64", ["N", "M"]), ps.spec("int64", [4]))
    np.testing.assert_array_equal(program(x, np.array([0, -1, 3, 0])), np.pad(x[:, 1:], [(0, 3), (0, 0)], mode="wrap"))


def test_the_gradient_gathers_what_was_read_several_times() -> None:
    check_grads(lambda x: np.pad(x, 2, mode="wrap"), np.random.default_rng(0).standard_normal((3, 4)))


def test_what_goes_around_once_is_the_operator() -> None:
    block = finish(ps.trace(around, ps.spec("float32", [1, 5])).block)
    assert [step.kind for step in walk(block)] == ["Pad"]
