"""Convolutions and pools as calls of helpers."""

import pytest

from primsplit.ir.errors import PrimsplitError
from tests.audit.expressions.written import text_of

X, W = "float32[1,2,5,5]", "float32[4,2,3,3]"
PLAIN = "strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]"


def test_a_convolution_tells_its_geometry() -> None:
    assert text_of("Conv", X, W) == f"_conv(a, b, {PLAIN})"
    assert text_of("Conv", X, W, group=2, auto_pad="SAME_UPPER").endswith("pads='SAME_UPPER', group=2)")


def test_a_transposed_convolution_of_a_size_has_the_pads_for_it() -> None:
    text = text_of("ConvTranspose", X, "float32[2,4,3,3]", output_shape=[5, 5])
    assert text == "_conv_transpose(a, b, strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], extra=[0, 0])"
    with pytest.raises(PrimsplitError, match="sizes that the file does not tell"):
        text_of("ConvTranspose", "?", W, output_shape=[5, 5], kernel_shape=[3, 3])


def test_pools_give_the_results_that_the_node_has() -> None:
    assert text_of("MaxPool", X, kernel_shape=[2, 2]) == f"_max_pool(a, kernel=[2, 2], {PLAIN})[0]"
    assert text_of("MaxPool", X, kernel_shape=[2, 2], outputs=2) == f"_max_pool(a, kernel=[2, 2], {PLAIN})"
    average = text_of("AveragePool", X, kernel_shape=[2, 2], count_include_pad=1, ceil_mode=1)
    assert average == f"_average_pool(a, kernel=[2, 2], {PLAIN}, ceil=True, with_pads=True)"
    assert text_of("GlobalAveragePool", X) == "np.mean(a, axis=(2, 3), keepdims=True)"
