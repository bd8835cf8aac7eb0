"""Python's functions that compare their arguments, in forms without branches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.ordering import ordering


@pytest.mark.parametrize("function", [min, max, sorted, all, any], ids=lambda f: f.__name__)
def test_a_function_that_compares_has_a_form_without_branches_and_pythons_answer(function: Callable[..., Any]) -> None:
    given = [2, 0, 5, 1]
    assert ordering(function) is not function
    assert ordering(function)(given) == function(given)
    run = ps.trace(lambda x: np.sum(np.asarray(ordering(function)(list(x))) * 1.0), np.array(given, float))
    assert float(run(np.array([7.0, 0.0, -3.0, 1.0]))) == float(np.sum(function([7.0, 0.0, -3.0, 1.0])))


def test_other_functions_are_themselves() -> None:
    for function in (sum, len, np.sort, lambda x: x):
        assert ordering(function) is function
