"""Python's integers that only the run knows are right, refused, or fail the run where int64 does not hold them."""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Type
from primsplit.ir.errors import PrimsplitError
from primsplit.tracing.array import Array
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.stack import recording

BRANCHES = 14
"""More than are followed path by path."""
POINTS = np.random.default_rng(5).normal(size=(6, BRANCHES))


def masked(x: Any) -> Any:
    seed = 7
    for k in range(BRANCHES):
        if x[k] > 0:
            seed = seed + 1
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
    return x[0] * (seed % 1000)


def by_remainder(x: Any) -> Any:
    digest = 0
    for k in range(BRANCHES):
        if x[k] > 0:
            digest = digest + k + 1
        digest = (digest * 1_000_003 - 17) % 1_000_000_007
    return x[0] * digest


def shifted(x: Any) -> Any:
    bits = 0
    for k in range(BRANCHES):
        bits = bits << 2
        if x[k] > 0:
            bits = bits | 1
        bits = (bits ^ 2) >> 1
    return x[0] * bits


def of_quotients(x: Any) -> Any:
    number = 10**18
    for k in range(BRANCHES):
        if x[k] > 0:
            number = number // 3
        quotient, rest = divmod(abs(-number), 7)
        number = quotient * 7 + rest
    return x[0] * (number % 10**6)


@pytest.mark.parametrize("function", [masked, by_remainder, shifted, of_quotients])
def test_integers_that_int64_holds_are_those_of_python(function: Callable[..., Any]) -> None:
    program = ps.trace(function, ps.spec("float64", [BRANCHES]))
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-15)


def congruential(x: Any) -> Any:
    seed = 7
    for k in range(BRANCHES):
        if x[k] > 0:
            seed = seed + 1
        seed = seed * 6364136223846793005 % 2**64
    return x[0] * (seed % 1000)


def factorial(x: Any) -> Any:
    product = 1
    for k in range(25):
        if x[k % BRANCHES] > 0:
            product = product * (k + 1)
    return x[0] / product


def power(x: Any) -> Any:
    base = 3
    for k in range(BRANCHES):
        if x[k] > 0:
            base = base + 1
    return x[0] * (base**20 % 11)


def above_every_dtype(x: Any) -> Any:
    seed = 7
    for k in range(BRANCHES):
        if x[k] > 0:
            seed = seed + 1
    return x[0] * (seed % 2**64)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", [congruential, factorial, power, above_every_dtype])
def test_integers_that_may_leave_int64_are_refused_with_the_cause_first(function: Callable[..., Any]) -> None:
    with pytest.raises(PrimsplitError) as refused:
        ps.trace(function, ps.spec("float64", [BRANCHES]))
    assert "may be larger than int64 holds" in str(refused.value).splitlines()[0]


@pytest.mark.parametrize("function", [congruential, power, above_every_dtype])
def test_on_few_paths_they_are_those_of_python(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "BRANCHES", 3)
    program = ps.trace(function, ps.spec("float64", [3]))
    for x in POINTS:
        np.testing.assert_allclose(program(x[:3]), function(x[:3]), rtol=1e-15)


GROWING: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "a product": (lambda x: x * (int(x) * 10**10), 9e8, 1e9),
    "a sum": (lambda x: x * (int(x) + int(x)), 4.6e18, 4.7e18),
    "a difference": (lambda x: x * (int(x) - int(-x)), 4.6e18, 4.7e18),
    "a power": (lambda x: x * int(x) ** 4, 55_000.0, 55_200.0),
    "a shift": (lambda x: x * (int(x) << 40), 8.3e6, 8.5e6),
    "math.prod": (lambda x: x * math.prod([int(x), int(x)]), 3.0e9, 3.1e9),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_run_fails_in_which_int64_does_not_hold_them(name: str) -> None:
    function, held, beyond = GROWING[name]
    program = ps.trace(function, ps.spec("float64", []))
    for x in (3.0, -3.0, held):
        np.testing.assert_allclose(program(np.array(x)), function(x), rtol=1e-15)
    with pytest.raises(Exception, match="larger than int64 holds"):
        program(np.array(beyond))


def test_counters_and_sizes_need_no_check() -> None:
    def f(x: Any) -> Any:
        return ps.fori_loop(0, len(x), lambda k, s: s + (k + 1) * x[k], 0.0) * (len(x) * 2 + 1)

    assert "OverflowError" not in ps.trace(f, ps.spec("float64", ["N"])).listing()


