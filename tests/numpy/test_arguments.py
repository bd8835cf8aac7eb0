"""Arguments that NumPy reads when it is called: what it refuses is refused when traced, odd ones mean what they do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

X = np.arange(6.0).reshape(2, 3)
WRONG: dict[str, Callable[[Any], Any]] = {
    "rot90 in one axis": lambda x: np.rot90(x, axes=(1, 1)),
    "an option of another mode of pad": lambda x: np.pad(x, 1, "edge", constant_values=0),
    "a negative minlength": lambda x: np.bincount(x[0].astype(int), minlength=-1),
    "frequencies that are not whole": lambda x: np.cov(x, fweights=[0.5, 1, 2]),
    "unsorted bins of histogram": lambda x: np.histogram(x, bins=[1, 3, 2]),
    "unsorted bins of digitize": lambda x: np.digitize(x, [1, 3, 2]),
    "one axis of two": lambda x: np.add.accumulate(x, axis=None),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        WRONG[name](X)
    with pytest.raises((TypeError, ValueError, ps.PrimsplitError)):
        ps.trace(WRONG[name], X)


def put(x: Any, values: Any) -> Any:
    np.put_along_axis(x, np.array([[1], [0]]), values, axis=0)
    return x


ODD: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "accumulate along the only axis": (lambda x: np.add.accumulate(x, axis=None), (X[0],)),
    "reduceat along the only axis": (lambda x: np.add.reduceat(x, [0, 1], axis=None), (X[0],)),
    "the exclusive or of one": (lambda x: np.logical_xor.reduce(x[:1] + 3.0), (X[0],)),
    "vecdot without keepdims": (lambda x: np.vecdot(x, x, keepdims=False), (X,)),
    "put_along_axis of indices that broadcast": (put, (X, np.array([[7.0], [8.0]]))),
    "places in an empty shape": (lambda i: np.stack(np.unravel_index(i, (2, 1, 0))), (np.zeros(0, int),)),
    "the largest of whole numbers": (lambda x: np.quantile(x, 1), (np.array([2, 2**60 + 1, 5]),)),
    "the difference to nothing": (lambda x: np.setdiff1d(x, []), (np.array([3, 1, 1], np.uint32),)),
    "nothing inserted": (lambda x: np.insert(x, [], []), (X[0],)),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_numpys(name: str) -> None:
    function, given = ODD[name]
    wanted = np.asarray(function(*(a.copy() for a in given)))
    found = np.asarray(ps.trace(function, *given)(*given))
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
