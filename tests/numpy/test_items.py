"""Single elements: x.flat, x.item() and x.tolist(), as in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError, TraceError

X = np.random.default_rng(0).standard_normal((4, 3, 5))
X += 0.3 * np.sign(X)


def given_again(x: Any, z: Any) -> Any:
    x.flat = [1.5, -2.5, 0.5]
    x[:, 1].flat = x[0, 0, 0] * np.arange(30.0)
    z.flat = x[1, 0]
    z.flat = []
    shown = z.view()
    shown[0] = 2.0j
    return x, z


def test_what_is_given_as_flat_is_written_again_and_again() -> None:
    for specs in ((X, X + 1j), (ps.spec("float64", ["N", "M", "K"]), ps.spec("complex128", ["L", 3, 5]))):
        found = ps.trace(given_again, *specs)(X, X + 1j)
        for each, wanted in zip(found, given_again(X.copy(), X + 1j), strict=True):
            np.testing.assert_array_equal(each, wanted)


def test_a_view_of_the_same_array_is_not_given_as_flat() -> None:
    def turned(x: Any) -> Any:
        x.flat = x[::-1]
        return x

    with pytest.raises(TraceError, match=r"copy"):
        ps.trace(turned, X)


def picks_of_flat(x: Any) -> Any:
    y = x * 1.0
    few = y.flat[1:3]
    few += 10.0
    y.flat[2] = 7.0
    return few, y, y.flat[[0, 2]]


def test_what_is_picked_of_flat_is_a_copy() -> None:
    for found, wanted in zip(ps.trace(picks_of_flat, X)(X), picks_of_flat(X), strict=True):
        np.testing.assert_array_equal(found, wanted)


ITEMS: dict[str, Callable[[Any], Any]] = {
    "the only element": lambda x: x[:1, :1, :1].item() * 2,
    "one of a flat place": lambda x: x.item(7),
    "one from the end": lambda x: x.item(-1),
    "one of several places": lambda x: x.item(1, 2, -1) + x.item((0, 1, 2)),
    "a list": lambda x: x[0, 1].tolist(),
    "nested lists": lambda x: x[:2, :2, 0].tolist(),
    "a list of a number": lambda x: x[0, 0, 0].tolist() + 1,
}


@pytest.mark.parametrize("name", ITEMS)
def test_elements_are_pythons_numbers(name: str) -> None:
    found, wanted = ps.trace(ITEMS[name], X)(X), ITEMS[name](X)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize(("dtype", "wanted"), [("float32", "float64"), ("int8", "int64"), ("bool", "bool")])
def test_a_python_number_is_as_wide_as_pythons(dtype: str, wanted: str) -> None:
    x = np.ones(1, dtype)
    assert ps.trace(lambda x: x.item(), x)(x).dtype == np.dtype(wanted)


def test_several_elements_are_no_number() -> None:
    with pytest.raises(ShapeError, match="can only convert an array of size 1"):
        ps.trace(lambda x: x.item(), X)


def test_a_gradient_goes_through_an_element() -> None:
    gradient = ps.grad(lambda x: x.item(1, 0, 2) ** 2 + sum(x[0, 0].tolist()))(X)
    wanted = np.zeros(X.shape)
    wanted[1, 0, 2] = 2 * X[1, 0, 2]
    wanted[0, 0] += 1.0
    np.testing.assert_allclose(gradient, wanted)
