"""Questions for attributes of a traced number are answered as for the NumPy or Python number that it stands for."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

X = np.array([2.5, 1.5])
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "an integer of Python's": lambda x: int(x[0]),
    "a rounded number": lambda x: math.floor(x[0]),
    "a float of Python's": lambda x: x[0].item(),
    "NumPy's number": lambda x: x[0],
    "an array": lambda x: x,
    "a truth value": lambda x: bool(x[0] > 1),
}
NAMES = ["shape", "dtype", "is_integer", "bit_length", "__array__", "conjugate", "checked", "ndim", "unknown"]


def by_hasattr(number: Any, name: str) -> bool:
    return hasattr(number, name)


def by_default(number: Any, name: str) -> bool:
    return getattr(number, name, None) is not None


def by_error(number: Any, name: str) -> bool:
    try:
        getattr(number, name)
    except AttributeError:
        return False
    return True


def by_read(number: Any, name: str) -> bool:
    """The same for one name that is written out."""
    try:
        number.shape  # noqa: B018
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("of", NUMBERS)
@pytest.mark.parametrize("asked", [by_hasattr, by_default, by_error, by_read])
def test_an_attribute_is_there_where_it_is_in_python(of: str, asked: Callable[[Any, str], bool]) -> None:
    for name in NAMES:
        if asked is not by_hasattr and name in {"is_integer", "bit_length"}:
            continue  # traced numbers refuse these when they are read

        def f(x: Any, name: str = name) -> Any:
            return x[1] * (2.0 if asked(NUMBERS[of](x), name) else 3.0)

        assert float(ps.trace(f, ps.spec("float64", [2]))(X)) == f(X), name


def test_an_attribute_that_is_missing_raises_as_in_python() -> None:
    with pytest.raises(AttributeError, match="'float' object has no attribute 'shape'"):
        ps.trace(lambda x: getattr(math.sin(x[0]), "shape"), ps.spec("float64", [2]))  # noqa: B009
