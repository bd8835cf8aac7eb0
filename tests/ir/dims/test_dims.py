"""Sizes: polynomials in symbols, whose equality and order are never guessed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primsplit as ps
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size, symbol
from primsplit.ir.errors import UndecidableSize
from primsplit.ops.inference import slice_size

N, M = symbol("N"), symbol("M")
VALUES = [{"N": n, "M": m} for n in (0, 1, 2, 3, 5, 8) for m in (0, 1, 2, 7)]


def binary(size: Dim, other: Dim, name: str) -> Dim:
    functions = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "max": dims.maximum,
        "min": dims.minimum, "//": dims.floor_divide, "%": dims.remainder,
    }  # fmt: skip
    return functions[name](size, other)


PLAIN = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "max": max, "min": min,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b,
}  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> tuple[Dim, list[int]]:
    """A size, and what plain Python integers make of the same expression for each of VALUES."""
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.sampled_from(["N", "M", "number"]))
        if leaf == "number":
            number = draw(st.integers(-3, 5))
            return number, [number] * len(VALUES)
        return symbol(leaf), [v[leaf] for v in VALUES]
    name = draw(st.sampled_from(list(PLAIN)))
    left, left_values = draw(expressions(depth - 1))
    if name in {"//", "%"}:
        divisor = draw(st.integers(1, 4))
        return binary(left, divisor, name), [PLAIN[name](a, divisor) for a in left_values]
    right, right_values = draw(expressions(depth - 1))
    return binary(left, right, name), [PLAIN[name](a, b) for a, b in zip(left_values, right_values, strict=True)]


@given(expressions())
def test_the_canonical_form_has_the_value_of_the_expression(made: tuple[Dim, list[int]]) -> None:
    size, expected = made
    assert [dims.evaluate(size, v) for v in VALUES] == expected


@given(expressions())
def test_a_size_parses_as_it_prints(made: tuple[Dim, list[int]]) -> None:
    size, _ = made
    assert dims.same(dims.parse(str(size)), size)


@given(expressions(), expressions())
def test_a_comparison_is_right_for_every_value_or_refused(a: tuple[Dim, list[int]], b: tuple[Dim, list[int]]) -> None:
    relations = {
        "==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
        ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    }  # fmt: skip
    for compare in relations.values():
        try:
            answer = compare(a[0], b[0])
        except UndecidableSize:
            continue
        assert [compare(x, y) for x, y in zip(a[1], b[1], strict=True)] == [answer] * len(VALUES)


@given(expressions(), expressions())
def test_same_sizes_are_equal_and_sizes_that_could_not_be_equal_never_are(
    a: tuple[Dim, list[int]], b: tuple[Dim, list[int]]
) -> None:
    pairs = list(zip(a[1], b[1], strict=True))
    if dims.same(a[0], b[0]):
        assert all(x == y for x, y in pairs)
    if not dims.could_be(a[0], b[0]):
        assert all(x != y for x, y in pairs)
    if dims.at_least(a[0], b[0]):
        assert all(x >= y for x, y in pairs)
    if dims.above(a[0], b[0]):
        assert all(x > y for x, y in pairs)


@given(expressions())
def test_a_lower_bound_is_never_above_the_size(made: tuple[Dim, list[int]]) -> None:
    bound = dims.lower_bound(made[0])
    assert bound is None or all(bound <= value for value in made[1])


@given(expressions(), st.sampled_from(range(len(VALUES))))
def test_substituting_one_symbol_and_then_the_other_is_evaluation(made: tuple[Dim, list[int]], which: int) -> None:
    values = VALUES[which]
    half = dims.substitute(made[0], {"N": values["N"]})
    assert dims.evaluate(half, values) == made[1][which]


def test_a_slice_has_pythons_length_for_all_small_bounds() -> None:
    bounds = [-12, -4, -2, -1, 0, 1, 2, 3, 6, 9]
    for size in range(6):
        for start in bounds:
            for end in bounds:
                for step in (-3, -2, -1, 1, 2, 3):
                    expected = len(np.arange(size)[_python_slice(start, end, step, size)])
                    assert slice_size(size, start, end, step) == expected, (size, start, end, step)


def _python_slice(start: int, end: int, step: int, size: int) -> slice:
    """ONNX's rule in Python's: a bound below -size is before the front, but backwards such a start is the front."""
    if step > 0:
        return slice(start, end, step)
    return slice(max(start, -size), None if end < -size else end, step)


@pytest.mark.parametrize("step", [-2, -1, 1, 2])
@pytest.mark.parametrize("end", [-3, -1, 0, 2, 5, 2**31 - 1, 2**63 - 1, -(2**31), -(2**63)])
@pytest.mark.parametrize("start", [-3, -1, 0, 2, 5, 2**63 - 1])
def test_a_slice_of_a_symbolic_axis_has_pythons_length_at_every_size(start: int, end: int, step: int) -> None:
    size = slice_size(N, start, end, step)
    for n in range(8):
        assert dims.evaluate(size, {"N": n}) == len(range(n)[_python_slice(start, end, step, n)]), (n, str(size))


def test_a_slice_with_symbolic_bounds_has_pythons_length_at_every_size() -> None:
    for start, end in ((M, N), (0, N - 1), (N - 2, N), (M, 2**31 - 1), (0, M)):
        size = slice_size(N, start, end, 1)
        for v in VALUES:
            first, last = dims.evaluate(start, v), dims.evaluate(end, v)
            if first >= 0 and last >= 0:
                assert dims.evaluate(size, v) == len(range(v["N"])[first:last]), (v, str(size))


def test_broadcast_sizes_take_the_one_that_is_not_1_and_are_associative() -> None:
    met = dims.meet(dims.meet(N, M), symbol("K"))
    other = dims.meet(N, dims.meet(symbol("K"), M))
    assert met is not None
    assert other is not None
    assert dims.same(met, other)
    assert dims.evaluate(met, {"N": 1, "M": 4, "K": 1}) == 4
    assert dims.evaluate(met, {"N": 1, "M": 0, "K": 1}) == 0


def test_sizes_that_never_meet_are_refused_and_a_known_size_wins() -> None:
    assert dims.meet(3, 4) is None
    assert dims.meet(N, 4) == 4
    met = dims.meet(N, 1)
    assert met is not None
    assert dims.same(met, N)


@pytest.mark.parametrize("name", ["batch size", "unk__12", "N.1", "2", "größe", "a/b", "None", "True", "f(x)", ""])
def test_an_unusual_symbol_is_still_a_symbol(name: str) -> None:
    assert dims.symbols(symbol(name)) == {name}
    assert dims.evaluate(symbol(name) * 2 + 1, {name: 4}) == 9


def test_exact_division_cancels_symbols_and_inexact_stays() -> None:
    assert dims.same((N * M * 6) // (N * 2), M * 3)
    assert str((N + 1) // 2) == "floordiv(N + 1, 2)"
    assert (N * 4) % 2 == 0


def test_division_does_not_ask_whether_the_sizes_in_calls_are_equal() -> None:
    half, third = M // 2, N // 3
    assert dims.same((half * third * 4) // (third * 2), half * 2)
    assert str((half * 4) // third) == "floordiv(4*floordiv(M, 2), floordiv(N, 3))"


@pytest.mark.parametrize(("quotient", "text"), [
    (lambda n, m: (n // 3 + 1) // 4, "floordiv(N + 3, 12)"),
    (lambda n, m: (n // 3 - 2) // 4, "floordiv(N + 6, 12) - 1"),
    (lambda n, m: ((n + 31) // 32 + 31) // 32, "floordiv(N + 1023, 1024)"),
    (lambda n, m: (n // -3) // 4, "floordiv(floordiv(N, -3), 4)"),
    (lambda n, m: (n // 3 + m) // 4, "floordiv(M + floordiv(N, 3), 4)"),
    (lambda n, m: (2 * (n // 3)) // 3, "floordiv(2*floordiv(N, 3), 3)"),
])  # fmt: skip
def test_a_quotient_of_a_quotient_by_numbers_is_one_quotient(quotient: Any, text: str) -> None:
    assert str(quotient(N, M)) == text
    for n in range(0, 70, 3):
        assert dims.evaluate(quotient(N, M), {"N": n, "M": 5}) == quotient(n, 5)


def test_asking_a_symbolic_size_for_an_integer_says_what_to_do() -> None:
    with pytest.raises(UndecidableSize, match="known only at run time"):
        range(N)  # type: ignore[call-overload]
    with pytest.raises(UndecidableSize):
        bool(N)
    assert bool(N + 1)
    assert isinstance(N, Size)


def test_pythons_operators_on_a_size_give_what_they_give_of_an_integer() -> None:
    def numbers(x: Any) -> Any:
        n = x.shape[0]
        bits = (
            n >> 1,
            1 << n,
            n << 2,
            n & 6,
            9 & n,
            n | 4,
            n ^ 5,
            ~n,
            abs(n - 3),
            *divmod(n, 2),
            round(n),
            round(n, -1),
        )
        assert "N" in f"{n:>3d}" or n == int(f"{n:>3d}")
        return x.sum() * 2.0**-n, *(np.asarray(number) * 1 for number in (2**n, *bits))

    program = ps.trace(numbers, ps.spec("float64", ["N"]))
    for n in (0, 1, 2, 7):
        for found, wanted in zip(program(np.ones(n)), numbers(np.ones(n)), strict=True):
            assert (found, found.dtype) == (wanted, wanted.dtype)
