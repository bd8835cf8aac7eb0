"""Sums and means of losses of classification are those of onnx's reference."""

from typing import Any

import numpy as np
import pytest

from tests.rewrites.decompositions.reference import expected, numbers, written

SCORES = numbers(4, 3, 2, 2).astype(np.float32)
TARGET = np.arange(16).reshape(4, 2, 2) % 3
WEIGHT = np.array([0.5, 2.0, 1.5], np.float32)


@pytest.mark.parametrize("kind", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("ignored", [None, 1, -100])
def test_a_loss_is_that_of_its_targets(kind: str, reduction: str, weight: Any, ignored: int | None) -> None:
    target = np.where(np.arange(16).reshape(4, 2, 2) == 5, -100, TARGET) if ignored == -100 else TARGET
    told: dict[str, Any] = {"reduction": reduction, **({} if ignored is None else {"ignore_index": ignored})}
    found = written(kind, SCORES, target, weight, **told)(*([SCORES] if weight is None else [SCORES, weight]))
    (wanted,) = expected(kind, SCORES, target, weight, **told)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
