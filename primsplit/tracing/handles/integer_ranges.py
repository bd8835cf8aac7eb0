"""Keeps Python's integers within int64, which holds them in a program: their ranges are known, or a run checks them.

    s = 7 if x > 0 else 9       s is in [7, 9]
    s * 6364136223846793005     refused: it may be larger than int64 holds
    int(x) * 1000               a run in which int64 does not hold it fails

An integer of the run, such as the sum of a loop, is not expected to outgrow int64 by numbers of at most 2^40.
"""

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Const, Value, Var
from primsplit.ir.dims import Size
from primsplit.ir.errors import DtypeError
from primsplit.ir.scoped import as_block
from primsplit.tracing import current, user_place
from primsplit.tracing.stack import Ranges

Range = tuple[int, int]
"""The least and the largest number that a value may be."""

_LEAST, _MOST = -(2**63), 2**63 - 1
COUNTED = 2**40
"""Numbers up to it may be added to an integer of the run, as a counter is, without a check."""


def note_range(value: Value, least: int, most: int) -> None:
    """Note the numbers that a scalar integer may be."""
    if isinstance(value, Var):
        current().ranges[value] = least, most


def note_chosen(value: Value, condition: Value, sides: Sequence[Value]) -> None:
    """Note the numbers of a scalar integer, or what a truth value implies, that is one of two by a condition.

    The first of `sides` is its value where the condition does not hold.
    """
    facts = current().implications(condition)
    if value.type.dtype == np.bool_:
        outcomes = (_implied_by(outcome, facts, sides) for outcome in (False, True))
        current().implied[value] = (next(outcomes), next(outcomes))
        return
    ranges = []
    for told, side in zip(facts, sides, strict=True):
        with narrowed(told):
            ranges.append(range_of(side))
    known = [r for r in ranges if r is not None]
    if len(known) == len(ranges):
        note_range(value, *around(known))


def _implied_by(outcome: bool, facts: Sequence[Ranges], sides: Sequence[Value]) -> Ranges:
    """Return the ranges that hold if the chosen truth value has this outcome: those of the sides that can give it."""
    possible = [
        _both(told, current().implications(side)[outcome])
        for told, side in zip(facts, sides, strict=True)
        if not isinstance(side, Const) or side.is_weight or bool(side.numpy()) is outcome
    ]
    common = frozenset(possible[0] if possible else ()).intersection(*possible)
    return {var: around([each[var] for each in possible]) for var in common}


def _both(first: Ranges, second: Ranges) -> Ranges:
    met = {var: _met(first[var], numbers) for var, numbers in second.items() if var in first}
    return {**first, **second, **met}


def _met(first: Range, second: Range) -> Range:
    """Return the numbers in both ranges; the first range if there are none, as where nothing runs."""
    least, most = max(first[0], second[0]), min(first[1], second[1])
    return (least, most) if least <= most else first


def note_opposite(test: Value, term: Value) -> None:
    """Note that a condition is the negation of another."""
    current().implied[test] = current().implications(term)[::-1]


def note_compared(ufunc: np.ufunc, test: Value, operands: Sequence[Any]) -> None:
    """Note the numbers that the two Python integers of a comparison may be, for each of its outcomes."""
    told = _told(_RELATIONS[ufunc][0], operands), _told(ufunc, operands)
    if any(told):
        current().implied[test] = told


def _told(relation: np.ufunc, operands: Sequence[Any]) -> Ranges:
    """Return the ranges of two Python integers that have the relation, as far as they are known."""
    left, right = (range_of(each) or (_LEAST, _MOST) for each in operands)
    found = _met(left, _related(relation, left, right)), _met(right, _related(_RELATIONS[relation][1], right, left))
    return {
        each.value: numbers
        for each, numbers in zip(operands, found, strict=True)
        if not isinstance(each, int | Size) and isinstance(each.value, Var) and not _is_wide(numbers)
    }


def _related(relation: np.ufunc, own: Range, other: Range) -> Range:
    """Return the numbers of the range `own` that may have the relation to one of `other`; the range may be empty."""
    least, most = own
    if relation in {np.less, np.less_equal, np.equal}:
        most = min(most, other[1] - (relation is np.less))
    if relation in {np.greater, np.greater_equal, np.equal}:
        least = max(least, other[0] + (relation is np.greater))
    if relation is np.not_equal and other[0] == other[1]:
        least, most = least + (least == other[0]), most - (most == other[0])
    return least, most


