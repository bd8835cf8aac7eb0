"""Zeros for the gradients of parameters that the results ignore."""

import numpy as np

import primsplit as ps
from primsplit.ir import Op, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.zeros import zeros_op


def test_zeros_have_the_shape_of_the_run_and_the_dtype() -> None:
    x = Var(Type("float16", [symbol("N"), 3]))
    ops: list[Op] = []
    zeros = zeros_op(x, ops)
    assert zeros.type == x.type
    assert [op.kind for op in ops] == ["Shape", "ConstantOfShape"]
    assert ops[0].outputs[0].type == Type(np.int64, [2])
    assert zeros_op(Var(Type("float32", None)), ops).type.shape is None


def test_a_parameter_that_the_results_ignore_gets_zeros() -> None:
    program = ps.split(lambda a, b: np.exp(a), ps.spec("float64", ["N"]), ps.spec("float32", ["M", 2]), wrt=(0, 1))
    _, da, db = program.joint()(np.array([0.0, 1.0]), np.ones((3, 2), np.float32), np.array([1.0, 2.0]))
    np.testing.assert_allclose(da, [1.0, 2.0 * np.e])
    np.testing.assert_array_equal(db, np.zeros((3, 2), np.float32), strict=True)
