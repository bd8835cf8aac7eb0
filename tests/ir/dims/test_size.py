"""Sizes: polynomials in symbols, in a canonical form."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import primsplit as ps
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import UndecidableSize
from tests.ir.dims.expressions import VALUES, M, N, expressions


@given(expressions())
def test_the_canonical_form_has_the_value_of_the_expression(made: tuple[Dim, list[int]]) -> None:
    size, expected = made
    assert [dims.evaluate(size, v) for v in VALUES] == expected


def test_a_size_to_a_power_is_a_size() -> None:
    assert [str(N**k) for k in range(4)] == ["1", "N", "N*N", "N*N*N"]
    assert isinstance(N**0, int)
    assert dims.same((N + 1) ** 2, N * N + N * 2 + 1)


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