_RELATIONS: dict[np.ufunc, tuple[np.ufunc, np.ufunc]] = {
    np.less: (np.greater_equal, np.greater),
    np.less_equal: (np.greater, np.greater_equal),
    np.greater: (np.less_equal, np.less),
    np.greater_equal: (np.less, np.less_equal),
    np.equal: (np.not_equal, np.equal),
    np.not_equal: (np.equal, np.not_equal),
}
"""For each comparison, its negation, and the comparison of the second operand with the first."""
COMPARISONS = frozenset(_RELATIONS)


def around(ranges: Sequence[Range]) -> Range:
    """Return the range that includes several."""
    return min(r[0] for r in ranges), max(r[1] for r in ranges)


def range_of(number: Any) -> Range | None:
    """Return the numbers that a Python integer, or a scalar of a program, may be; None where that is not known."""
    if isinstance(number, int):
        return int(number), int(number)
    if isinstance(number, Size):
        return -COUNTED, COUNTED
    value: Any = number if isinstance(number, Var | Const) else number.value
    if isinstance(value, Const):
        return (int(value.numpy()),) * 2 if value.is_small and not value.is_weight else None
    if value.sizes is not None:
        return -COUNTED, COUNTED
    return (0, 1) if value.type.dtype == np.bool_ else current().ranges.get(value)


def are_beyond(number: Any, size: int) -> bool:
    """Whether all numbers that an index may be are out of bounds for an axis of this size."""
    known = range_of(number)
    return known is not None and (known[0] >= size or known[1] < -size)


def decided(ufunc: np.ufunc, left: Any, right: Any) -> bool | None:
    """Return the comparison of two Python integers if their ranges decide it; else None.

    Ranges that reach `COUNTED` are expectations, and decide nothing.
    """
    known = [r for r in map(range_of, (left, right)) if r is not None]
    if len(known) < 2 or any(map(_is_expected, known)):
        return None
    for relation, answer in ((_RELATIONS[ufunc][0], True), (ufunc, False)):
        least, most = _related(relation, *known)
        if least > most:
            return answer
    return None


@as_block
def narrowed(ranges: Ranges) -> Iterator[None]:
    """Return a context manager inside of which scalar integers are in these ranges too, as on one side of a branch."""
    noted = current().ranges
    before = {value: noted.get(value) for value in ranges}
    noted.update({value: _met(numbers, before[value] or numbers) for value, numbers in ranges.items()})
    try:
        yield
    finally:
        for value, known in before.items():
            if known is None:
                del noted[value]
            else:
                noted[value] = known


