"""Functions that are called as SciPy's functions of the same name are."""

import inspect
from typing import Any, NamedTuple

import pytest
import scipy.ndimage
import scipy.signal

from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.ir.errors import UnsupportedFunction


class Window(NamedTuple):
    """Arguments that come as one."""

    size: Any = None
    mode: str = "unknown"


@as_scipys("scipy.ndimage", Window)
def rank_filter(input: Any, rank: Any, window: Window) -> tuple[Any, Any, Window]:
    return input, rank, window


@as_scipys("scipy.signal")
def butter(N: Any, Wn: Any, btype: Any) -> tuple[Any, Any, Any]:
    return N, Wn, btype


def test_arguments_have_the_order_names_and_defaults_of_scipys_function() -> None:
    assert butter(4, 0.3) == (4, 0.3, inspect.signature(scipy.signal.butter).parameters["btype"].default)
    assert butter(Wn=0.3, N=4, btype="high", analog=False) == (4, 0.3, "high")
    with pytest.raises(TypeError):
        butter(4)


def test_an_argument_that_is_not_taken_must_have_its_default() -> None:
    with pytest.raises(UnsupportedFunction, match=r"butter with fs=2\.0"):
        butter(4, 0.3, fs=2.0)


def test_arguments_of_a_group_come_as_one_with_scipys_defaults() -> None:
    assert rank_filter("x", 2, 3) == (
        "x", 2, Window(3, inspect.signature(scipy.ndimage.rank_filter).parameters["mode"].default)
    )  # fmt: skip
    assert rank_filter("x", 2, mode="wrap") == ("x", 2, Window(None, "wrap"))
