"""Functions that tell Python's own values from traced ones: by class, by identity, by pattern."""

from typing import Any

from primsplit.frontends.python.conversion.telling import (
    are_told,
    functions_that_compare_truths,
    functions_that_tell,
    functions_told,
)

MODES = {"up": True}
IS_UP, LEVEL = True, 3


def by_class(x: Any) -> Any:
    return 1 if isinstance(x, float) else 2


def by_identity(x: Any) -> Any:
    return 1 if x is IS_UP else 2


def by_none(x: Any) -> Any:
    return 1 if x is None else 2


def by_a_level(x: Any) -> Any:
    return 1 if x is LEVEL else 2


def by_pattern(x: Any) -> Any:
    match x:
        case (a, b):
            return a + b
    return x


def inside(x: Any) -> Any:
    return [type(v) for v in (x,)]


def by_size(x: Any) -> Any:
    return x if x > 1 else -x


FUNCTIONS = (by_class, by_identity, by_none, by_a_level, by_pattern, inside, by_size)


def every(x: Any) -> Any:
    return [f(x) for f in FUNCTIONS]


def test_functions_that_test_classes_identities_or_patterns_are_found() -> None:
    assert {f.__name__ for f in functions_that_tell(every)} == {
        "by_class", "by_identity", "by_none", "by_a_level", "by_pattern", "inside",
    }  # fmt: skip


def test_a_comparison_by_is_with_none_or_a_number_is_none_of_truths() -> None:
    assert {f.__name__ for f in functions_that_compare_truths(every)} == {"by_identity"}


def test_they_are_rewritten_inside_of_the_block_alone() -> None:
    assert not are_told()
    with functions_told():
        assert are_told()
    assert not are_told()
