"""A branch tests one truth value, or a comparison of sizes on the user's line."""

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import symbol
from primsplit.ir.errors import ShapeError
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import decide_size, scalar_condition
from tests.random_programs import run
from tests.recording import record


def test_the_size_of_an_axis_may_decide() -> None:
    def f(x):
        if x.shape[0] > 3:
            return x.sum()
        return (x**2).sum()

    file = ps.split(f, ps.spec("float64", ["N"])).joint()
    np.testing.assert_array_equal(file(np.full(2, 3.0))[1], [6.0, 6.0])
    np.testing.assert_array_equal(file(np.full(5, 3.0))[1], np.ones(5))


@pytest.mark.parametrize("spec", ["bool", "int64", "float64", "bool[1]", "float64[1,1]"])
def test_one_number_is_a_truth_value(spec: str) -> None:
    block = record(lambda x: Array(scalar_condition(x)), spec)
    assert block.results[0].type == Type("bool", [])
    given = np.ones(block.params[0].type.shape, block.params[0].type.dtype)
    for factor in (0, 1):
        assert run(block, [(given * factor).astype(given.dtype)])[0] == bool(factor)


@pytest.mark.parametrize("spec", ["bool[2]", "bool[N]", "float64[1,0]"])
def test_several_truth_values_are_refused_with_the_way_out(spec: str) -> None:
    with pytest.raises(ShapeError, match="a condition must be one truth value") as caught:
        record(lambda x: Array(scalar_condition(x)), spec)
    assert "np.all or np.any" in str(caught.value)


def test_a_plain_truth_value_is_a_constant() -> None:
    found = record(lambda: tuple(Array(scalar_condition(v)) for v in (True, 0, np.float32(2.0), np.array([False]))))
    assert [run(found, [])[i] for i in range(4)] == [True, False, True, False]


def test_a_comparison_of_sizes_decides_on_the_users_line_alone() -> None:
    def both(x):
        n = x.shape[0]
        return x.sum() if n == 2 else x.sum() + (1.0 if n < 5 else 2.0)

    program = ps.trace(both, ps.spec("float64", ["N"]))
    for n in (0, 1, 2, 4, 5, 9):
        assert program(np.ones(n)) == both(np.ones(n))
    with tracing.fresh_stack():
        assert decide_size(symbol("N"), "<", 3) is None
