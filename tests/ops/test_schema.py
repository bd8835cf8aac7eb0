"""The standard's facts about an operator, whatever the installed onnx says."""

import pytest

from primsplit.ops.schema import schema


@pytest.mark.parametrize("kind", ["Range", "HannWindow", "HammingWindow", "BlackmanWindow", "Add", "AffineGrid"])
def test_an_operator_that_gives_the_same_each_time_is_not_called_random(kind: str) -> None:
    """onnx looks no further than the Loop or If in an operator's body."""
    assert schema(kind).deterministic


@pytest.mark.parametrize("kind", ["RandomNormal", "Bernoulli", "Dropout", "Loop", "If"])
def test_what_draws_or_may_hold_a_draw_is_called_random(kind: str) -> None:
    assert not schema(kind).deterministic
