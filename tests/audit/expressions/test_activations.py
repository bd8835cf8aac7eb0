"""Activation functions as expressions."""

import pytest

from primsplit.ir.errors import PrimsplitError
from tests.audit.expressions.written import text_of

X = "float32[2,3]"


def test_activations_are_formulas() -> None:
    assert text_of("Relu", X) == "np.maximum(a, 0)"
    assert text_of("Sigmoid", X) == "1 / (1 + np.exp(-a))"
    assert text_of("LeakyRelu", X, alpha=0.25) == "np.where(a < 0, 0.25 * a, a)"
    assert text_of("Gelu", X, opset=20) == "0.5 * a * (1 + special.erf(a / 2 ** 0.5))"


def test_softmax_is_along_an_axis_and_in_old_opsets_over_all_axes_from_one_on() -> None:
    assert text_of("Softmax", X) == "_softmax(a, axis=-1)"
    assert text_of("Softmax", "float32[2,3,4]", opset=11) == "_softmax(a, axis=(1, 2))"
    assert text_of("Softmax", "?", opset=11, axis=2) == "_softmax(a, axis=tuple(range(2, a.ndim)))"


def test_dropout_is_the_input_or_refused() -> None:
    assert text_of("Dropout", X) == "a"
    assert text_of("Dropout", X, outputs=2) == "(a, np.ones_like(a, np.bool_))"
    with pytest.raises(PrimsplitError, match="draws random numbers"):
        text_of("Dropout", X, "float32", "bool")
