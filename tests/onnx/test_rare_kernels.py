"""The operators that onnxruntime is asked about are those with attributes that inference does not check."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.onnx.rare_kernels import rare_ops
from primsplit.ops import op

X = ps.spec("float32", [1, 4, 3, 3])


def rare(f: Any) -> list[str]:
    return [step.kind for step in rare_ops(ps.trace(f, X).block)]


def test_an_operator_with_attributes_is_rare_and_one_without_or_that_is_checked_is_not() -> None:
    assert rare(lambda x: op.LRN(x, size=3)) == ["LRN"]
    assert rare(op.Sin) == []
    assert rare(lambda x: op.Softmax(x, axis=1)) == []


def test_those_inside_of_blocks_are_found() -> None:
    def branches(x: Any) -> Any:
        return ps.cond(np.sum(x) > 0, lambda: op.LRN(x, size=3), lambda: op.Neg(x))

    assert rare(branches) == ["LRN"]
