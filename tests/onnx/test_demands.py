"""Ranks that nodes demand of values, or that the file or the caller declares."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.unranked import Saved

DEMANDING = {
    "a convolution": ("k = Constant <value = double[1, 1, 1, 2] {1.0, 2.0}> () b = Relu (x) y = Conv (b, k)", 4),
    "pooling": ("a = Tanh (x) y = MaxPool <kernel_shape = [2]> (a)", 3),
    "an order of axes": ("y = Transpose <perm = [1, 0, 2]> (x)", 3),
    "a product with a bias": ("b = Softmax (x) y = Gemm (b, m, w)", 2),
    "an equation": ('y = Einsum <equation = "ab,bc->ac"> (x, m)', 2),
    "padding": ("p = Constant <value_ints = [0, 1, 0, 0, 1, 0]> () y = Pad (x, p)", 3),
    "joined with what is turned": ("b = Exp (x) c = Concat <axis = 0> (x, b) y = Transpose <perm = [1, 0]> (c)", 2),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "rank"), DEMANDING.values(), ids=list(DEMANDING))
def test_an_input_has_the_rank_that_nodes_demand(nodes: str, rank: int, saved: Saved) -> None:
    program = ps.load(saved(nodes))
    assert program.types[0].rank == rank
    ps.split(program)


def test_an_inner_value_has_the_rank_that_it_is_declared_with_or_the_run_fails(saved: Saved) -> None:
    nodes = "b = Squeeze (x) i = Constant <value_ints = [1]> () y = Gather (b, i)"
    path = saved(nodes, "(double[n, 1, p] x) => (double y)")
    gradient = ps.split(ps.load(path, specs={"b": 2}), seed="ones").joint()
    np.testing.assert_allclose(gradient(np.ones((2, 1, 3)))[1], np.array([0, 1])[:, None, None] * np.ones((2, 1, 3)))
    with pytest.raises(RunError):
        gradient(np.ones((1, 1, 3)))
