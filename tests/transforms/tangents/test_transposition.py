"""Tangent lists: linear, without a cotangent in them, and as they are listed."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import free
from primsplit.ops import op
from primsplit.tracing.calls.linearity import explain_nonlinearity
from primsplit.transforms.tangents.pushforward import push_whole
from tests.recording import record


@pytest.mark.parametrize(
    "function",
    [
        lambda x: op.ReduceL2(x, [0], keepdims=0),
        lambda x: op.ReduceLogSumExp(x, [1], keepdims=1),
        lambda x: op.LayerNormalization(x, np.ones(4), axis=-1),
        lambda x: op.ReduceProd(x, [0], keepdims=0),
    ],
)
def test_a_derived_list_is_linear_and_reads_the_primal_alone(function: Any) -> None:
    block = record(function, "float64[N,4]")
    pushed = push_whole(block, [0], [0])
    assert explain_nonlinearity(pushed.tangent, pushed.tangents) == ""
    assert not free(pushed.tangent)
    defined = {*pushed.primal.params, *(v for o in pushed.primal.ops for v in o.outputs)}
    assert set(pushed.captures) <= defined
