"""Functions of complex arrays as functions of their parts."""

from typing import Any

import numpy as np

from primsplit.testing.in_parts import InParts

Z, X = np.array([1.0 + 2j, -0.5j]), np.array([0.5, 2.0])


def times(x: Any, z: Any, *, power: int = 1) -> Any:
    return z**power * x, np.real(z)


def test_a_function_of_complex_arrays_is_one_of_their_parts() -> None:
    made = InParts(times, [X, Z], {"power": 2})
    np.testing.assert_array_equal(np.stack(made.inputs), [X, Z.real, Z.imag])
    found = made(*made.inputs)
    wanted = Z**2 * X
    np.testing.assert_allclose(np.stack(found), [wanted.real, wanted.imag, Z.real])


def test_positions_and_names_of_complex_inputs_are_those_of_both_parts() -> None:
    made = InParts(times, [X, Z], {})
    assert made.places([0]) == [0]
    assert made.places([1]) == [1, 2]
    assert made.places([1, 0]) == [1, 2, 0]
    assert [*made.__signature__.parameters] == ["x", "z_real", "z_imag"]
    assert made.__name__ == "times"
