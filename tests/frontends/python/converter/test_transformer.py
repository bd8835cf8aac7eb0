"""Definitions rewritten: calls, elements and operators ask, and each stays at its line."""

import ast
import math
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.converter.copies import (
    Conversion,
    Options,
    converted_source,
    is_converted,
)
from primsplit.frontends.python.converter.operators import OPERATORS

USERS = OPERATORS[False]

X = np.array([0.3, 1.7, -0.4])


def copy_of(function: Any) -> Any:
    return Conversion(OPERATORS, Options(serves=True)).copy(function)


def test_a_copy_shows_what_the_operators_are_asked() -> None:
    def f(x: Any, table: Any) -> Any:
        table[0] = math.sin(x) + 1
        return table.sum()

    assert converted_source(f, USERS) == ast.unparse(
        ast.parse(
            "def f(x: Any, table: Any) -> Any:\n"
            "    _ps.changed(table)[0] = _ps.add(_ps.called(_ps.owner(math).sin)(x), 1)\n"
            "    return _ps.called(_ps.owner(table).sum)()\n"
        )
    )


class Base:
    def value(self, x: Any) -> Any:
        return x + 1.0


class Own(Base):
    __scale = 2.0

    def value(self, x: Any) -> Any:
        def inner() -> Any:
            return super(Own, self).value(x) * self.__scale + __class__.__scale  # type: ignore[name-defined]

        return super().value(x) + inner()


def test_private_names_super_and_the_class_of_a_method_are_its_own() -> None:
    copied = copy_of(Own.value)
    assert is_converted(copied.__code__)
    assert copied(Own(), 1.0) == Own().value(1.0) == 8.0


def test_an_operator_over_several_lines_counts_at_its_first() -> None:
    def f(x: Any) -> Any:
        return (
            x
            @ np.array(
                [x[0], 1.0, 2.0]
            )
        )  # fmt: skip

    (product,) = [op for op in ps.trace(f, X).block.ops if op.kind in {"MatMul", "ReduceSum"}][-1:]
    assert product.place is not None
    assert product.place.line == f.__code__.co_firstlineno + 2


def test_a_user_may_read_what_is_traced() -> None:
    assert (
        ps.converted_source(Own().value).splitlines()[-1]
        == "    return _ps.add(_ps.called(_ps.owner(super()).value)(x), _ps.called(inner)())"
    )
    with pytest.raises(ps.errors.SpecError, match="has no source in Python"):
        ps.converted_source(math.sin)
    names: dict[str, Any] = {}
    exec("def f(x): return x", names)
    with pytest.raises(ps.errors.SpecError, match=r"the source of f \(<string>\) cannot be read"):
        ps.converted_source(names["f"])
