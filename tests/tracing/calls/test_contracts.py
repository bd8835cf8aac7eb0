"""A user's function that takes other arguments is told at its own line, and its own errors stay."""

from typing import Any

import pytest

from primsplit.ir.errors import RuleError
from primsplit.tracing.calls.contracts import called_with


def two(a: Any, b: Any = 2, *, c: Any = 3) -> Any:
    return a, b, c


def test_arguments_that_fit_are_passed_on() -> None:
    assert called_with(two, "the rule", "", 1) == (1, 2, 3)
    assert called_with(two, "the rule", "", 1, 5, c=6) == (1, 5, 6)
    assert called_with(max, "the rule", "", 1, 5) == 5  # whose signature Python does not know


@pytest.mark.parametrize(("args", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"d": 1})], ids=str)
def test_others_are_refused_at_the_functions_line(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="the rule of f takes other arguments than it is given") as caught:
        called_with(two, "the rule of f", "It takes one or two.", *args, **named)
    assert caught.value.place is not None
    assert (caught.value.place.filename, caught.value.place.line) == (__file__, two.__code__.co_firstlineno)
    assert "It takes one or two." in str(caught.value)


def test_an_error_inside_of_the_function_is_its_own() -> None:
    def broken(a: Any) -> Any:
        return two()

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        called_with(broken, "the rule", "", 1)
