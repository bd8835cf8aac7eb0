"""Paths that code calls, and their values, found without running anything."""

import importlib.metadata
import math
import operator
import time
from typing import Any

import numpy as np
import pytest

from primsplit.programs.calls_by_name import UNKNOWN, call_of, chains, codes, looked_up, meanings

SCALE = 3


def closure(table: Any) -> Any:
    def f(x: Any) -> Any:
        import importlib.metadata as known_versions
        import os.path as paths
        from math import cos

        def inner(y: Any) -> Any:
            return math.sin(y)

        known = np.random.rand() + table.get("a") + cos(x) + len(paths.sep)
        return known + inner(x) + known_versions.version(x) + globals_of_others(1)  # noqa: F821

    return f


def found(function: Any) -> dict[str, tuple[Any, Any]]:
    """By their text, the first argument and the value of each path."""
    every = [pair for code in codes(function) for pair in meanings(function, code, lambda v, n: getattr(v, n, None))]
    return {chain.text: (chain.given, value) for chain, value in every}


def test_paths_are_found_with_their_values_wherever_they_are_looked_up() -> None:
    table = {"a": 1.0}
    told = found(closure(table))
    assert told["np.random.rand"] == ((), np.random.rand)
    assert told["table.get"] == (("a",), table.get)
    assert told["cos"][1] is math.cos
    assert told["paths.sep"][1] == "/"
    assert told["known_versions.version"][1] is importlib.metadata.version
    assert told["math.sin"][1] is math.sin
    assert told["globals_of_others"] == ((1,), None)


def test_a_path_has_the_line_and_column_where_it_is_written() -> None:
    def f(x: Any) -> Any:
        return np.sin(x)

    (chain,) = [c for c in chains(f.__code__) if c.text == "np.sin"]
    assert chain.kind == "global"
    assert chain.line == f.__code__.co_firstlineno + 1
    assert chain.column == 15


def test_a_call_has_its_number_of_arguments_and_the_constants_among_its_keywords() -> None:
    def f(x: Any, given: Any) -> Any:
        np.full(3, x, dtype=None, order="C")
        np.zeros(x)(a=1)
        np.ones(shape=x + 1, dtype=float)
        np.eye(*given)
        np.tri(**given)
        return np.pi

    calls = {c.text: call_of(f.__code__, c) for c in chains(f.__code__)}
    assert calls["np.full"] == (2, {"dtype": None, "order": "C"})
    assert calls["np.zeros"] == (1, {})
    assert calls["np.ones"] == (0, {"shape": UNKNOWN, "dtype": UNKNOWN})
    assert calls["np.eye"] is calls["np.tri"] is calls["np.pi"] is None


def test_codes_of_inner_functions_are_found() -> None:
    assert [c.co_name for c in codes(closure({}))] == ["f", "inner"]


def test_a_path_of_the_second_of_two_local_variables_is_found() -> None:
    """From Python 3.13 on, one instruction loads both."""

    def f(x: Any, generator: Any) -> Any:
        import math as functions

        y = x * generator.normal(x, loc=None, scale=x)
        return y * functions.floor(y)

    known = {c.text: c for c in chains(f.__code__)}
    assert known["generator.normal"].column == 16
    assert known["functions.floor"].column == 19
    assert call_of(f.__code__, known["generator.normal"]) == (1, {"loc": None, "scale": UNKNOWN})
    assert found(f)["functions.floor"][1] is math.floor


def reach(value: Any, name: str) -> Any:
    return getattr(value, name, None)


def nested(x: Any) -> Any:
    return x * getattr(__import__("math"), "floor")(x)  # noqa: B009


TABLE, GETTER = [math.sin], operator.itemgetter(0)


def by_index(x: Any) -> Any:
    return TABLE[0](x) + TABLE[x](x) + vars(math)["cos"](x)


def by_getter(x: Any) -> Any:
    return operator.itemgetter(0)(TABLE)(x)


def chosen(x: Any, name: str) -> Any:
    return getattr(math, name)(x)


def plain(x: Any) -> Any:
    return math.floor(x) + (time.time() if x else 0.0)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (nested, {"__import__('math')": math, "getattr(__import__('math'), 'floor')": math.floor}),
        (by_index, {"TABLE[0]": math.sin, "vars(math)": vars(math), "vars(math)['cos']": math.cos}),
        (by_getter, {"operator.itemgetter(0)": GETTER, "operator.itemgetter(0)(TABLE)": math.sin}),
        (chosen, {}),
        (plain, {}),
    ],
)
def test_a_callee_is_found_by_the_texts_that_lead_to_it(function: Any, expected: Any) -> None:
    found = {chain.text: value for chain, value in looked_up(function, function.__code__, reach)}
    assert found.keys() == expected.keys()
    assert all(found[text] is value or text == "operator.itemgetter(0)" for text, value in expected.items())