def fitted(ufunc: np.ufunc, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operands of a Python operator on integers; a run in which int64 does not hold the result fails.

    Raises DtypeError where the result, or an operand, is surely or may well be none of int64.
    """
    ranges = [range_of(o) for o in operands]
    if any(r is not None and not _is_held(r) for r in ranges):
        raise _too_large()
    if ufunc not in _GROWING:
        return tuple(operands)
    result = _result_range(ufunc, ranges)
    if result is not None and _is_held(result):
        return tuple(operands)
    if result is not None and not any(map(_is_wide, ranges)):
        raise _too_large()
    if result is None and _stays_small(ufunc, ranges):
        return tuple(operands)
    first = next(k for k, o in enumerate(operands) if not isinstance(o, int | Size))
    checked = [*operands]
    checked[first] = _checked(ufunc, operands, operands[first])
    return tuple(checked)


def note_result(ufunc: np.ufunc, results: Sequence[Any], operands: Sequence[Any]) -> None:
    """Note the range of what a Python operator on integers gave, but for a part of what is expected to be small."""
    ranges = [range_of(o) for o in operands]
    if ufunc in _DIVIDING and ranges[0] is not None and _is_expected(ranges[0]):
        return
    parts = (np.floor_divide, np.remainder) if ufunc is np.divmod else (ufunc,)
    for part, result in zip(parts, results, strict=True):
        found = _result_range(part, ranges) if result.dtype.kind == "i" else None
        if found is not None and _is_held(found):
            note_range(result.value, *found)


_DIVIDING = frozenset({np.floor_divide, np.right_shift, np.divmod})


def _is_expected(numbers: Range) -> bool:
    """Whether a range may be that of a size, a counter or what is computed of these, which numbers may leave."""
    return numbers[0] <= -COUNTED or numbers[1] >= COUNTED


def _is_held(numbers: Range) -> bool:
    return numbers[0] >= _LEAST and numbers[1] <= _MOST


def _is_wide(numbers: Range | None) -> bool:
    """Whether the range is that of a number of the run, of which nothing else is known."""
    return numbers is None or numbers[1] - numbers[0] > 2**62


def _too_large() -> DtypeError:
    error = DtypeError(
        "a Python integer that only the run knows may be larger than int64 holds",
        place=user_place(),
        cure="Write it as a float, or with NumPy's integers, which wrap: np.int64(n).",
    )
    error.numpys = OverflowError(error.what)
    return error


_GROWING = frozenset({np.add, np.subtract, np.multiply, np.left_shift, np.power, np.negative, np.absolute})


def _stays_small(ufunc: np.ufunc, ranges: Sequence[Range | None]) -> bool:
    """Whether an integer of the run that int64 holds is not expected to grow out of it."""
    known = [max(abs(r[0]), abs(r[1])) for r in ranges if r is not None]
    if ufunc is np.multiply:
        return bool(known) and min(known) <= 1
    if ufunc is np.add or ufunc is np.subtract:
        return bool(known) and min(known) <= COUNTED
    return ufunc is np.negative or ufunc is np.absolute


def _checked(ufunc: np.ufunc, operands: Sequence[Any], first: Any) -> Any:
    """Return the first traced operand; a run fails in which the result, computed in float64, is too large."""
    floats = [float(o) if isinstance(o, int) else _as_float(o) for o in operands]
    result = floats[0] * 2.0 ** floats[1] if ufunc is np.left_shift else ufunc(*floats)
    error = OverflowError("a Python integer is larger than int64 holds")
    found = first.checked(np.absolute(result) >= 2.0**63 * (1 - 2.0**-50), error, is_pythons=False)
    found.weak = True
    return found


def _as_float(operand: Any) -> Any:
    if isinstance(operand, Size):
        return np.asarray(operand, np.float64)
    return operand.astype(np.float64)


def _result_range(ufunc: np.ufunc, ranges: Sequence[Range | None]) -> Range | None:
    """Return the numbers that the operator may give for operands of these ranges; None where that is not known."""
    if ufunc is np.remainder and ranges[1] is not None:
        least, most = ranges[1]
        return (min(least + 1, 0), max(most - 1, 0))
    if ufunc is np.bitwise_and:
        tops = [r[1] for r in ranges if r is not None and r[0] >= 0]
        return (0, min(tops)) if tops else None
    known = [r for r in ranges if r is not None]
    if len(known) < len(ranges):
        return None
    if ufunc is np.bitwise_or or ufunc is np.bitwise_xor:
        bits = max(r[1].bit_length() for r in known)
        return (0, 2**bits - 1) if all(r[0] >= 0 for r in known) else None
    if ufunc in _SHIFTING and not (known[1][0] >= 0 and known[1][1] < 1024):
        return None
    if ufunc is np.power and not (known[1][0] == known[1][1] and 0 <= known[1][0] < 1024):
        return None
    if ufunc is np.floor_divide and known[1][0] <= 0 <= known[1][1]:
        return None
    python = _PYTHON.get(ufunc)
    if python is None:
        return None
    ends = [{*r, *({0} if r[0] < 0 < r[1] else ())} for r in known]
    found = [python(*each) for each in itertools.product(*ends)]
    return min(found), max(found)


_SHIFTING = frozenset({np.left_shift, np.right_shift, np.power})
_PYTHON: dict[np.ufunc, Callable[..., int]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.negative: operator.neg,
    np.positive: operator.pos, np.absolute: abs, np.floor_divide: operator.floordiv, np.left_shift: operator.lshift,
    np.right_shift: operator.rshift, np.power: operator.pow,
}  # fmt: skip
"""Monotone in each operand on either side of 0: the extremes are at the ends of the ranges, or at 0."""
