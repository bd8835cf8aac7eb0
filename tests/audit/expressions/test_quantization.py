"""Quantized numbers as calls of helpers."""

from tests.audit.expressions.written import text_of


def test_the_dtype_is_that_of_the_zero_point_or_of_the_node() -> None:
    assert text_of("QuantizeLinear", "float32[2,3]", "float32", "int8") == "_quantize(a, b, c, np.int8)"
    assert text_of("QuantizeLinear", "float32[2,3]", "float32") == "_quantize(a, b, None, np.uint8)"
    assert text_of("DequantizeLinear", "int8[2,3]", "float32[2]", axis=0) == "_dequantize(a, b, axis=0)"
