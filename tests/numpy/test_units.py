"""Functions that are one op of the program with a rule of their own."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.units import unit
from primsplit.tracing.array import Array


def test_a_unit_is_one_op_of_the_program_and_none_of_the_file() -> None:
    program = ps.trace(np.log1p, ps.spec("float64", ["N"]))
    assert [op.kind for op in program.block.ops] == ["call::log1p"]
    assert {node.domain for node in program.to_onnx().graph.node} == {""}


def test_the_rule_of_a_unit_runs_once_for_each_signature(capsys: pytest.CaptureFixture[str]) -> None:
    def slope(dz: Array, x: Array, z: Array) -> Array:
        print(x.dtype.name)  # a list that it appended to would be state that it reads
        return dz * 3.0

    triple = unit("triple", lambda x: x * 3.0, slope)
    for dtype in ("float64", "float32"):
        ps.split(lambda x: triple(triple(triple(x))), ps.spec(dtype, ["N"]))
        ps.split(lambda x: triple(x) + 1.0, ps.spec(dtype, ["N"]))
    runs = capsys.readouterr().out.split()
    assert len(runs) <= 4  # the first call of a signature makes the body, the second finds it
    assert set(runs) == {"float64", "float32"}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_unit_and_its_pullback_keep_the_dtype(dtype: str) -> None:
    x = np.array([0.5, 2.0], dtype)
    value, gradient = ps.value_and_grad(lambda v: np.sum(np.log1p(v) + np.hypot(v, v) + v**3))(x)
    assert value.dtype == gradient.dtype == x.dtype
    wanted = 1 / (1 + x.astype(float)) + np.sqrt(2) + 3 * x.astype(float) ** 2
    np.testing.assert_allclose(gradient, wanted, rtol=8 * np.finfo(dtype).eps)


def test_a_unit_of_two_arguments_undoes_their_broadcast() -> None:
    x, y = np.ones((3, 1)), np.ones(4)
    dx, dy = ps.grad(lambda a, b: np.sum(np.hypot(a, b)), (0, 1))(x, y)
    np.testing.assert_allclose(dx, np.full((3, 1), 4 / np.sqrt(2)))
    np.testing.assert_allclose(dy, np.full(4, 3 / np.sqrt(2)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_log1p_has_its_limits_and_keeps_the_sign_of_zero(dtype: str) -> None:
    limits = np.finfo(dtype)
    x = np.array(
        [0.0, -0.0, np.inf, -1.0, -2.0, np.nan, limits.max, limits.smallest_subnormal, limits.epsneg - 1], dtype
    )
    found = ps.trace(np.log1p, x)(x)
    with np.errstate(all="ignore"):
        wanted = np.log1p(x)
    np.testing.assert_allclose(found, wanted, rtol=4 * limits.eps)
    assert np.array_equal(np.signbit(found[:2]), [False, True])
