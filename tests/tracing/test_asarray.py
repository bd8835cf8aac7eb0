"""What may stand for an array in a traced function, and what may not."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Type
from primsplit.ir.errors import DtypeError, PrimsplitError, TraceError
from primsplit.tracing.asarray import array_like, as_array, holds_traced, lift, plain, plain_or_traced
from tests.recording import record


class Holder:
    """An object that says what its array is."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


@pytest.mark.parametrize("make", [np.asarray, np.array, np.asanyarray, np.ascontiguousarray])
def test_an_object_that_holds_a_traced_array_is_made_one(make: Any) -> None:
    found = ps.grad(lambda x: np.sum(make(Holder(x)) ** 2))(np.array([2.0, 1.0, 3.0]))
    np.testing.assert_array_equal(found, [4.0, 2.0, 6.0])


@pytest.mark.parametrize("function", [np.sum, np.sin, lambda h: np.dot(h, h), lambda h: np.stack([h, h])])
def test_an_object_that_holds_a_traced_array_is_refused_by_its_cause(function: Any) -> None:
    with pytest.raises(PrimsplitError, match="__array__ gives a traced array"):
        ps.grad(lambda x: np.sum(function(Holder(x))))(np.ones(3))


def test_what_a_value_is_made_of_decides_its_kind() -> None:
    def program(x: Any) -> Any:
        assert as_array(x) is x
        kinds = [(a.weak, a.scalar) for a in map(as_array, (2.0, True, np.float32(2.0), np.zeros(2), x.shape[0]))]
        assert kinds == [(True, False), (True, False), (False, True), (False, False), (True, False)]
        return x

    record(program, "float32[N]")


def test_a_python_number_takes_the_dtype_that_is_wanted_and_an_array_its_own() -> None:
    def program(x: Any) -> Any:
        assert lift(2, np.float32).type == Type("float32", [])
        assert lift(2).type == Type("int64", [])
        assert lift(np.int8(2), np.float32).type == Type("int8", [])
        assert lift(np.array([1.0, 2.0], ">f8")).numpy().tolist() == [1.0, 2.0]
        assert lift([x.shape[0], 3]).sizes == (x.shape[0], 3)
        assert lift(x.value) is x.value
        return x

    record(program, "float32[N]")


@pytest.mark.parametrize(
    ("value", "error", "told"),
    [
        (None, TraceError, "NoneType cannot stand for an array"),
        ("sum", TraceError, "str cannot stand for an array"),
        ([1.5, 2.5], TraceError, "list cannot stand for an array"),
        (np.ones(2, complex), TraceError, "arrays of dtype complex128 cannot"),
        (np.array([None]), TraceError, "arrays of dtype object cannot"),
        (np.ma.masked_array([1.0]), DtypeError, "a MaskedArray cannot"),
    ],
)
def test_what_cannot_stand_for_an_array_is_refused_by_its_class(value: Any, error: Any, told: str) -> None:
    with pytest.raises(error, match=told):
        record(lambda x: lift(value) and x, "float32[2]")


def test_nested_lists_with_traced_numbers_are_stacked() -> None:
    def f(x: Any) -> Any:
        assert not holds_traced([1.0, [2.0]])
        assert holds_traced([1.0, (x[0],)])
        assert isinstance(plain_or_traced([1.0, 2.0]), np.ndarray)
        assert array_like(range(3)).shape == (3,)
        return array_like([[x[0], 2.0], [3.0, x[1]]])

    x = np.array([5.0, 7.0])
    np.testing.assert_array_equal(ps.trace(f, x)(x), [[5.0, 2.0], [3.0, 7.0]])


def test_a_parameter_is_an_input_where_a_gradient_is_asked_for_and_itself_outside() -> None:
    weights = np.array([1.0, 2.0])
    assert ps.param(weights, "w") is weights
    made = ps.split(lambda x: np.sum(ps.param(weights, "w") * x), ps.spec("float64", [2]), wrt="w").joint()
    np.testing.assert_array_equal(made(np.array([3.0, 4.0]), 2 * weights)[1], [3.0, 4.0])
    with pytest.raises(DtypeError, match="MaskedArray"):
        ps.trace(lambda x: x * ps.param(np.ma.masked_array([1.0, 2.0]), "w"), weights)
    assert plain(np.float32(2.0)).shape == ()
