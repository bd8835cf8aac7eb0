"""Programs of flat arguments: arrays in order, and a tuple of results."""

import numpy as np

from primsplit.ops import op
from primsplit.programs.flat import flat_program
from tests.recording import record


def test_arguments_are_arrays_in_order_and_results_a_tuple() -> None:
    block = record(lambda x, y: (op.Sub(x, y), op.Neg(x)), "float64[2]", "float64[2]")
    program = flat_program(block, ["x", "y"], ["d", "n"])
    x, y = np.array([1.0, 2.0]), np.array([0.5, 4.0])
    difference, negative = program(x, y)
    np.testing.assert_array_equal(difference, x - y)
    np.testing.assert_array_equal(negative, -x)
    assert (tuple(program.inputs), tuple(program.outputs)) == (("x", "y"), ("d", "n"))


def test_two_arrays_that_are_a_pair_are_one_complex_array() -> None:
    block = record(lambda x, y: (op.Mul(x, 2.0), op.Mul(y, 2.0)), "float64[2]", "float64[2]")
    pairs = [("z.real", "z.imag"), ("w.real", "w.imag")]
    program = flat_program(block, ["z.real", "z.imag"], ["w.real", "w.imag"], pairs=pairs)
    z = np.array([1.0 + 2.0j, -3.0j])
    (found,) = program(z)
    np.testing.assert_array_equal(found, 2.0 * z)
