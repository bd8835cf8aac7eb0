"""Elementwise operators as expressions."""

import numpy as np
import pytest

from primsplit.ir.errors import PrimsplitError
from tests.audit.expressions.written import text_of

X = "float32[2,3]"


def test_arithmetic_is_infix() -> None:
    assert text_of("Add", X, X) == "a + b"
    assert text_of("Sum", X, X, X) == "a + b + c"
    assert text_of("Max", X, X, X) == "np.maximum(np.maximum(a, b), c)"
    assert text_of("Mean", X, X) == "(a + b) / 2"


def test_only_a_quotient_of_floats_is_a_slash() -> None:
    assert text_of("Div", X, X) == "a / b"
    assert text_of("Div", "int64[2]", "int64[2]") == "_divide(a, b)"
    assert text_of("Div", "?", "?") == "_divide(a, b)"


def test_a_power_has_the_dtype_of_its_base() -> None:
    assert text_of("Pow", X, np.float32(2)) == "a ** 2"
    assert text_of("Pow", X, np.float32(1 / 3)) == "a ** 0.33333334"
    assert text_of("Pow", X, X) == "a ** b"
    assert text_of("Pow", "int64[2]", X) == "_power(a, b)"


def test_ends_of_a_range_may_be_missing() -> None:
    assert text_of("Clip", X, np.float32(0), np.float32(1)) == "np.clip(a, 0.0, 1.0)"
    assert text_of("Clip", X, None, np.float32(1)) == "np.minimum(a, 1.0)"
    assert text_of("Clip", X, opset=6, min=0.0) == "np.maximum(a, 0.0)"
    assert text_of("Clip", X) == "a"


def test_a_conversion_names_a_dtype_that_numpy_has() -> None:
    assert text_of("Cast", X, result="int64[2,3]") == "a.astype(np.int64)"
    assert text_of("Cast", X, result="bool[2,3]") == "a.astype(np.bool_)"
    with pytest.raises(PrimsplitError, match="bfloat16, which NumPy does not have"):
        text_of("Cast", X, result="bfloat16[2,3]")


def test_infinite_numbers_of_one_sign() -> None:
    assert text_of("IsInf", X) == "np.isinf(a)"
    assert text_of("IsInf", X, detect_negative=0) == "np.isposinf(a)"
    assert text_of("Mod", X, X, fmod=1) == "np.fmod(a, b)"
    assert text_of("BitShift", "uint8[2]", "uint8[2]", direction="LEFT") == "a << b"
