"""Names of arguments and results in files."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.programs.labels import argument_names, input_names, output_names, takes
from primsplit.tracing import trees


def labelled(function: Callable[..., Any], *args: Any, last: str = "", **named: Any) -> list[str]:
    return input_names(function, trees.flatten((args, named))[1], last)


def f(params: Any, x: Any, *more: Any, scale: float = 1.0) -> None:
    """Takes arguments of every kind."""


def test_leaves_have_the_names_of_their_parameters_and_the_paths_inside_of_them() -> None:
    names = labelled(f, {"w": 1.0, "b": [2.0, 3.0]}, 4.0, 5.0, 6.0, scale=7.0)
    assert names == ["params.b.0", "params.b.1", "params.w", "x", "more.0", "more.1", "scale"]


def test_names_that_would_be_one_are_kept_apart_and_functions_without_names_get_some() -> None:
    names = labelled(lambda x, **more: None, {"y": 1.0}, **{"x.y": 2.0})
    assert len({*names}) == 2
    assert names[0] == "x.y"
    assert len({*labelled(np.add, 1.0, 2.0)}) == 2


def test_the_last_argument_may_have_a_name_of_its_own() -> None:
    assert labelled(lambda x: None, 1.0, [2.0, 3.0], last="d_y") == ["x", "d_y.0", "d_y.1"]


def test_arguments_have_their_names_without_paths_and_both_parts_of_a_complex_one_may_be_one() -> None:
    spec = trees.flatten((({"w": 1.0}, 2.0), {"k": 3.0}))[1]
    assert argument_names(spec, ["params.w", "x", "k"], None) == ["params", "x"]
    flat = trees.flatten(((1.0, 2.0, 3.0), {}))[1]
    assert argument_names(flat, ["z.real", "z.imag", "y"], 2) == ["z", "y"]
    assert argument_names(flat, ["z.real", "z.imag", "y"], 3) == ["z.real", "z.imag", "y"]


def test_a_function_takes_as_many_arguments_as_it_names() -> None:
    assert takes(lambda x, y: None, 2)
    assert not takes(lambda x: None, 2)


@pytest.mark.parametrize(
    ("result", "taken", "wanted"),
    [
        (1.0, [], ["y"]),
        (1.0, ["y"], ["result"]),
        (1.0, ["y", "result"], ["result_1"]),
        ((1.0, 2.0), ["y1"], ["y0", "result1"]),
        ({"a": 1.0, "b": [2.0, 3.0]}, ["a"], ["a_result", "b.0", "b.1"]),
        (1 + 2j, [], ["y.real", "y.imag"]),
    ],
)
def test_results_have_names_that_no_input_has(result: Any, taken: list[str], wanted: list[str]) -> None:
    assert output_names(trees.in_parts(result)[1], taken) == wanted
