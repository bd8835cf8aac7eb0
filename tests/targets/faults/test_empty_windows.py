"""Convolutions of nothing are their bias."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.ops import op
from primsplit.targets.finish import finish

WEIGHTS = np.arange(12.0, dtype=np.float32).reshape(2, 2, 3)
BIAS = np.array([1.0, 2.0], np.float32)


def test_what_is_made_of_no_windows_is_the_bias() -> None:
    spread = ps.trace(lambda x: op.ConvTranspose(x, WEIGHTS, BIAS, strides=(2,)), ps.spec("float32", ["B", 2, "N"]))
    np.testing.assert_array_equal(spread(np.zeros((1, 2, 0), np.float32)), [[[1.0], [2.0]]])
    assert spread(np.ones((1, 2, 2), np.float32)).shape == (1, 2, 5)


PLACES: list[dict[str, Any]] = [
    {},
    {"pads": (1, 1)},
    {"strides": (2,)},
    {"pads": (0, 2), "strides": (2,), "dilations": (2,)},
    {"auto_pad": "SAME_UPPER", "strides": (2,)},
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_what_is_made_of_no_channels_is_the_bias(place: dict[str, Any]) -> None:
    def convolved(x: Any, w: Any) -> Any:
        return op.Conv(x, w, BIAS, **place)

    found = ps.trace(convolved, ps.spec("float32", ["B", "C", 9]), ps.spec("float32", [2, "C", 3]))
    shape = (
        ps.trace(convolved, ps.spec("float32", [4, 5, 9]), ps.spec("float32", [2, 5, 3])).block.results[0].type.shape
    )
    nothing = np.zeros((4, 0, 9), np.float32), np.zeros((2, 0, 3), np.float32)
    np.testing.assert_array_equal(found(*nothing), np.broadcast_to(BIAS[:, None], shape))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_weights_have_a_gradient_of_zeros_for_an_empty_batch(place: dict[str, Any]) -> None:
    made = ps.split(
        lambda x, w: np.sum(op.Conv(x, w, **place) ** 2),
        ps.spec("float32", ["B", 2, 9]),
        ps.spec("float32", [2, 2, 3]),
        wrt="w",
    )
    value, gradient = made.joint()(np.zeros((0, 2, 9), np.float32), WEIGHTS)
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros_like(WEIGHTS))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_convolution_of_fewer_windows_than_none_fails(dtype: str) -> None:
    made = ps.split(lambda x: np.sum(op.Conv(x, WEIGHTS.astype(dtype)) ** 2), ps.spec(dtype, ["B", 2, "N"]))
    with pytest.raises(RunError):
        made.joint()(np.ones((1, 2, 1), dtype))


def test_no_if_is_written_where_there_are_windows() -> None:
    spread = ps.trace(lambda x: op.ConvTranspose(x, WEIGHTS), ps.spec("float32", ["B", 2, 4]))
    assert [step.kind for step in finish(spread.block).ops] == ["ConvTranspose"]
