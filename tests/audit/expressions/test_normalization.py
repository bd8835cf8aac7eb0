"""Normalizations as calls of helpers."""

import pytest

from primsplit.ir.errors import PrimsplitError
from tests.audit.expressions.written import text_of

X, C = "float32[2,3,4]", "float32[3]"


def test_only_the_results_of_the_node_are_taken() -> None:
    assert text_of("LayerNormalization", X, C, C) == "_layer_norm(a, b, c)[0]"
    assert text_of("LayerNormalization", X, C, outputs=3, epsilon=0.5) == "_layer_norm(a, b, epsilon=0.5)"
    assert text_of("BatchNormalization", X, C, C, C, C) == "_batch_norm(a, b, c, d, e)"
    training = text_of("BatchNormalization", X, C, C, C, C, outputs=3, training_mode=1, momentum=0.5)
    assert training == "_batch_norm_in_training(a, b, c, d, e, momentum=0.5)"


def test_an_instance_is_a_group_of_one_channel() -> None:
    text = text_of("InstanceNormalization", X, C, C)
    assert text == "_group_norm(a, b, c, a.shape[1], epsilon=1e-05)"
    assert text_of("MeanVarianceNormalization", X, axes=[0, 1]) == "_mean_variance_norm(a, (0, 1))"


def test_a_batch_of_an_old_opset_in_training_is_refused() -> None:
    with pytest.raises(PrimsplitError, match="opset below 14 in training"):
        text_of("BatchNormalization", X, C, C, C, C, outputs=5, opset=9)
