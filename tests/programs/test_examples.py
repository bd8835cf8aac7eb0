"""Example arrays of a recording: the values of conditions, and the ways that arguments take."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.programs.examples import Examples, Way, example_sets


def outcomes(function: Any, sets: list[Any], wanted: Any = None) -> Any:
    """A condition's values for several arrays: the last result of a function of one array."""
    block = ps.trace(function, sets[0]).block
    (param,) = block.params
    made = Examples({}, [{param: np.asarray(x)} for x in sets])
    return made, block, made.outcomes(block.ops, block.results[-1])


def test_a_condition_has_a_value_for_each_set_of_arrays() -> None:
    _, _, found = outcomes(lambda x: np.sum(x) > 1, [np.array([1.0, 2.0]), np.array([0.0, 0.5]), np.array([1.0, 0.0])])
    assert found == {0: True, 1: False, 2: False}


def test_only_the_sets_that_go_the_way_are_asked() -> None:
    made, block, _ = outcomes(lambda x: x > 0, [np.array(1.0), np.array(-1.0)])
    made.active = (1,)
    assert made.outcomes(block.ops, block.results[0]) == {1: False}
    assert made.value(block.ops, block.results[0]) == np.array(False)


def test_a_condition_of_random_numbers_is_not_known() -> None:
    _, _, found = outcomes(lambda x: ps.random.uniform(size=()) + x > 0.5, [np.array(0.0)])
    assert found is None


def test_the_arguments_of_a_way_are_copies() -> None:
    x = np.array([1.0, 2.0])
    way = Way.of((x, 3), {"z": 1 + 2j})
    x[0] = 9.0
    np.testing.assert_equal([*way.leaves], [np.array([1.0, 2.0]), 3, 1.0, 2.0])


def test_each_way_that_fits_the_specs_gives_its_arrays() -> None:
    specs = Way.of((ps.spec("float64", ["N"]), 2), {})
    own = [Way.of((np.array([1.0]), 2), {}), Way.of((np.array([1.0, 3.0]), 2), {}), Way.of((np.ones((1, 1)), 2), {})]
    found = example_sets(specs, own)
    assert [None if a is None else a.tolist() for each in found for a in each] == [[1.0], None, [1.0, 3.0], None]
