"""Expansions from size 1 to the literal size 0, which onnxruntime drops as if they changed nothing."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op


@pytest.mark.parametrize("shape", [["N", 1, 3], [2, 1, 3]])
@pytest.mark.parametrize("target", [[1, 0, 1], [0, 3], [2, 0, 3]])
def test_an_expansion_to_no_elements_has_none(shape: list[int | str], target: list[int]) -> None:
    program = ps.trace(lambda x: op.Shape(op.Expand(np.sin(x), target)), ps.spec("float64", shape))
    assert program(np.ones((2, 1, 3))).tolist() == [2, 0, 3]
