"""A class that the function asks for is NumPy's, in joined and in converted functions too."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps


def branches(x: Any) -> Any:
    """So many that both sides of each are recorded in one run."""
    y = x[1]
    for j in range(9):
        if x[j % 3] > 0.1 * j:
            y = y + x[1]
    return y


def kind(v: Any) -> int:
    return 3 if isinstance(v, float) else 4


def matched(w: Any) -> float:
    match w:
        case float():
            return 2.0
        case np.ndarray():
            return 3.0
    return 4.0


ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "isinstance of an array": lambda x, w: isinstance(x, np.ndarray),
    "isinstance of a number": lambda x, w: isinstance(w, float),
    "isinstance of several": lambda x, w: isinstance(w, int | float),
    "an abstract class": lambda x, w: isinstance(w, numbers.Real),
    "a helper": lambda x, w: kind(w) == 3,
    "match of a number": lambda x, w: matched(w) == 2.0,
    "match of an array": lambda x, w: matched(x) == 3.0,
    "all elements": lambda x, w: all(isinstance(v, float) for v in x),
    "type of a number": lambda x, w: type(w) is np.float64,
    "type of an array": lambda x, w: type(x) is np.ndarray,
    "type of a truth value": lambda x, w: type(x[0] > 0) is np.bool_,
    "__class__": lambda x, w: w.__class__ is np.float64,
    "a class's name": lambda x, w: type(w).__name__ == "float64",
    "issubclass": lambda x, w: issubclass(type(w), float),
    "np.isscalar": lambda x, w: np.isscalar(w),
    "hasattr of a number": lambda x, w: hasattr(w, "__len__"),
    "hasattr of an array": lambda x, w: hasattr(x, "__len__"),
    "a product": lambda x, w: isinstance(w * 2, float),
    "a sum": lambda x, w: isinstance(np.sum(x), float),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_class_is_numpys_wherever_it_is_asked_for(name: str) -> None:
    asked, x = ASKED[name], np.array([-0.3, 2.0, 0.5])

    def answer(x: Any) -> float:
        return 2.0 if asked(x, x[2]) else 5.0

    for function in (
        lambda x: answer(x) * x[0],
        lambda x: answer(x) * branches(x),
        lambda x: answer(x) * math.atan(x[0]),
        lambda x: answer(x) * branches(x) + math.atan(x[0]),
    ):
        assert ps.trace(function, np.ones(3))(x) == function(x)
