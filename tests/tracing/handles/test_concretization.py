"""A traced value is no number, size or class: what is said instead at the user's line."""

import collections.abc
import re
import statistics
import typing
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads


@pytest.mark.parametrize(
    ("function", "told", "cure"),
    [
        (
            lambda x: x * statistics.fmean([x.sum(), 1.0]),
            r"float\(\) was asked of a value",
            "functions of whole arrays",
        ),
        (lambda x: [x, -x, x[:1]][x.argmax()] * x, "an integer index was asked of a value", "np.take"),
        (lambda x: sum(x[0] for _ in range(x.argmax())), "an integer index was asked of a value", "ps.fori_loop"),
        (lambda x: x if x > 0 else -x, "a condition must be one truth value", "np.where"),
    ],
)
def test_a_python_number_of_a_traced_value_is_refused_at_its_line_with_the_way_out(function, told, cure) -> None:
    """Row T4: nothing that was true of one input alone becomes part of the program."""
    with pytest.raises(PrimsplitError, match=told) as caught:
        ps.trace(function, ps.spec("float64", [3]))
    assert cure in str(caught.value)
    assert "at test_concretization.py:" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10


@pytest.mark.parametrize("kind", [collections.abc.Sized, collections.abc.Iterable, typing.Sized, typing.Iterable])
def test_an_abstract_class_that_is_asked_by_its_own_method_refuses_a_traced_number(kind: Any) -> None:
    """A traced number has methods that NumPy's numbers lack: the answer would be another one than NumPy's."""
    assert not kind.__instancecheck__(np.float64(0.3))
    with pytest.raises(PrimsplitError, match="asks for methods") as caught:
        ps.trace(lambda x: x if kind.__instancecheck__(x) else -x, 0.3)
    assert "at test_concretization.py:" in str(caught.value)


def test_an_index_that_was_searched_for_may_index_an_array() -> None:
    check_grads(lambda x: x[x.argmax()] * x[x.argmin()], np.array([0.3, 1.2, -0.4]), order=2)


X = np.array([0.3, 1.2, 2.0])


def test_numbers_have_no_length_and_arrays_do() -> None:
    found: list[Any] = []

    def asked(x: Any) -> Any:
        for value in (x, x[0], x.item(0), x[0, ...]):
            found.append([hasattr(value, "__len__"), hasattr(value, "__iter__")])
            for function in (len, iter):
                try:
                    function(value)
                except TypeError as error:
                    found.append(str(error))
        found.append(isinstance(x, collections.abc.Sized))
        return 2 * x

    asked(X)
    expected = found.copy()
    found.clear()
    ps.trace(asked, X)
    assert [_without_class(v) for v in found] == [_without_class(v) for v in expected]


def _without_class(told: Any) -> Any:
    """An answer without the name of the number's class."""
    return re.sub(r"'(numpy\.)?float(64)?'", "float", told) if isinstance(told, str) else told


def test_whether_an_element_is_in_an_array_is_a_branch() -> None:
    def chosen(x: Any) -> Any:
        return 2 * x if 1.2 in x else x

    program = ps.trace(chosen, X)
    for array in (X, X + 1):
        np.testing.assert_array_equal(program(array), chosen(array))
