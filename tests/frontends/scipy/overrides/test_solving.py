"""Functions of SciPy that call a user's function: SciPy's own where nothing is traced, its substitute elsewhere."""

from collections.abc import Callable
from typing import Any

import pytest

import primsplit as ps
from primsplit.frontends.scipy.overrides.solving import is_asked, solving
from primsplit.ir.errors import ConcretizationError


def first(function: Callable[[float], Any], x: float) -> Any:
    """A function of SciPy's, which needs a number."""
    return "plain", float(function(x))


def instead(function: Callable[[Any], Any], x: Any) -> Any:
    return "traced", function(x)


SOLVE = solving(first, instead).traced


def kind_of(function: Callable[..., Any], *given: Any) -> str:
    """Which of the two functions answers where the arguments are traced."""
    kinds = []

    def run(*xs: Any) -> Any:
        kind, found = function(*xs)
        kinds.append(kind)
        return found

    ps.trace(run, *given)
    return kinds[-1]


def test_plain_calls_of_plain_functions_stay_with_scipys() -> None:
    assert SOLVE(lambda v: v * 2, 1.5) == ("plain", 3.0)
    assert kind_of(lambda x: ("plain", x) if SOLVE(lambda v: v + 1, 1.0) == ("plain", 2.0) else ("wrong", x), 1.0) == (
        "plain"
    )


def test_a_function_that_reads_traced_values_around_it_is_solved_instead() -> None:
    assert kind_of(lambda x: SOLVE(lambda v: v + x, 1.0), 2.0) == "traced"


def test_traced_arguments_need_no_try() -> None:
    assert kind_of(lambda x: SOLVE(lambda v: v, x), 2.0) == "traced"


def test_an_error_of_the_users_function_stays_its_own() -> None:
    def fails(v: float) -> float:
        raise ValueError(f"no value at {v}")

    with pytest.raises(ValueError, match=r"no value at 1\.5"):
        SOLVE(fails, 1.5)


def test_an_error_that_hides_a_question_for_a_number_is_seen_through() -> None:
    hidden = ValueError("hidden by SciPy")
    assert not is_asked(hidden)
    hidden.__cause__ = ConcretizationError("asked")
    assert is_asked(hidden)
    assert is_asked(ConcretizationError("asked"))
