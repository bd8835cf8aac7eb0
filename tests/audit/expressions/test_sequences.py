"""Sequences as lists."""

import numpy as np

from tests.audit.expressions.written import text_of

X = "float32[2]"


def test_a_sequence_is_a_list() -> None:
    assert text_of("SequenceConstruct", X, X) == "[a, b]"
    assert text_of("SequenceAt", "?", np.array(-1)) == "a[-1]"
    assert text_of("SequenceAt", "?", "int64") == "a[b.item()]"
    assert text_of("SequenceInsert", "?", X) == "[*a, b]"
    assert text_of("SequenceInsert", "?", X, np.array(0)) == "[*a[:0], b, *a[0:]]"
    assert text_of("SequenceErase", "?") == "a[:-1]"
    assert text_of("SequenceLength", "?") == "np.int64(len(a))"
    assert text_of("ConcatFromSequence", "?", axis=0, new_axis=1) == "np.stack(a, axis=0)"


def test_a_value_that_may_be_missing_is_none() -> None:
    assert text_of("Optional") == "None"
    assert text_of("OptionalHasElement", "?") == "np.bool_(a is not None)"
    assert text_of("OptionalHasElement") == "np.bool_(False)"
