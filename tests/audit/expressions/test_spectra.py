"""Fourier transforms as calls of a helper."""

import numpy as np

from tests.audit.expressions.written import text_of

X = "float32[2,8,1]"


def test_the_axis_is_an_attribute_of_old_opsets_and_an_input_of_new_ones() -> None:
    assert text_of("DFT", X, opset=17) == "_dft(a, axis=1)"
    assert text_of("DFT", X, opset=20, inverse=1) == "_dft(a, inverse=1)"
    assert text_of("DFT", X, "int64", np.array(-2), opset=20, onesided=1) == "_dft(a, onesided=1, length=b, axis=-2)"
