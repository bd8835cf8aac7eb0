"""The weights of a program as arrays by name."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Const
from primsplit.programs.weights import Weights, merged_weights

INITIALIZERS = {"w": Const(np.arange(3.0)), "b": Const(np.ones(2)), "one": Const(np.array(1.0))}


def test_weights_are_arrays_by_name_without_the_constants_among_them() -> None:
    weights = Weights(INITIALIZERS, {"one": "a number of an operator"})
    assert [*weights] == ["w", "b"]
    assert len(weights) == 2
    np.testing.assert_array_equal(weights["w"], [0, 1, 2])
    assert float(weights["one"]) == 1.0
    assert repr(weights) == "w: float64[3]\nb: float64[2]"
    assert repr(Weights({})) == "no weights"
    with pytest.raises(ValueError, match="read-only"):
        weights["w"][0] = 5.0


def test_as_an_argument_they_are_a_dictionary_of_their_arrays() -> None:
    slopes = ps.grad(lambda p, x: np.sum(p["w"] ** 2) + p["b"] @ x)(Weights(INITIALIZERS), np.array([3.0, 4.0]))
    assert type(slopes) is dict
    np.testing.assert_array_equal(slopes["w"], [0, 2, 4])
    np.testing.assert_array_equal(slopes["b"], [3, 4])


def test_weights_that_are_one_number_everywhere_and_read_often_are_told() -> None:
    """An exporter may have written several parameters as one."""
    block = ps.trace(lambda w, b, x: (x * w + b) * w - w, np.ones(2), np.ones(2), np.zeros(2)).block
    ones = {"w": Const(np.ones(2)), "b": Const(np.ones(2)), "x": Const(np.arange(2.0))}
    assert merged_weights(block, ["w", "b", "x"], ones) == [{"name": "w", "readers": 3}]
    assert merged_weights(block, ["w", "b", "x"], {"w": Const(np.arange(2.0))}) == []
