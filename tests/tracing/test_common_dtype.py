"""Results of branches keep their values, whatever dtypes the paths return."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError

X = np.array([1.0, 2.0, 0.5])


def count_or_half(x: Any) -> Any:
    return 0.5 if x[0] > 0 else np.sum(x > 0.7)


def truth_or_number(x: Any) -> Any:
    return 2 if x[0] > 0 else x[1] > 0


def truth_or_float(x: Any) -> Any:
    return 2.5 if x[0] > 0 else x[1] > 0


def byte_or_large_number(x: Any) -> Any:
    return 300 if x[0] > 0 else np.uint8(3) * (x[1] > 0)


def byte_or_negative_number(x: Any) -> Any:
    return -1 if x[0] > 0 else np.uint8(3) * (x[1] > 0)


def byte_or_number_of_the_run(x: Any) -> Any:
    return int(x[0] * 300) if x[0] > 0 else np.uint8(3) * (x[1] > 0)


def single_or_large_number(x: Any) -> Any:
    return 1e300 if x[0] > 0 else np.float32(3) * (x[1] > 0)


@pytest.mark.parametrize(
    "function",
    [
        count_or_half, truth_or_number, truth_or_float, byte_or_large_number, byte_or_negative_number,
        byte_or_number_of_the_run, single_or_large_number,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_paths_return_what_they_return_in_python(function: Callable[[Any], Any], sign: float) -> None:
    x = X * [sign, 1.0, 1.0]
    assert ps.trace(function, X)(x) == function(x)
    assert ps.trace(lambda x: ps.cond(x[0] > 0, lambda: 0.5, lambda: np.argmax(x)), X)(x) == (0.5 if sign > 0 else 1)


def test_a_carry_that_begins_as_a_float_stays_one() -> None:
    program = ps.trace(lambda x: ps.fori_loop(0, np.argmax(x), lambda k, c: np.argmin(x), 0.5), X)
    assert [program(x) for x in (X, np.array([3.0, 1.0, 2.0]))] == [2.0, 0.5]


def test_a_python_number_that_fits_takes_the_dtype_of_numpy() -> None:
    def function(x: Any) -> Any:
        return 7 if x[0] > 0 else np.uint8(3) * (x[1] > 0)

    assert ps.trace(function, X)(X).dtype == np.uint8
    assert ps.trace(lambda x: 0.1 if x[0] > 0 else x[1], ps.spec("float32", [2])).block.results[0].type.dtype == "f4"


def test_a_number_that_may_be_negative_beside_uint64_is_refused() -> None:
    with pytest.raises(DtypeError, match="int64 and uint64"):
        ps.trace(lambda x: int(x[0]) if x[0] > 0 else np.uint64(3) * (x[1] > 0), X)
