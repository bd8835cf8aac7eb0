"""Rewrites before a derivative: they come in an order, and change no value but by roundings."""

import math
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.testing import check_grads

ROOT3 = math.sqrt(3)


def test_a_norm_that_is_written_twice_is_one() -> None:
    norm = np.linalg.norm
    made = ps.hessian(lambda x: (1 + ROOT3 * norm(x)) * np.exp(-ROOT3 * norm(x)))(np.zeros(2))
    np.testing.assert_allclose(made, -3 * np.eye(2))


def slope(x: Any) -> Any:
    return ps.grad(lambda x: np.sum(np.tanh(x) * x))(x)


def squares(s: Any) -> Any:
    return np.sum(s * s)


def test_what_two_derivatives_both_compute_is_pulled_back_once() -> None:
    x = ps.spec("float64", ["N"])
    once = ps.split(lambda x: squares(slope(x)), x)
    twice = ps.split(lambda x: np.sum(slope(x) * slope(x)), x)
    assert len(twice.pullback.ops) == len(once.pullback.ops)
    check_grads(lambda x: np.sum(slope(x) * slope(x)), np.array([0.3, -0.7]))


def test_what_a_user_wrote_twice_is_split_as_it_is_written() -> None:
    made = ps.split(lambda x: np.sum(np.exp(x) * np.exp(x)), ps.spec("float64", ["N"]))
    assert [op.kind for op in made.primal.ops].count("Exp") == 2
    assert [node.op_type for node in made.joint().to_onnx().graph.node].count("Exp") == 1
