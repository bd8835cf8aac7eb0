"""Loops of many steps that end where the numbers say so: each step is recorded once, whether it is taken or not.

PYTEST_DONT_REWRITE: functions with an `assert` have the code that they have at a user's.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]


def newton(x: Any) -> Any:
    guess = x[0]
    for _ in range(14):
        change = (guess - x[1] * np.sin(guess) - x[0]) / (1 - x[1] * np.cos(guess))
        guess = guess - change
        if abs(change) < 1e-12:
            break
    return guess


def newton_while(x: Any) -> Any:
    guess, change, count = x[0], 1.0, 0
    while abs(change) > 1e-12 and count < 14:
        change = (guess - x[1] * np.sin(guess) - x[0]) / (1 - x[1] * np.cos(guess))
        guess = guess - change
        count += 1
    return guess + 10 * count


def newton_return(x: Any) -> Any:
    guess = x[0]
    for count in range(14):
        change = (guess - x[1] * np.sin(guess) - x[0]) / (1 - x[1] * np.cos(guess))
        guess -= change
        if abs(change) < 1e-12:
            return guess * (1 + count)
    raise RuntimeError("no root")


def counted(x: Any) -> Any:
    total = 0.0
    for k in range(20):
        total = total + x[0] * k
        if total > 8.07 * x[2]:
            break
        total = total + x[1]
    return total * (k + 1)


def not_found(x: Any) -> Any:
    place = -1.0
    for k in range(18):
        if x[0] * k > 4.13:
            place = x[0] * k
            break
    else:
        place = x[1] ** 2
    return place * x[2]


def from_within(x: Any) -> Any:
    level, speed = x[0], x[1]
    for k in range(16):
        if level < 1.03:
            speed = speed * 1.1
            if speed > 1.52:
                speed = speed + x[2]
                break
        level = level * 0.9
        if k % 7 == 3:
            continue
        speed = speed + 0.01 * level
    return level + speed**2


def forever(x: Any) -> Any:
    k, total = 0, x[0]
    while True:
        k += 1
        total = total * 0.9 + x[1]
        if total > 2.0:
            return total * x[2]
        if k == 16:
            break
    return -total + k


def in_place(x: Any) -> Any:
    state = x.copy()
    for k, (rate, other) in enumerate(zip(np.linspace(0.1, 0.3, 15), x[::-1].repeat(5), strict=False)):
        state -= rate * (state - other)
        state[k % 3] *= 0.95
        if np.sum(state**2) < 1.0:
            break
    return np.sum(state * x) + k


def inside_another(x: Any) -> Any:
    roots = np.zeros(3)
    for i in range(3):
        root = 1.5
        for count in range(10):
            change = (root**2 - abs(x[i])) / (2 * root)
            if change > 0.5:
                change = 0.5 + 0.1 * change
            root, steps = root - change, count
            if abs(change) < 1e-10:
                break
        roots[i] = root * (1 + 0.01 * steps)
    return np.sum(roots * x)


def root_of(value: Any) -> Any:
    guess = 1.0 + value
    for _ in range(9):
        following = 0.5 * (guess + value / guess)
        if math.fabs(following - guess) < 1e-13:
            return following
        guess = following
    return guess


def in_helpers(x: Any) -> Any:
    return sum(root_of(abs(value) + 0.5) for value in x)


def nested_ends(x: Any) -> Any:
    total = 0.0
    for i in range(5):
        for j in range(6):
            total = total + x[0] * i + x[1] * j
            if total > 30.17:
                return total * x[2]
            if x[1] * j > 2.03:
                break
        if total > 20.07:
            break
    return total


def checked(x: Any) -> Any:
    level = x[0]
    for k in range(15):
        if abs(level) > 1e3:
            raise OverflowError("too large")
        assert level > -5.0, "too small"
        level = level - 0.3 * (level - x[1])
        if level < x[2] * 0.5:
            return level + k
    return level


def caught(x: Any) -> Any:
    total = x[0]
    try:
        for k in range(16):
            total = total * 1.1 + x[1]
            if total > 5.03:
                raise ValueError(k)
    except ValueError:
        total = total * x[2]
    return total


class Swing(NamedTuple):
    angle: Any
    speed: Any


def swinging(x: Any) -> Any:
    swing, pair = Swing(x[0], x[1]), (x[2], 1)
    for _ in range(14):
        swing = Swing(swing.angle + 0.3 * swing.speed, swing.speed - 0.3 * np.sin(swing.angle))
        pair = (pair[0] * 0.9 + swing.angle, pair[1] + 1)
        if swing.angle < -0.2:
            break
    return swing.angle * pair[0] + swing.speed * pair[1]


def from_known_numbers(x: Any) -> Any:
    field, count = np.full(3, 0.1), 0
    while count < 16:
        new = np.tanh(x[1] * field[::-1] + x)
        if np.max(np.abs(new - field)) < 1e-3:
            break
        field = 0.3 * field + 0.7 * new
        count += 1
    field[0] = field[1] * count
    return np.sum(field * x)


def fixed_point(x: Any) -> Any:
    place = np.zeros(3)
    for _ in range(16):
        new = np.tanh(0.3 * place[::-1] + x)
        if np.linalg.norm(new - place) < 1e-3:
            break
        place = new
    return new[0] + place @ x


def fixed_point_old(x: Any) -> Any:
    place = 0 * x
    for k in range(16):
        old = place
        place = np.tanh(0.3 * place[::-1] + x)
        if np.linalg.norm(place - old) < 1e-3:
            return place @ x + k
    raise RuntimeError("no fixed point")


def accepted_steps(x: Any) -> Any:
    place, width = x * 1.0, 1.0
    for _ in range(14):
        new = place - width * np.sin(place)
        if np.sum(new**4) < np.sum(place**4):
            place, width = new, 1.1 * width
        else:
            width = 0.6 * width
    place[0] = place[1] * x[2]
    return place @ x


def goes_on_twice(x: Any) -> Any:
    total, count = 0.0, 0
    for k in range(14):
        value = x[k % 3] * np.sin(k)
        if value < -0.7:
            continue
        if value < 0:
            total = total - value
            continue
        count += 1
        total = total + value**2
        if total > 2.03:
            break
    else:
        total = total + x[0]
    return total / (count + 1)


def swapped_arrays(x: Any) -> Any:
    a, b = x * 1.0, x**2
    for k in range(12):
        if a.sum() * (-1) ** k < b.sum():
            a, b = b, a
        a = a * 1.1
    return a @ x - b.sum()


def left_by_a_flag(x: Any) -> Any:
    """As an environment says that an episode is over."""
    place, total, inside = x[0] - x[1], 0.0, True
    for _ in range(14):
        place = place + 0.3 * np.cos(place * x[2])
        over = bool(place < -2.5 or place > 1.9)
        inside = not (place < -1.5 or place > 1.2)
        total = total + 1.0 - place**2 if inside else total - place
        if over:
            break
    return total if inside else 2.0 * total


LOOPS: list[Function] = [
    left_by_a_flag, goes_on_twice, fixed_point, fixed_point_old, accepted_steps, swapped_arrays,
    checked, caught, swinging, from_known_numbers,
    newton, newton_while, newton_return, counted, not_found, from_within, forever, in_place, inside_another, in_helpers,
    nested_ends,
]  # fmt: skip
POINTS = [np.array(p) for p in ([1.0, 0.3, 0.7], [0.4, 0.9, 2.0], [2.0, 0.1, 0.31], [0.2, 0.02, 1.3])]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_that_the_numbers_end_is_what_python_does(function: Function) -> None:
    differentiated = ps.value_and_grad(function)
    for x in POINTS:
        value, slope = differentiated(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(
            slope, [(function(x + h) - function(x - h)) / 2e-6 for h in steps], rtol=1e-5, atol=1e-7
        )


def test_a_program_grows_with_its_steps_and_not_with_their_ways() -> None:
    def counts(limit: int) -> int:
        def function(x: Any) -> Any:
            for _ in range(limit):
                x = x - 0.1 * np.sin(x)
                if abs(x) < 0.5:
                    break
            return x

        return sum(1 for _ in _ops(ps.trace(function, 2.0).block))

    assert counts(30) - counts(25) == counts(25) - counts(20) < 50


def _ops(block: Any) -> Any:
    for op in block.ops:
        yield op
        for inner in op.blocks():
            yield from _ops(inner)


def test_pairs_of_lists_and_arrays_are_joined() -> None:
    def blended(x: Any) -> Any:
        total = 0.0
        for k, (rate, value) in enumerate(zip(np.linspace(0.1, 0.9, 70), [*x] * 35, strict=True)):
            total = total + rate * value
            if total > 3.01:
                return total * k
        return total

    x = np.array([0.1, 0.3])
    np.testing.assert_allclose(ps.trace(blended, x)(x), blended(x), rtol=1e-12)


@pytest.mark.parametrize(("level", "told"), [(2e3, "OverflowError: too large"), (-9.0, "AssertionError: too small")])
def test_a_loop_raises_where_the_function_does(level: float, told: str) -> None:
    program = ps.value_and_grad(checked)
    program(POINTS[0])
    with pytest.raises(ps.PrimsplitError, match=told):
        program(np.array([level, 1.0, 0.7]))


@pytest.mark.parametrize("writes", ["place", "new", "old"])
def test_a_write_to_one_of_two_names_that_may_show_one_array_is_seen_by_the_other(writes: str) -> None:
    def function(x: Any) -> Any:
        place = old = x * 1.0
        for _ in range(14):
            new = 0.5 * place
            if place[0] < x[1]:
                place = new
        named = {"place": place, "new": new, "old": old}
        named[writes][0] = 9.0 * x[0]
        return named["new" if writes == "place" else "place"].sum()

    for x in POINTS:
        np.testing.assert_allclose(ps.trace(function, x)(x), function(x))
