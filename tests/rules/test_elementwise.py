"""Rules of elementwise operators: conventions where a derivative does not exist, and which operators have none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rules.table import RULES
from tests.pointwise import gradient
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

INF = np.inf


ELEMENTWISE = [
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift", "BitwiseAnd",
    "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Div",
    "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish",
    "Hardmax", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "Max",
    "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round",
    "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "Sub", "Sum",
    "Tan", "Tanh", "ThresholdedRelu", "Where", "Xor",
]  # fmt: skip


def test_every_elementwise_operator_has_a_rule_or_is_known_to_have_no_gradient() -> None:
    assert [kind for kind in ELEMENTWISE if kind not in RULES] == []


CONVENTIONS: list[tuple[str, Callable[..., Any], list[Any], Any]] = [
    ("Abs at 0", op.Abs, [[0.0, -3.0]], [0, -1]),
    ("Sqrt at 0", op.Sqrt, [[0.0]], [INF]),
    ("Sqrt of a negative number", op.Sqrt, [[-1.0]], [np.nan]),
    ("Max of two equals", op.Max, [[2.0], [2.0]], [0.5]),
    ("Max of three, two equal", op.Max, [[2.0], [2.0], [1.0]], [0.5]),
    ("Min of three equals", op.Min, [[2.0], [2.0], [2.0]], [1 / 3]),
    ("Max of one", op.Max, [[2.0]], [1]),
    ("Mod at a whole quotient", lambda x, y: op.Mod(x, y, fmod=1), [[6.0, -6.0], [3.0, 3.0]], [1, 1]),
    (
        "Pow with an integer exponent tensor",
        lambda x: op.Pow(x, np.array([2, 0, -1])),
        [[3.0, 0.0, 2.0]],
        [6, 0, -0.25],
    ),
    ("Pow with a constant that holds 0", lambda x: op.Pow(x, np.array([0.0, 2.0])), [[0.0, 0.0]], [0, 0]),
    ("Where with infinite cotangents", lambda x: INF * op.Where(x > 0.0, x, 0.0), [[1.0, -1.0]], [INF, 0]),
    ("Cast to an integer", lambda x: op.Cast(op.Cast(x, to=np.int64), to=np.float64) + x, [[1.5]], [1]),
    ("Mean", op.Mean, [[1.0, 2.0], [3.0]], [0.5, 0.5]),
    ("Atan far out", op.Atan, [[1e200]], [0]),
    ("Acosh", op.Acosh, [[5 / 4]], [4 / 3]),
]


@pytest.mark.parametrize(("function", "point", "wanted"), [c[1:] for c in CONVENTIONS], ids=[c[0] for c in CONVENTIONS])
def test_a_derivative_at_a_special_point_is_the_one_promised(
    function: Callable[..., Any], point: list[Any], wanted: list[float]
) -> None:
    np.testing.assert_allclose(gradient(function, *point), wanted, rtol=1e-14)


def test_the_derivative_of_remainder_in_the_divisor_is_minus_the_whole_quotient() -> None:
    found = gradient(lambda x, y: op.Mod(x, y, fmod=1), [7.5, -7.5], [2.0, 2.0], wrt=1)
    np.testing.assert_array_equal(found, [-3, 3])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_cotangent_stays_zero_at_the_infinite_slope_of_a_root(zero: float) -> None:
    assert gradient(lambda x: 0.0 * op.Sqrt(x), [zero]) == 0.0


def test_the_second_derivative_of_abs_is_zero_at_its_kink() -> None:
    assert ps.grad(lambda x: 2.0 * ps.grad(op.Abs)(x))(0.0) == 0.0


def test_the_cotangent_of_a_cast_has_the_dtype_of_its_input() -> None:
    x = np.array([1.5], np.float32)
    found = gradient(lambda v: op.Cast(v, to=np.float64) * 2.0, x)
    assert found.dtype == np.float32
    assert found == 2.0


def test_the_pullback_of_a_where_on_a_number_is_summed_to_that_number() -> None:
    mask = np.array([True, False, True])
    assert gradient(lambda x: op.Where(mask, x, 1.0), 2.0) == 2.0


def test_a_loaded_power_by_a_literal_is_multiplied_out() -> None:
    made = ps.split(lambda x: op.Pow(x, np.array([3.0])), ps.spec("float64", ["N"]))
    assert "Pow" not in {op.kind for op in made.joint().block.ops}


def test_a_sum_is_negated_rather_than_its_terms() -> None:
    made = ps.split(lambda x, y: op.Sub(x, y), ps.spec("float64", [5, 3]), ps.spec("float64", [3]), wrt="y")
    assert [inner.kind for inner in made.pullback.ops] == ["ReduceSum", "Neg"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64", "int32"])
def test_the_slope_of_a_power_does_not_wrap_around_at_the_end_of_the_exponent(dtype: str) -> None:
    """The exponent less 1 is no number of its dtype: n x**(n - 1) by hand, its curvature too."""
    n = np.array([np.iinfo(dtype).min, 2], dtype)
    x = np.array([1.0 + 2.0 ** (-np.dtype(dtype).itemsize * 8), 3.0])
    slopes = n.astype(float) * x ** (n.astype(float) - 1)
    np.testing.assert_allclose(ps.grad(lambda x, n: np.sum(op.Pow(x, n)))(x, n), slopes)
    curvatures = n.astype(float) * (n.astype(float) - 1) * x ** (n.astype(float) - 2)
    np.testing.assert_allclose(ps.hessian(lambda x: np.sum(op.Pow(x, n)))(x), np.diag(curvatures))


def test_the_slope_of_a_power_reads_a_narrow_exponent_in_the_bits_of_its_base() -> None:
    """0.1 less 1 is rounded in float16, which would be an error of 1e-4 in the slope."""
    x, p = np.array([2.0, 50.0]), np.array([0.1, 0.3], np.float16)
    wide = p.astype(float)
    dx, dp = ps.grad(lambda x, p: np.sum(op.Pow(x, p)), wrt=(0, 1))(x, p)
    np.testing.assert_allclose(dx, wide * x ** (wide - 1), rtol=1e-13)
    np.testing.assert_allclose(dp, (x**wide * np.log(x)).astype(np.float16), rtol=1e-3)


@pytest.mark.parametrize("row", rows_of("elementwise"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
