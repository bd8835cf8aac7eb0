"""np.lib.stride_tricks.as_strided, by strides that the array tells, against NumPy and central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, RunError, ShapeError, TraceError, UnsupportedFunction
from tests.numpy.agreement import check_agrees, check_grads

X = np.random.default_rng(0).standard_normal((3, 4, 5))


def patches(x: Any, kernel: int = 2, step: int = 1) -> Any:
    """The windows of images, as convolutions written by hand cut them."""
    count, height, width = x.shape
    s = x.strides
    rows, columns = (height - kernel) // step + 1, (width - kernel) // step + 1
    return as_strided(x, (count, rows, columns, kernel, kernel), (s[0], step * s[1], step * s[2], s[1], s[2]))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "windows of images": patches,
    "windows with steps": lambda x: patches(x, 3, 2),
    "in another order": lambda x: as_strided(x, (2, 5, 3), (x.strides[1], x.strides[2], x.strides[0])),
    "repeated": lambda x: np.lib.stride_tricks.as_strided(x, shape=(3, 7, 4), strides=(0, 0, x.strides[1])),
    "diagonals": lambda x: as_strided(x[0].copy(), (4,), (x.strides[1] + x.strides[2],)),
    "over the ends of rows": lambda x: as_strided(x, (30, 31), (8, 8)) if x.dtype == float else x,
    "the array itself": lambda x: as_strided(x),
    "a number": lambda x: as_strided(x, (), ()),
    "nothing": lambda x: as_strided(x, (0, 3), (8, 8)),
    "windows of a row": lambda x: as_strided(x.ravel().copy(), (29, 2), x.ravel().copy().strides * 2),
    "windows of what was written": lambda x: as_strided(np.zeros((2, 60)).reshape(-1), (59, 2), (8, 8)) + x[0, 0, 0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_numpys_with_gradients(name: str) -> None:
    check_agrees(FUNCTIONS[name], X, symbolic=False)
    check_grads(FUNCTIONS[name], X, symbolic=False)


def test_one_file_serves_every_size() -> None:
    program = ps.trace(patches, ps.spec("float64", ["N", "H", "W"]))
    for shape in ((3, 4, 5), (1, 2, 2), (2, 7, 3)):
        x = X.reshape(-1)[: int(np.prod(shape))].reshape(shape)
        np.testing.assert_array_equal(program(x), patches(x))
    check_grads(patches, X[:2, :3, :3], resize=())
    beyond = ps.trace(lambda x: as_strided(x, (4,), x.strides), ps.spec("float64", ["N"]))
    with pytest.raises(RunError):
        beyond(np.ones(3))


def writes(x: Any) -> None:
    as_strided(x, (3,), (8,))[0] = 1.0


REFUSED: list[tuple[Callable[[Any], Any], type[PrimsplitError], str]] = [
    (lambda x: as_strided(x, (61,), (8,)), ShapeError, "60 elements into"),
    (lambda x: as_strided(x, (3,), (3,)), ShapeError, "no multiples of 8 bytes"),
    (lambda x: as_strided(x, (3,), (8, 8)), ShapeError, "as many entries"),
    (lambda x: as_strided(x.T, (3,), (8,)), UnsupportedFunction, "of a view"),
    (writes, TraceError, "read-only"),
]


@pytest.mark.parametrize(("function", "error", "told"), REFUSED)
def test_what_cannot_be_is_told_at_the_users_line(
    function: Callable[[Any], Any], error: type[PrimsplitError], told: str
) -> None:
    with pytest.raises(error, match=told) as caught:
        ps.trace(function, X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
