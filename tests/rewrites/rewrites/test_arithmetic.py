"""Arithmetic is simplified where no bit changes: what goes, and what stays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from tests.rewrites.rewrites.simplified import F32, HALF, ONES, check_leaves, check_stays

GOES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "x * 1": (lambda x: op.Mul(x, F32(1)), []),
    "1 * x": (lambda x: op.Mul(F32(1), x), []),
    "x * ones": (lambda x: op.Mul(x, ONES), []),
    "x / 1": (lambda x: op.Div(x, F32(1)), []),
    "x ** 1": (lambda x: op.Pow(x, F32(1)), []),
    "x + -0.0": (lambda x: op.Add(x, F32(-0.0)), []),
    "-0.0 + x": (lambda x: op.Add(F32(-0.0), x), []),
    "x - 0.0": (lambda x: op.Sub(x, F32(0.0)), []),
    "-0.0 - x": (lambda x: op.Sub(F32(-0.0), x), ["Neg"]),
    "-(-x)": (lambda x: op.Neg(op.Neg(x)), []),
    "x + -y": (lambda x: op.Add(x, op.Neg(op.Exp(x))), ["Exp", "Sub"]),
    "-y + x": (lambda x: op.Add(op.Neg(op.Exp(x)), x), ["Exp", "Sub"]),
    "x - -y": (lambda x: op.Sub(x, op.Neg(op.Exp(x))), ["Exp", "Add"]),
    "-x * -y": (lambda x: op.Mul(op.Neg(x), op.Neg(op.Exp(x))), ["Exp", "Mul"]),
    "-x * 3": (lambda x: op.Mul(op.Neg(x), F32(3)), ["Mul"]),
    "-(x * 3)": (lambda x: op.Neg(op.Mul(x, F32(3))), ["Mul"]),
    "-(x + x)": (lambda x: op.Neg(op.Add(x, x)), ["Mul"]),
    "-x - x": (lambda x: op.Sub(op.Neg(x), x), ["Mul"]),
    "3 / -x": (lambda x: op.Div(F32(3), op.Neg(x)), ["Div"]),
    "|-x|": (lambda x: op.Abs(op.Neg(x)), ["Abs"]),
    "||x||": (lambda x: op.Abs(op.Abs(x)), ["Abs"]),
    "relu relu": (lambda x: op.Relu(op.Relu(x)), ["Relu"]),
    "x / 4": (lambda x: op.Div(x, F32(4)), ["Mul"]),
    "x * 2 * 4": (lambda x: op.Mul(op.Mul(x, F32(2)), F32(4)), ["Mul"]),
    "x * 2 * -1": (lambda x: op.Mul(F32(-1), op.Mul(F32(2), x)), ["Mul"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GOES)
def test_a_rewrite_leaves_these_ops_and_the_same_bits(name: str) -> None:
    check_leaves(*GOES[name], is_exact="where" not in name)


STAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "x / 2^127, whose reciprocal is denormal": (lambda x: op.Div(x, F32(2.0**127)), "float32[N,3]"),
    "x + 0.0, which turns -0.0 into 0.0": (lambda x: op.Add(x, F32(0)), "float32[N,3]"),
    "x - (-0.0)": (lambda x: op.Sub(x, F32(-0.0)), "float32[N,3]"),
    "0.0 - x": (lambda x: op.Sub(F32(0), x), "float32[N,3]"),
    "x * 0, where x may be NaN": (lambda x: op.Mul(x, F32(0)), "float32[N,3]"),
    "x / 3, whose reciprocal rounds": (lambda x: op.Div(x, F32(3)), "float32[N,3]"),
    "x / 2^-149, whose reciprocal is no number": (lambda x: op.Div(x, F32(2.0**-149)), "float32[N,3]"),
    "x * ones that make it wider": (lambda x: op.Mul(x, np.ones((2, 3), F32)), "float32[3]"),
    "x * ones where N may be 1": (lambda x: op.Mul(x, np.ones((4, 3), F32)), "float32[N,3]"),
    "(x * 0.5) * 0.5, which may round twice": (lambda x: op.Mul(op.Mul(x, HALF), HALF), "float32[N,3]"),
    "(x * 2) * 0.5, which may overflow": (lambda x: op.Mul(op.Mul(x, F32(2)), HALF), "float32[N,3]"),
    "(x * 3) * 5": (lambda x: op.Mul(op.Mul(x, F32(3)), F32(5)), "float32[N,3]"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_might_change_a_bit_stays(name: str) -> None:
    check_stays(*STAYS[name])
