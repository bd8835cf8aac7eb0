"""Compositions that name sizes of their own: each use has its own names."""

import numpy as np

import primsplit as ps
from primsplit.ops import op


def test_two_uses_of_one_composition_may_have_different_sizes() -> None:
    """The same operator on the same types, with scales that only the run knows."""
    scales = ps.spec("float32", [1])

    def both(x: ps.Array, a: ps.Array, b: ps.Array) -> tuple[ps.Array, ps.Array]:
        return op.Resize(x, None, a, mode="nearest"), op.Resize(x, None, b, mode="nearest")

    program = ps.trace(both, ps.spec("float64", [2]), scales, scales)
    twice, thrice = program(np.array([1.0, 2.0]), np.array([2], np.float32), np.array([3], np.float32))
    np.testing.assert_array_equal(twice, [1, 1, 2, 2])
    np.testing.assert_array_equal(thrice, [1, 1, 1, 2, 2, 2])
    graph = program.to_onnx().graph
    counted = {node.output[0] for node in graph.node if node.op_type == "Range"}
    named = [v.type.tensor_type.shape.dim[0].dim_param for v in graph.value_info if v.name in counted]
    assert len(named) == len(set(named)) == 2
