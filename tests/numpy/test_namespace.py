"""`from primsplit import numpy as np`: NumPy itself, whose array makers take traced values and sizes while tracing."""

import copy
import statistics
from typing import Any

import numpy
import pytest

import primsplit as ps
from primsplit import numpy as np
from primsplit.ir.errors import ConcretizationError, DtypeError, PrimsplitError, TraceError
from tests.numpy.agreement import check_grads

X = numpy.array([0.3, 1.2, -0.7, 0.9])
TABLE = numpy.array([0.5, -1.0, 2.0])
HELD = {"table": TABLE}


def array_of_traced_numbers(x: Any) -> Any:
    return np.array([[x[0], 2.0], [x[1] * x[2], x[3]]]) @ np.array([1.0, x[0]])


def array_to_write_into(x: Any) -> Any:
    y = np.zeros((4, 4))
    y[1] = x
    y[:, 2] += x[::-1]
    np.add.at(y, [0, 0], x)
    return y


def table_that_is_indexed(x: Any) -> Any:
    i = np.clip(np.floor(x), 0, 2).astype(int)
    return np.asarray(TABLE)[i] * x + np.take(TABLE, i)


def fill_value_that_is_traced(x: Any) -> Any:
    return np.full_like(TABLE, x[0]) * np.full(3, x[1]) + np.pad(TABLE, 1, constant_values=x[2])[:3]


@pytest.mark.parametrize(
    "function",
    [array_of_traced_numbers, array_to_write_into, table_that_is_indexed, fill_value_that_is_traced],
)
def test_array_makers_take_traced_values(function: Any) -> None:
    check_grads(function, X, symbolic=False)


def test_array_makers_take_sizes_that_only_the_run_knows() -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]
        return x * np.arange(n) + np.eye(n) @ x + np.linspace(0, 1, n) + np.zeros(n) + 0.5 * n + x / (n + 1.0)

    check_grads(f, X, resize=(1, 2))


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: statistics.fmean([x[0]]), ConcretizationError),
        (lambda x: HELD["table"].__setitem__(0, x[0]), TraceError),
        (lambda x: numpy.add(x[:3], 1, out=HELD["table"]), DtypeError),
    ],
)
def test_what_no_substitute_can_do_is_refused_at_its_line_and_names_the_way_out(function: Any, error: Any) -> None:
    with pytest.raises(error) as caught:
        ps.trace(function, X)
    assert caught.value.place.filename == __file__
    assert len(str(caught.value).splitlines()) < 10
    assert any(way in str(caught.value) for way in ("zeros_like", "astype", "whole arrays", "copy()"))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("value", [numpy.ma.masked_array(X, X > 1), X.view(numpy.matrix), X.astype(numpy.longdouble)])
def test_arrays_whose_operators_mean_other_things_are_refused(value: Any) -> None:
    for trace in (lambda: ps.trace(lambda x: x * value, X), lambda: ps.trace(lambda x: x, value)):
        with pytest.raises(PrimsplitError):
            trace()


def test_constants_of_another_byte_order_keep_their_numbers() -> None:
    swapped = X.astype(">f8")
    numpy.testing.assert_array_equal(ps.trace(lambda x: x * swapped, X)(X), X * X)


@pytest.mark.parametrize("dtype", [object, numpy.longdouble, "datetime64[s]", numpy.clongdouble])
def test_a_cast_to_a_dtype_that_no_program_holds_is_refused_at_the_users_line(dtype: Any) -> None:
    with pytest.raises(DtypeError, match="cannot be part of a program") as caught:
        ps.trace(lambda x: x.astype(dtype), X)
    assert caught.value.place.filename == __file__


def test_a_copy_of_a_traced_array_is_a_copy() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        row, state = copy.copy(y[1:]), copy.deepcopy({"y": y})
        row += 10.0
        state["y"][0] = 5.0
        return y + row.sum() + state["y"]

    check_grads(f, X)


def test_formatting_a_traced_number_is_refused_at_the_users_line() -> None:
    with pytest.raises(ConcretizationError) as caught:
        ps.trace(lambda x: f"{x.sum():.2f}", X)
    assert caught.value.place.filename == __file__
