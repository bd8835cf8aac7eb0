"""Leaves of nested values on several paths: one dtype, one structure, as many axes, and integers that are integers."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Type
from primsplit.ir.dims import symbol
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.control.structure import (
    arrays_of,
    check_carry,
    converted,
    met_dtype,
    plain_integer,
    require_same_structure,
    traced_integer,
)
from tests.recording import kinds, record


def test_a_python_number_gives_way_and_two_dtypes_do_not_meet() -> None:
    def program(x: Any, y: Any) -> Any:
        weak, whole = (Array(op.Identity(v).value, weak=True) for v in (np.float64(1.0), np.int64(1)))
        assert met_dtype("c", {"before": weak, "after": x}) == np.float32
        assert met_dtype("c", {"before": whole, "after": weak}) == np.float64
        assert met_dtype("c", {"before": x, "after": x}) == np.float32
        with pytest.raises(DtypeError, match="c is float32 and float64, depending on the path") as caught:
            met_dtype("c", {"before": x, "after": y})
        assert "before: float32[2]" in str(caught.value)
        return x

    record(program, "float32[2]", "float64[2]")


def test_leaves_are_handles_of_their_own() -> None:
    def program(x: Any) -> Any:
        (a, b), spec = arrays_of({"b": 2.0, "a": x})
        assert a is not x
        assert a.value is x.value
        assert (a.weak, b.weak) == (False, True)
        a[0] = 5.0
        assert a.value is not x.value
        return trees.unflatten(spec, [a, b])["a"]

    record(program, "float64[2]")


def test_an_integer_is_one_of_any_width_without_axes() -> None:
    def program(n: Any) -> Any:
        return traced_integer(n, "the count")

    assert kinds(record(program, "int8")) == ["Cast"]
    assert kinds(record(program, "int64")) == []
    for spec in ("float64", "int64[1]", "bool"):
        with pytest.raises(DtypeError, match="the count must be an integer, not"):
            record(program, spec)
    assert plain_integer(np.int8(3), "n") == 3
    assert type(plain_integer(np.uint64(3), "n")) is int
    for given in (2.0, [1], True):
        with pytest.raises(DtypeError, match="n must be an integer"):
            plain_integer(given, "n")


def test_structures_that_differ_are_told_by_their_names() -> None:
    one, other = (trees.flatten(t)[1] for t in ((1, 2), [1, 2]))
    require_same_structure("the sides", {"true": one, "false": one}, "")
    with pytest.raises(TraceError, match="the sides are nested differently") as caught:
        require_same_structure("the sides", {"true": one, "false": other}, "Return the same.")
    assert "true: " in str(caught.value)
    assert "Return the same." in str(caught.value)


def test_a_carry_keeps_its_number_of_axes_and_may_change_its_sizes() -> None:
    n = symbol("N")
    check_carry("c", Type("float64", [2]), Type("float64", [n]))
    check_carry("c", Type("float64", None), Type("float64", [n, 2]))
    with pytest.raises(ShapeError, match="changes the number of axes of c of its carry"):
        check_carry("c", Type("float64", []), Type("float64", [1]))


def test_a_value_is_converted_once() -> None:
    def program(x: Any) -> Any:
        assert converted(x, np.dtype("float64")) is x.value
        return Array(converted(x, np.dtype("float32")))

    assert kinds(record(program, "float64[2]")) == ["Cast"]
