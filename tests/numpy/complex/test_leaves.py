"""Complex leaves of nested values go as two real parts, numbers as numbers."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.numpy.complex.leaves import parts_of, whole_of
from primsplit.tracing import trees

X = np.array([0.5, -1.0])


def test_a_leaf_is_its_parts_and_the_parts_are_the_leaf() -> None:
    def f(x: Any) -> Any:
        z = x + 2j * x**2
        both = parts_of(z)
        assert isinstance(both, trees.Parts)
        return whole_of(both.real, both.imag), both.real, both.imag

    whole, real, imag = ps.trace(f, X)(X)
    np.testing.assert_array_equal(whole, X + 2j * X**2)
    np.testing.assert_array_equal(real, X)
    np.testing.assert_array_equal(imag, 2 * X**2)


def test_numbers_stay_numbers() -> None:
    def f(x: Any) -> Any:
        for z in (x[0] * 1j, x * 1j, 2.0 * (x[0].item() + 1j)):
            both = parts_of(z)
            assert {(p.weak, p.scalar) for p in (both.real, both.imag)} == {(z.weak, z.scalar)}
            made = whole_of(both.real, both.imag)
            assert (made.weak, made.scalar) == (z.weak, z.scalar)
        assert whole_of(1.0, x[0]).weak is False
        return x

    ps.trace(f, X)


def test_a_leaf_in_a_container_comes_back_in_its_place() -> None:
    def f(x: Any) -> Any:
        return ps.cond(x[0] > 0, lambda z: {"a": z["b"], "b": [z["a"]]}, lambda z: {"a": z["a"], "b": [z["b"]]},
                       {"a": 1j * x, "b": x + 1j})  # fmt: skip

    for x in (X, -X):
        found = ps.trace(f, ps.spec("float64", [2]))(x)
        one, other = (x + 1j, 1j * x) if x[0] > 0 else (1j * x, x + 1j)
        np.testing.assert_array_equal(found["a"], one)
        np.testing.assert_array_equal(found["b"][0], other)
