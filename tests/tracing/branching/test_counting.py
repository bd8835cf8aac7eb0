"""Numbers that count: a loop's bound, a scan's length, the index of a switch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError

COUNTED: dict[str, Callable[[Any, Any], Any]] = {
    "a bound": lambda x, n: ps.fori_loop(0, n, lambda _, c: 2.0 * c, x),
    "a length": lambda x, n: ps.scan(lambda c, _: (2.0 * c, None), x, length=n)[0],
    "an index": lambda x, n: ps.switch(n, [lambda v: v, lambda v: 2.0 * v, lambda v: 4.0 * v], x),
}


@pytest.mark.parametrize("function", COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("number", [2, np.int64(2), np.int32(2), np.uint8(2), np.array(2, np.int16)])
def test_an_integer_of_any_dtype_counts(function: Callable[[Any, Any], Any], number: Any) -> None:
    assert function(3.0, number) == 12.0
    assert ps.trace(lambda x: function(x, number), 3.0)(3.0) == 12.0
    given = np.asarray(number)
    assert ps.trace(function, 3.0, given)(3.0, given) == 12.0


@pytest.mark.parametrize("function", COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("number", [2.7, np.float64(2.0), True])
def test_what_is_no_integer_is_refused_in_a_trace_and_outside_of_one(
    function: Callable[[Any, Any], Any], number: Any
) -> None:
    for call in (
        lambda: function(3.0, number),
        lambda: ps.trace(lambda x: function(x, number), 3.0),
        lambda: ps.trace(function, 3.0, np.asarray(number)),
    ):
        with pytest.raises(DtypeError, match="must be an integer") as caught:
            call()
        assert "test_counting.py" in str(caught.value)
