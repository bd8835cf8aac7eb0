"""Values that a pullback computes again instead of keeping them."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Op, Type, Var, check
from primsplit.ir.parts import Split
from primsplit.rewrites.recompute import read_views_again, recomputing


def split_of(function: Any, *specs: Any) -> Split:
    """The split of a function by its first argument."""
    made: Split = ps.split(function, *specs, wrt=0).split
    return made


def test_a_split_that_keeps_nothing_captures_parameters_alone() -> None:
    split = split_of(lambda x: np.exp(np.tanh(x)), ps.spec("float64", [3]))
    found = recomputing(split, lambda _: False)
    assert set(found.captures) <= set(split.primal.params)
    check(found.pullback)
    assert {"Tanh", "Exp"} <= {o.kind for o in found.pullback.ops}
    assert found.cotangents == split.cotangents


def test_what_is_kept_is_not_computed_again() -> None:
    split = split_of(lambda x: np.exp(np.tanh(x)), ps.spec("float64", [3]))
    tanh = next(o.outputs[0] for o in split.primal.ops if o.kind == "Tanh")
    found = recomputing(split, lambda v: v is tanh)
    assert tanh in found.captures
    assert "Tanh" not in {o.kind for o in found.pullback.ops}
    assert "Exp" in {o.kind for o in found.pullback.ops}
    assert recomputing(split, lambda _: True) is split


def test_a_view_of_a_parameter_is_taken_again_in_the_pullback() -> None:
    x, part, turned, y, dy, cosine = (Var(Type("float64", [3, 2])) for _ in range(6))
    cut, transposed = Op("Slice", (x,), (part,)), Op("Transpose", (part,), (turned,))
    pullback = [
        Op("Cos", (turned,), (cosine,)),
        Op("Mul", (dy, cosine), (Var(x.type),)),
        Op("Neg", (y,), (Var(x.type),)),
    ]
    found = read_views_again(pullback, [cut, transposed], [x])
    assert [o.kind for o in found] == ["Slice", "Transpose", "Cos", "Mul", "Neg"]
    assert found[0].inputs == (x,)
    assert found[1].inputs == found[0].outputs
    assert found[2].inputs == found[1].outputs
    assert found[1].outputs[0] is not turned
    # What is no view is read from the primal.
    assert found[4].inputs == (y,)
    assert read_views_again(pullback[2:], [cut, transposed], [x]) == pullback[2:]


@pytest.mark.parametrize("around", [ps.checkpoint, lambda function: function])
def test_gradients_are_the_same_whatever_is_kept(around: Any) -> None:
    x = np.array([0.3, -1.2, 0.7])
    gradient = ps.grad(around(lambda x: np.sum(np.exp(np.tanh(x)))))
    np.testing.assert_allclose(gradient(x), np.exp(np.tanh(x)) * (1 - np.tanh(x) ** 2))
