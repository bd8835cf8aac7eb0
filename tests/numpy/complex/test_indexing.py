"""`z[key]` and `z[key] = v` of complex arrays: views, writes and their gradients are NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError

X = np.arange(12.0).reshape(3, 4) - 5.5
KEYS: dict[str, Any] = {
    "a number": 1,
    "a negative number": (-1, -2),
    "a slice": (slice(None, None, -1), slice(1, 3)),
    "an axis more": (None, Ellipsis, 0),
    "indices": ([0, 2], [1, -1]),
    "a mask": np.array([True, False, True]),
}


@pytest.mark.parametrize("name", KEYS)
def test_elements_are_numpys(name: str) -> None:
    key = KEYS[name]
    found, wanted = ps.trace(lambda x: (x + 1j * x.T.T**2)[key], X)(X), (X + 1j * X**2)[key]
    np.testing.assert_array_equal(found, wanted)
    gradient = ps.grad(lambda x: np.sum(np.abs((x + 1j * x)[key]) ** 2))(X)
    inside = np.zeros(X.shape)
    np.add.at(inside, key, 1.0) if name != "an axis more" else inside.__setitem__((slice(None), 0), 1.0)
    np.testing.assert_allclose(gradient, 4 * X * inside)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("new", [2 - 1j, 3.0], ids=["complex", "real"])
def test_a_write_reaches_both_parts(name: str, new: Any) -> None:
    def f(x: Any) -> Any:
        z = 1j * x
        z[KEYS[name]] = new
        return z

    np.testing.assert_array_equal(ps.trace(f, X)(X), f(X))


WRITES: dict[str, Callable[[Any], Any]] = {
    "a view": lambda z: z[1].__setitem__(slice(0, 2), 5j),
    "the real part": lambda z: z.real.__setitem__(0, 7.0),
    "fill": lambda z: z.fill(2 + 1j),
    "fill of a row": lambda z: z[2].fill(3.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_through_a_view_is_seen_by_the_array(name: str) -> None:
    def f(x: Any) -> Any:
        z = 1j * x
        WRITES[name](z)
        return z

    np.testing.assert_array_equal(ps.trace(f, X)(X), f(X))


def test_a_complex_number_is_not_written_to_a_real_array() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[0, 0] = 1j * x[0, 0]
        return y

    with pytest.raises(DtypeError, match="a complex number is written to a real array") as caught:
        ps.trace(f, X)
    assert "test_indexing.py" in str(caught.value)
