"""Resizing as a call of a helper."""

from tests.audit.expressions.written import text_of

X = "float32[1,1,2,2]"


def test_options_that_are_the_default_are_left_out() -> None:
    assert text_of("Resize", X, None, "float32[4]") == "_resize(a, scales=c)"
    text = text_of("Resize", X, None, None, "int64[4]", mode="cubic", coordinate_transformation_mode="asymmetric")
    assert text == "_resize(a, mode='cubic', places='asymmetric', sizes=d)"


def test_old_operators_take_the_element_before_a_place() -> None:
    wanted = "_resize(a, b, mode='nearest', places='asymmetric', nearest='floor')"
    assert text_of("Upsample", X, "float32[4]", opset=9) == wanted
    assert text_of("Resize", X, "float32[4]", opset=10) == wanted
