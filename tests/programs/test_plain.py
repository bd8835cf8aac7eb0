"""A program beside its function: the arrays of a call, and the same call in plain NumPy."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.programs.plain import arrays_of, as_given, plain_results, with_states


@pytest.mark.parametrize("leaf", [2.5, np.float32(2.5), np.array(2.5), np.array([1.0, 2.0])], ids=repr)
def test_an_array_has_the_form_of_its_argument(leaf: Any) -> None:
    array = np.asarray(leaf)
    found = as_given(array, leaf)
    assert type(found) is type(leaf)
    np.testing.assert_array_equal(found, leaf)
    assert found is not array


def test_arrays_of_a_call_are_those_of_the_inputs_in_parts_and_without_static_ones() -> None:
    def f(x: Any, times: int, z: Any) -> Any:
        return x * times + z.imag

    program = ps.trace(f, 1.0, 3, np.array([1 + 2j]))
    found = arrays_of(program, ((2.0, 3, np.array([5 - 1j])), {}))
    np.testing.assert_equal(found, [np.array(2.0), np.array([5.0]), np.array([-1.0])])


def test_the_same_call_in_numpy_has_an_array_for_each_output_and_restores_states() -> None:
    count = ps.state("count", 0.0)

    def f(x: Any) -> Any:
        count[...] = count + 1.0
        return {"twice": 2 * x, "seen": count * 1.0}

    program = ps.trace(f, np.zeros(2))
    call = ((np.array([1.0, 2.0]),), {})
    arrays = with_states(program, [call[0][0]])
    arrays[program.inputs.index("state.count.in")] = np.array(5.0)
    found = dict(zip(program.outputs, plain_results(program, f, call, arrays), strict=True))
    np.testing.assert_array_equal(found["twice"], [2.0, 4.0])
    assert {float(found["seen"]), float(found["state.count.out"])} == {6.0}
    assert float(count[...]) == 0.0