@pytest.mark.parametrize(
    "is_many",
    [lambda n: n >> 10 > 2**31, lambda n: n // 2**12 >= 2**29, lambda n: divmod(n, 2**12)[0] > 2**29],
    ids=["shifted", "divided", "divmod"],
)
def test_a_part_of_a_size_decides_nothing(is_many: Callable[[Any], Any]) -> None:
    """A size is expected to be below 2^40, and 20,000^3 is larger."""

    def f(x: Any) -> Any:
        n = len(x) ** 3 if x[0] > 0 else len(x) ** 3 + 1
        return np.sum(x) * (1.0 if is_many(n) else 2.0)

    program = ps.trace(f, ps.spec("float64", ["N"]))
    assert [program(np.ones(n)) for n in (4, 20_000)] == [8.0, 20_000.0]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("beyond", [5, -6])
def test_an_index_that_is_out_of_bounds_on_every_path_is_refused_when_it_is_traced(beyond: int) -> None:
    table = np.arange(5.0)

    def looked_up(x: Any) -> Any:
        place = beyond
        for k in range(BRANCHES):
            if x[k] > 0:
                place = place + (1 if beyond > 0 else -1)
        return table[place] * x[0]

    with pytest.raises(PrimsplitError, match="out of bounds for axis 0 with size 5"):
        ps.trace(looked_up, ps.spec("float64", [BRANCHES]))


def of_two_counts(x: Any) -> Any:
    place = 90 if x > 0 else 80
    while place > 5 and x < 50:
        x = x * 1.01 + 0.1
        place = place - 10
    return x * place


def while_it_is_not_zero(x: Any) -> Any:
    count, y = 3 if x > 0 else 5, x
    while count:
        y = np.sin(y) + x
        count -= 1
    return y


def while_both_are_left(x: Any) -> Any:
    i, j, y = 3 if x > 0 else 2, 2 if x > 1 else 3, x
    while i != 0 and j != 0:
        y = np.sin(y) + x
        i, j = i - 1, j - 1
    return y


def from_forty(x: Any) -> Any:
    count = 40 if x > 0 else 36
    while count > 0 and x < 50:
        x = x * 1.001 + 0.01
        count -= 1
    return x * count


def until_it_is_one(x: Any) -> Any:
    count, y = 7 if x > 0 else 4, x
    while count != 1 and y < 9:
        y = y * 1.1 if count % 2 else y + 0.1
        count = count // 2
    return y


def as_many_as_were_above(x: Any) -> Any:
    count = 0
    for _ in range(8):
        if x > 2.0:
            count += 1
        if count >= 3:
            break
        x = x * 1.5
    return x * count


def never_another(x: Any) -> Any:
    k = min(2 if x > 1 else 7, 5)
    if k == 0 or k >= 6 or not k:
        return "nothing"
    return x * x * k


DECIDED = [
    of_two_counts, while_it_is_not_zero, while_both_are_left, from_forty, until_it_is_one, as_many_as_were_above,
    never_another,
]  # fmt: skip


@pytest.mark.parametrize("function", DECIDED)
def test_a_comparison_that_their_ranges_decide_is_a_truth_value_of_pythons(function: Callable[..., Any]) -> None:
    program = ps.trace(function, ps.spec("float64", []))
    slope = ps.grad(function)
    for x in (1.3, 0.6, -0.7):
        np.testing.assert_allclose(program(np.array(x)), function(x), rtol=1e-12)
        steep = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope(x), steep, rtol=1e-6, atol=1e-8)


def test_a_side_knows_the_numbers_that_its_condition_allows() -> None:
    answers = {}

    def f(x: Any) -> Any:
        k = ps.cond(x > 0, lambda: 1, lambda: 4) + ps.cond(x > 1, lambda: 0, lambda: 3)  # from 1 to 7

        def side(factor: int) -> Any:
            answers[factor] = k < 4, k > 4, k > 0, k != 9
            return factor * x

        return ps.cond(k <= 4, lambda: side(1), lambda: side(2)) * (1 if k < 8 else 5)

    program = ps.trace(f, ps.spec("float64", []))
    assert [type(answer) is bool and answer for answer in answers[2]] == [False, True, True, True]
    assert [type(answer) is bool and answer for answer in answers[1][1:]] == [False, True, True]
    assert type(answers[1][0]) is Array
    assert [float(program(np.array(x))) for x in (1.5, 0.5, -0.5)] == [1.5, 0.5, -1.0]


def test_a_counter_that_may_be_large_decides_nothing() -> None:
    def f(x: Any) -> Any:
        return ps.fori_loop(2**41, 2**41 + 2, lambda k, s: s + ps.cond(k > 2**40, lambda: x, lambda: -x), 0.0)

    assert float(ps.trace(f, ps.spec("float64", []))(np.array(1.5))) == 3.0


COMPARISONS = {
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip


@pytest.mark.parametrize("ufunc", COMPARISONS, ids=lambda ufunc: ufunc.__name__)
def test_ranges_decide_and_imply_what_all_of_their_numbers_do(ufunc: np.ufunc) -> None:
    holds = COMPARISONS[ufunc]
    ranges = [range(least, most + 1) for least in range(4) for most in range(least, 4)]
    with recording() as into:
        for left, right in itertools.product(ranges, ranges):
            numbers = [Array(into.param(Type(np.int64, ())), weak=True) for _ in range(2)]
            for number, known in zip(numbers, (left, right), strict=True):
                integer_ranges.note_range(number.value, known[0], known[-1])
            answers = {holds(a, b) for a in left for b in right}
            assert integer_ranges.decided(ufunc, *numbers) == (answers.pop() if len(answers) == 1 else None)
            test = into.param(Type(np.bool_, ()))
            integer_ranges.note_compared(ufunc, test, numbers)
            for outcome in {holds(a, b) for a in left for b in right}:
                pairs = [(a, b) for a in left for b in right if holds(a, b) is outcome]
                with integer_ranges.narrowed(into.implications(test)[outcome]):
                    for number, possible in zip(numbers, zip(*pairs, strict=True), strict=True):
                        assert integer_ranges.range_of(number) == (min(possible), max(possible))
