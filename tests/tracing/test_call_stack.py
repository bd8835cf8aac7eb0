"""Frames of the functions that run."""

from types import FrameType

from primsplit.tracing.call_stack import frame_out, innermost_frame


def asked(depth: int) -> FrameType:
    return frame_out(depth)


def test_a_frame_is_counted_from_the_function_that_asks() -> None:
    assert asked(0).f_code is asked.__code__
    assert asked(1).f_code.co_name == "test_a_frame_is_counted_from_the_function_that_asks"


def test_the_innermost_frame_is_the_first_whose_file_is_not_skipped() -> None:
    found = innermost_frame(lambda filename: "primsplit/tracing" in filename)
    assert found is not None
    assert found.f_code.co_name == "test_the_innermost_frame_is_the_first_whose_file_is_not_skipped"
    assert innermost_frame(lambda _: True) is None
