"""Arguments of SciPy's functions: their dtypes, lengths, order, and what fails in the run."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.scipy.operands import (
    ascending,
    double,
    finite,
    floating,
    inexact,
    not_empty,
    number_of,
    of_at_least,
    of_length,
    wide,
    with_args,
)
from primsplit.ir.errors import RunError, ShapeError, UnsupportedFunction

N = ps.spec("float64", ["N"])
Z = np.array([1 + 2j, 3.0])


def test_arguments_behind_those_of_the_call_are_a_tuple_or_one() -> None:
    assert with_args(lambda x, a, b: (x, a, b), (2, 3))(1) == (1, 2, 3)
    assert with_args(lambda x, a: (x, a), [2, 3])(1) == (1, [2, 3])


@pytest.mark.parametrize(
    ("function", "dtypes"),
    [
        (floating, {"float32": "float32", "int32": "float64", "bool": "float64", "float16": "float16"}),
        (double, {"float32": "float64", "int8": "float64"}),
        (wide, {"float32": "float64", "complex64": "complex128"}),
        (inexact, {"float32": "float32", "complex64": "complex64", "int64": "float64"}),
    ],
)
def test_dtypes_of_traced_and_numpy_arrays_are_alike(function: Any, dtypes: dict[str, str]) -> None:
    for given, wanted in dtypes.items():
        x = np.array([0, 1], given)
        assert function(x).dtype == wanted
        found = ps.trace(lambda x: function(x), x)(x)
        assert found.dtype == wanted
        np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("function", [floating, double])
def test_complex_numbers_are_refused_where_they_would_lose_a_part(function: Any) -> None:
    with pytest.raises(UnsupportedFunction, match="complex"):
        function(Z)


def test_lengths_are_checked_while_tracing_or_in_the_run() -> None:
    with pytest.raises(ShapeError, match="3 elements for 2 along the axis -1"):
        ps.trace(lambda x: of_length(x, 2), np.zeros(3))
    with pytest.raises(ShapeError, match="elements along the axis 0 are fewer than 2"):
        ps.trace(lambda x: of_at_least(x, 2, 0), np.zeros(1))
    for function, right, wrong in (
        (lambda x: of_length(x, 2), 2, 3), (lambda x: of_at_least(x, 2), 3, 1), (lambda x: not_empty(x), 1, 0)
    ):  # fmt: skip
        program = ps.trace(lambda x, f=function: f(x) * 1.0, N)
        np.testing.assert_array_equal(program(np.ones(right)), np.ones(right))
        with pytest.raises(RunError):
            program(np.ones(wrong))


def test_sites_that_do_not_rise_fail_in_the_run() -> None:
    strictly = ps.trace(lambda x: ascending(x) * 1.0, N)
    weakly = ps.trace(lambda x: ascending(x, least="non-decreasing") * 1.0, N)
    for x in ([], [1.0], [1.0, 2.0]):
        np.testing.assert_array_equal(strictly(np.array(x, float)), x)
    np.testing.assert_array_equal(weakly(np.array([1.0, 1.0, 2.0])), [1.0, 1.0, 2.0])
    for program, x in ((strictly, [1.0, 1.0]), (weakly, [2.0, 1.0]), (weakly, [0.0, np.nan]), (strictly, [0, np.inf])):
        with pytest.raises(RunError):
            program(np.array(x, float))


def test_numbers_that_are_not_finite_fail_in_the_run_also_in_an_imaginary_part() -> None:
    program = ps.trace(lambda z: finite(z) * 1.0, Z)
    np.testing.assert_array_equal(program(Z), Z)
    with pytest.raises(RunError):
        program(np.array([1.0, complex(0, np.nan)]))


def test_a_size_is_a_number() -> None:
    assert number_of(3) == 3.0
    assert float(ps.trace(lambda x: number_of(x.shape[0]), N)(np.ones(4))) == 4.0
