"""Functions that have no form for traced arrays are refused with their reason and the way out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, UnsupportedFunction
from primsplit.numpy.refusals import BECAUSE, CURES, REASONS

FUNCTIONS = [
    (function, because) for because, functions in REASONS.items() for function in functions if function is not np.isnat
]
CALLS: dict[Any, Callable[[Any], Any]] = {
    np.save: lambda x: np.save("never.npy", x),
    np.savetxt: lambda x: np.savetxt("never.txt", x),
    np.savez: lambda x: np.savez("never.npz", x),
    np.savez_compressed: lambda x: np.savez_compressed("never.npz", x),
    np.busday_count: lambda x: np.busday_count(x, x),
    np.busday_offset: lambda x: np.busday_offset(x, x),
}


@pytest.mark.parametrize(("function", "because"), FUNCTIONS, ids=lambda f: getattr(f, "__name__", None))
def test_a_function_is_refused_with_its_reason(function: Any, because: str) -> None:
    with pytest.raises(UnsupportedFunction) as caught:
        ps.trace(lambda x: CALLS.get(function, function)(x), np.ones(3))
    told = str(caught.value)
    assert f"np.{function.__name__} has no form for traced arrays: {because}" in told
    assert CURES[because] in told
    assert "test_refusals.py" in told


def test_numpys_own_refusal_of_numbers_is_told_first() -> None:
    with pytest.raises(DtypeError, match=r"np\.isnat does not take float64\n  at test_refusals\.py"):
        ps.trace(lambda x: np.isnat(x), np.ones(3))


def test_every_reason_is_told_and_has_a_cure() -> None:
    assert set(BECAUSE.values()) == set(REASONS) == set(CURES)


def test_a_plain_array_is_not_refused() -> None:
    def f(x: Any) -> Any:
        assert np.array_str(np.ones(2)) == "[1. 1.]"
        return x

    ps.trace(f, np.ones(2))
