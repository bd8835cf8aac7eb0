"""The handle of a traced array: writes go to the array and its views, and forms are registered for functions."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError, TraceError
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from tests.recording import record
from tests.registered import only_here


def test_a_write_gives_the_handle_another_value_and_the_first_one_stays() -> None:
    def program(x: Any) -> Any:
        y = x.copy()
        before = y.value
        y[1] = 5.0
        assert y.value is not before
        assert x.value is before
        return y

    assert [step.kind for step in record(program, "float64[3]").ops][-1] == "ScatterND"


def test_a_view_is_read_again_after_a_write_to_its_base_and_the_other_way_round() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        row, column = y[1], y[:, 0]
        y *= 2.0
        row[0] = 7.0
        column += 1.0
        return y, row, column

    x = np.arange(6.0).reshape(3, 2)
    for found, wanted in zip(ps.trace(f, x)(x), f(x), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_array_of_an_enclosing_function_is_not_written_to() -> None:
    def f(x: Any) -> Any:
        y = x.copy()

        def inner(z: Any) -> Any:
            y[0] = z
            return z * 2.0

        return ps.grad(inner)(x[0]) + y[0]

    with pytest.raises(TraceError, match="an array of an enclosing function is written to inside an inner trace"):
        ps.trace(f, np.ones(2))


def test_a_number_of_pythons_gives_way_and_a_number_of_numpys_does_not() -> None:
    def program(x: Any) -> Any:
        weak, strong = Array(op.Identity(np.float64(2.0)).value, weak=True), op.Identity(np.float64(2.0))
        return x * weak, x * strong

    first, second = record(program, "float32[3]").results
    assert (first.type.dtype, second.type.dtype) == (np.float32, np.float64)


@pytest.fixture
def _only_here() -> Iterator[None]:
    """Undo registrations after the test."""
    with only_here(FUNCTIONS):
        yield


@pytest.mark.usefixtures("_only_here")
def test_a_function_has_one_traced_form_unless_it_is_replaced() -> None:
    @implements(np.fix, np.trim_zeros)
    def own(x: Any) -> Any:
        return op.Neg(x)

    assert FUNCTIONS[np.trim_zeros] is own
    x = np.array([1.5, -2.5])
    np.testing.assert_array_equal(ps.trace(np.fix, x)(x), -x)
    with pytest.raises(RuleError, match="traced form"):
        implements(np.fix)(_elsewhere())
    implements(np.fix, replace=True)(_elsewhere())
    np.testing.assert_array_equal(ps.trace(np.fix, x)(x), x)


def _elsewhere() -> Any:
    def other(x: Any) -> Any:
        return x

    other.__module__ = "somewhere.else"
    return other


def test_a_value_is_told_from_numpys_by_its_class_in_the_users_code() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((isinstance(x, ps.Array), isinstance(x, np.ndarray), x.__class__ is np.ndarray))
        return x

    ps.trace(f, np.ones(2))
    assert seen == [(True, True, True)]
