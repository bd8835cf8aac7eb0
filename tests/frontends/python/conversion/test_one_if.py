"""Functions of more branches than can be followed one by one: both sides of a branch become one If."""

import collections
import contextlib
import linecache
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.branching import exploring, paths
from tests.numpy.agreement import check_grads

rng = np.random.default_rng(5)


def sines_or_squares(x):
    total, scale = 0.0, 1.0
    for value in x:
        if value > 0:
            total = total + value**2
        else:
            total, scale = total - np.sin(value) * scale, 0.9 * scale
    return total


def bouncing(x):
    height, speed, heat = x[0], x[1], 0.0
    for _ in range(12):
        speed = speed - 9.81 * 0.01
        height = height + speed * 0.01
        if height < 0 and speed < 0:
            height, speed = -height, -0.8 * speed
            heat = heat + speed**2
    return height + heat


def saturating(value):
    scaled = 2.0 * value
    return scaled + np.tanh(scaled)


def many_ways(x):
    total = x[0] * 0
    for k in range(7):
        value = x[k % 3] * (k + 1)
        if 0 < value < 3:
            saturated = saturating(value)
            total += saturated
        elif value > 8 or value < -8:
            total = total - value
        elif not value > 4:
            total = total * 0.5
        total = total + (value if value > 1 else -value * value)
    return total


def sorted_by_exchange(x):
    x, n = x.copy(), len(x)
    for last in range(n - 1, 0, -1):
        for k in range(last):
            if x[k] > x[k + 1]:
                x[k], x[k + 1] = x[k + 1], x[k]
    return x * np.arange(1.0, n + 1.0)


def marked_rows(x):
    rows = x.reshape(3, 3).copy()
    top = rows[0]
    for k in range(3):
        for j in range(3):
            if rows[k, j] < 0:
                rows[k, j] = rows[k, j] ** 2
            else:
                rows[k] = rows[k] * 2.0
    return rows.sum(axis=0) * top


def kept_in_vectors(x):
    best, weight = x[:3], 1.0
    for k in range(9):
        candidate = np.roll(x, k)[:3]
        if candidate.sum() > best.sum():
            best = candidate * 1.0
            weight = weight * 0.9
    return best * weight


def flags(x):
    is_falling, total = False, 0.0
    for value in x:
        if value < 0:
            is_falling = True
        if is_falling and value > 0:
            total = total + value
        else:
            total, is_falling = total - 0.5 * value, False
    return total


def skips(x):
    total = 0.0
    for k, value in enumerate(x):
        if value < 0:
            continue
        total += math.sqrt(value)
        if k > 4 and value < 1:
            total = total * 0.9
            continue
        total = total + max(value, 0.2) * min(value, x[0])
    return total


def tariff(value):
    """Ends at several places."""
    if value < 0.2:
        return 0.1 * value
    if value < 0.8:
        half = value * value
        if half < 0.3:
            return half - 0.05
        return half
    return 2.0 * value


def tariffs(x):
    cube, total = (lambda value: value**3), 0.0
    for k in range(2):
        for value in x:
            total = total + tariff(abs(value) * (k + 1) * 0.5)
            if cube(value) > 0.1:
                total = total - cube(value)
    return total


def exchanged_in_a_list(x):
    numbers, counted = list(x), {"swaps": 0, "last": 0.0}
    for last in range(len(numbers) - 1, 0, -1):
        for k in range(last):
            if numbers[k] > numbers[k + 1]:
                numbers[k], numbers[k + 1] = numbers[k + 1], numbers[k]
                counted["swaps"] += 1
                counted["last"] = numbers[k] ** 2
    return sum(k * v for k, v in enumerate(numbers)) * counted["last"] + counted["swaps"]


def remembers(x):
    is_hit, total = False, 0.0
    for value in x:
        is_hit = is_hit or value > 1.0
        if is_hit and max(value, 0.0) < 0.5:
            total, is_hit = total + min(value, 0.35), value > 0.1
        else:
            total = total - value**2
    return total


TABLE = np.array([0.5, 0.1, 0.9])


def looks_up(x):
    count, total = 0, 0.0
    for value in x:
        if count < 3 and TABLE[count] > 0.2:
            total = total + value
        if value > 0:
            count = count + 1
    return total * count


class Clamp:
    """A method with branches."""

    def __init__(self, limit):
        self.limit = limit

    def __call__(self, x):
        found = x * 0
        for k, value in enumerate(x):
            found[k] = value if value < self.limit else self.limit + 0.1 * (value - self.limit)
        return found


def marked_cells(x):
    cells = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            here = x[3 * i + j] * (1 + 0.1 * i)
            if abs(here) > 0.15 * len(cells):
                scaled = here * round(1.7)
                cells[i, j] = scaled + cells[i - 1, j] ** 2
    return np.sum(cells * cells)


class Cart:
    """A cart that is pushed, with a list and another object of its own."""

    def __init__(self, place):
        self.place, self.pushes, self.history, self.wheel = place, 0, [0.0, 1.0], self


def pushes(x):
    cart, seen, table = Cart(x[0]), [], [[0.0, 1.0], [2.0, 3.0]]
    same, row = cart, table[0]
    for k, value in enumerate(x):
        if value > 0:
            cart.place += value * same.place
            cart.wheel.pushes += 1
            cart.history[k % 2] = value
            table[k % 2][0] *= value
            seen.append(value * 2.0)
            print(f"{value:.2f}")
        elif value < -0.2:
            same.place, row[1] = -value, row[1] + same.place
            seen.append(row[0])
        else:
            made = [value]
            made.append(cart.place)
            seen.append(made[0] * made[1])
    told = sum(v * k for k, v in enumerate(seen)) + sum(cart.history)
    return told + same.place * cart.pushes + table[0][0] * table[0][1] + sum(table[1])


def written_and_replaced(x):
    state, total = x[:3] * 1.0, 0.0
    first, part = state, state[:2]
    for k, value in enumerate(x):
        if value > 0:
            state[k % 3] = value
            state = state * 0.5
        state[0] = state[0] + value
        first[1] += 0.1
        total = total + part[0] * part[1] + state[2]
    return total + np.sum(state * first)


class Tank:
    """A tank that methods fill, which are called on one side alone."""

    def __init__(self):
        self.level, self.spilled, self.fills, self.history = 0.5, 0.0, 0, [0.0, 1.0]

    def fill(self, amount):
        self.level, self.fills = self.level * 0.9 + amount, self.fills + 1
        if self.level > 1:
            self.spill(self.level - 1)
        self.history[0] += amount * self.level
        return self.level

    def spill(self, amount):
        self.spilled += amount
        self.history.append(amount)
        self.level = 1.0 + 0.1 * self.history.pop()


def filled_by_methods(x):
    tank, total, calls = Tank(), 0.0, 0

    def count(weight):
        nonlocal total, calls
        total, calls = total + weight * tank.level, calls + 1

    for value in x:
        if value > 0:
            total = total + tank.fill(value)
        elif value < -0.3:
            count(value)
        else:
            calls += 2
    return total * calls + tank.level * tank.fills + tank.spilled + sum(tank.history)


class Ball(NamedTuple):
    height: Any
    speed: Any


def states_of_a_ball(x):
    ball = Ball(x[0], x[1])
    for value in x:
        with np.errstate(all="ignore"):
            if ball.height < 0:
                ball = ball._replace(speed=-0.8 * ball.speed)
            elif value > 0.3:
                with np.errstate(all="ignore"):
                    ball = Ball(ball.height * 0.9, value)
        ball = Ball(ball.height + 0.3 * ball.speed, ball.speed - 0.2 * value)
    return ball.height * ball.speed


def halved_in_brackets(x):
    """The first way is told by Python's numbers alone: that the last test is asked is seen when others are joined."""
    low, high = 0.0, 3.0
    for _ in range(14):
        middle = 0.5 * (low + high)
        if middle**3 > x[0] + x[1]:
            high = middle
        else:
            low = middle
        if high - low < 1e-3 * (1 + low):
            break
    return middle - (middle**3 - x[0] - x[1]) / (3 * middle**2)


NINE = rng.standard_normal(9)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("function", "x"),
    [
        (sines_or_squares, NINE),
        (bouncing, np.array([1.0, 0.3])),
        (many_ways, np.array([0.413, -0.317, 0.731])),
        (sorted_by_exchange, NINE),
        (marked_rows, NINE),
        (marked_cells, NINE),
        (kept_in_vectors, NINE),
        (flags, NINE),
        (looks_up, NINE[:7]),
        (skips, NINE + 0.1),
        (tariffs, NINE[:6]),
        (exchanged_in_a_list, NINE[:7]),
        (pushes, NINE[:7]),
        (written_and_replaced, NINE[:6]),
        (remembers, np.concatenate([NINE, NINE * 0.9 + 0.4])),
        (Clamp(0.3), NINE),
        (filled_by_methods, NINE[:6]),
        (states_of_a_ball, NINE[:7]),
        (halved_in_brackets, np.array([2.3, 1.4])),
    ],
)
def test_values_and_gradients_are_those_of_the_function(function: Callable[..., Any], x: Any) -> None:
    check_grads(function, x, order=2, symbolic=False)


def appends(x):
    seen, total = [], 0.0
    for value in x:
        if value > 0:
            seen.append(value)
        else:
            total = total + value
    return total + len(seen)


def counts(x):
    count, total = 0, 0.0
    for value in x:
        if value > 0:
            count += 1
        total = total + value * x[count % 3]
    return total


def closes_over(x):
    last = x[0] * 0

    def doubled():
        return last * 2.0

    total = 0.0
    for value in x:
        if value > 0:
            last = value * 1.0
            total = total + doubled()
    return total


def shares_an_array(x):
    left, right, both = x[:3] * 1.0, x[3:6] * 1.0, 0.0
    for value in x:
        taken = left if value > 0 else right
        taken += value
        both = both + left * right
    return both


def two_names(x):
    first, second = x[:3] * 1.0, x[3:6] * 1.0
    for value in x:
        if value > 0:
            first = second = x[:3] * value
        first += value
    return first * second


def takes_from_an_iterator(x):
    numbers, total = iter(range(1, 20)), 0.0
    for value in x:
        if value > 0:
            total = total + value * sum(n for n, _ in zip(numbers, range(2), strict=False))
        else:
            total = total - value * sum(n for n, _ in zip(numbers, range(1), strict=False))
    return total


def calls_between(x):
    counter, total = Counter(), 0.0
    for k, value in enumerate(x):
        if 0 < counter.next() * (value if k % 2 else 1.0) < 3:
            total = total + value
    return total * counter.count


class Counter:
    """Whose method has an effect."""

    def __init__(self):
        self.count = 0.0

    def next(self):
        self.count += 1.0
        return self.count


def asks_an_object(x):
    counter, total = Counter(), 0.0
    for value in x:
        if value > 0:
            total = total + value * counter.next()
        total = total - value
    return total * counter.count


def handed_on(x):
    counter, total = Counter(), 0.0
    count = counter.next
    for value in x:
        if value > 0:
            total = total + value * np.apply_along_axis(lambda _: count(), 0, np.zeros((2, 2))).sum()
        else:
            total = total - value * sum(count() for _ in range(3))
    return total


def assigned_on_one_side(x):
    total = 0.0
    for value in x:
        if value > 0:
            found = value * 3.0
        if value > 0:
            total, found = total + found, 0.0
        else:
            total = total - value
    return total


def texts(x):
    kind, total = "none", 0.0
    for value in x:
        if value > 0:
            kind = "up"
        elif value < -0.5:
            kind = "down"
        total = total + value * len(kind)
    return total


def view_written_before(x):
    rows = x[:6].reshape(2, 3).copy()
    top, total = rows[0], 0.0
    for k in range(7):
        if x[k] > 0:
            top = top * 2.0
        top[0] = x[k]
        total = total + rows.sum()
    return total + top.sum()


class Counted:
    """An object that counts its reads."""

    def __init__(self):
        self.count = 0.0
        self.numbers = iter([float(k) for k in range(40)])

    def counted(self, *_):
        self.count += 1.0
        return self.count

    value = property(counted)


def container_shown_twice(x):
    left, right, total = [1.0, 2.0], [3.0, 4.0], 0.0
    for value in x:
        shown = left
        if value > 0:
            shown = right
        shown[0] = shown[0] + value
        if value > 0.5:
            right[1] = value
            total = total + shown[1]
        total = total + left[0] + 2 * right[0]
    return total


def object_read(x):
    quiet, total = Counted(), 0.0
    for value in x:
        if value > 0:
            total = total + value * quiet.value
        total = total - value
    return total * quiet.count


def iterator_held(x):
    quiet, total = Counted(), 0.0
    for value in x:
        if value > 0:
            for number, _ in zip(quiet.numbers, range(2), strict=False):
                total = total + value * number
        total = total - value
    return total * next(quiet.numbers)


def method_handed_on(x):
    quiet, total = Counted(), 0.0
    for value in x:
        if value > 0:
            total = total + value * np.apply_along_axis(quiet.counted, 0, np.zeros((2, 2))).sum()
        total = total - value
    return total * quiet.count


def ufunc_of_python(x):
    quiet, total = Counted(), 0.0
    counted = np.frompyfunc(quiet.counted, 1, 1)
    for value in x:
        if value > 0:
            total = total + value * counted(0.5)
        total = total - value
    return total * quiet.count


def default_of_dictionary(x):
    seen, total = collections.defaultdict(float), 0.0
    for k, value in enumerate(x):
        if value > 0:
            total = total + value + seen[k]
        total = total - value
    return total * len(seen)


def random_draws(x):
    np.random.seed(0)
    total = 0.0
    for value in x:
        if value > 0:
            total = total + value * np.random.rand()
        total = total - value
    return total * np.random.rand()


def numbers_of_another_name(x):
    marks, total = np.zeros(3), 0.0
    for value in x:
        if value > 0:
            shown = marks
            shown[0] = 1.0
        total = total + value * marks[0]
    return total


def added_in_place(x):
    marks, total = [np.zeros(3)], 0.0
    for value in x:
        if value > 0:
            marks[0] += 1.0
        total = total + value * marks[0][1]
    return total


class Bounded:
    """An object that sets more than the assigned attribute."""

    def __init__(self):
        self.held, self.sets = 0.0, 0

    @property
    def value(self):
        return self.held

    @value.setter
    def value(self, given):
        self.held, self.sets = given, self.sets + 1


def sets_a_property(x):
    bounded, total = Bounded(), 0.0
    for value in x:
        if value > 0:
            bounded.value = value
        total = total + value * bounded.held
    return total * bounded.sets


def keeps_an_array(x):
    box, total = Cart(x[:2] * 1.0), 0.0
    for value in x:
        shown = x[2:4] * value
        if value > 0:
            box.place = shown
        shown[0] = 5.0
        total = total + np.sum(box.place)
    return total


def appends_behind(x):
    seen, total = [], 0.0
    for value in x:
        if value > 0 and seen.append(value) is None:
            total = total + value
    return total * len(seen)


def is_not_assigned(x):
    kind, total = None, 0.0
    for value in x:
        if value > 0:
            kind = "up"
        total = total + (value if kind is None else 2.0 * value)
    return total


MARKS = {"of others": np.zeros(3)}


def marks():
    return MARKS["of others"]


def numbers_of_a_module(x):
    MARKS["of others"], total = np.zeros(3), 0.0
    for value in x:
        if value > 0:
            shown = marks()
            shown[0] = 1.0
        total = total + value * marks()[0]
    return total


def numbers_of_a_function(x):
    marks.place, total = np.zeros(3), 0.0
    for value in x:
        if value > 0:
            marks.place[0] = 1.0
        else:
            marks.place[1] = 2.0
        total = total + value * np.sum(marks.place)
    return total


def counts_behind(x):
    calls, total = 0, 0.0

    def next_call():
        nonlocal calls
        calls += 1
        return calls

    for value in x:
        if value > 0 and next_call() * value < 2:
            total = total + value
    return total * calls


def written_by_a_method(x):
    marked, total = Marked(x[:3] * 1.0), 0.0
    for value in x:
        first = marked.place
        if value > 0:
            marked.mark(value)
        total = total + np.sum(first * marked.place)
    return total


class Marked:
    def __init__(self, place):
        self.place = place

    def mark(self, value):
        self.place[0] = value


def shared_on_one_side(x):
    total = 0.0

    def doubled():
        return last * 2.0

    for value in x:
        if value > 0:
            last = value
        if value > 0:
            total = total + doubled()
    return total


def text_behind_a_continue(x):
    """The code behind a `continue` is in a side of its test, and assigns a name a value that no If outputs."""
    state, total = "idle", 0.0
    for value in x:
        if state == "run":
            total = total + 10 * value
        if value > 0:
            continue
        total = total + value
        state = "run"
    return total


def truth_behind_a_continue(x):
    seen, total = None, 0.0
    for value in x:
        total = total + 1 if seen else total - 1
        if value > 0:
            continue
        seen = [value]
        total = total * 0.9
    return total + np.sum(x)


OTHERS = [
    text_behind_a_continue, truth_behind_a_continue,
    numbers_of_a_module, numbers_of_a_function, counts_behind, written_by_a_method, shared_on_one_side,
    numbers_of_another_name, added_in_place, sets_a_property, keeps_an_array, appends_behind, is_not_assigned,
    calls_between,
    appends, counts, closes_over, shares_an_array, two_names, takes_from_an_iterator, asks_an_object, handed_on,
    assigned_on_one_side, texts, view_written_before, object_read, container_shown_twice, iterator_held,
    method_handed_on, ufunc_of_python, default_of_dictionary, random_draws,
]  # fmt: skip


@pytest.mark.parametrize("function", OTHERS)
def test_what_does_more_is_right_or_refused(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven numbers are 128 paths, in each of which a list, a counter or an iterator is another."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    wanted = [function(x) for x in (NINE[:7], -NINE[:7])]
    with contextlib.suppress(ps.PrimsplitError):
        program = ps.trace(function, NINE[:7])
        for x, value in zip((NINE[:7], -NINE[:7]), wanted, strict=True):
            np.testing.assert_allclose(program(x), value, rtol=1e-12)


def looks_up(x):
    held = {"level": x[0], "gain": 0.3}
    for k in range(16):
        if x[k % 9] > 0.1 * np.cos(k):
            held["level"] = held.get("level", 0.0) + held.get("gain") * x[k % 9] - held.get("none", 0.2)
        else:
            held["gain"] = 0.4 * sum(held.values())
    return held["level"] * held["gain"]


def test_a_side_may_look_up_what_dictionaries_hold() -> None:
    check_grads(looks_up, NINE, symbolic=False)
    program = ps.trace(looks_up, NINE)
    for x in (-NINE, NINE[::-1].copy(), 0.3 * NINE, 2 * NINE):
        np.testing.assert_allclose(program(x), looks_up(x), rtol=1e-10)


CATCHES_EVERYTHING = """
def kept_unless_long(x):
    seen = [x]
    for k in range(3):
        try:
            if np.linalg.norm(x) > 1.1:
                raise KeyError
            seen.append(x * k)
        except Exception:
            x = 0.9 * np.sort(x)
    for k in range(3):
        x = x * 0.9 if x[k] > 0.1 else x + 0.01
    return sum(v.sum() for v in seen) + x.sum()
"""


def test_a_function_that_catches_everything_is_recorded_inside_of_another() -> None:
    """In each turn it catches also what a recording with joined branches raises there, of which the first is told."""
    source, name, found = CATCHES_EVERYTHING, "<a function that catches everything>", {"np": np}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), found)
    kept = found["kept_unless_long"]
    point = np.array([0.3, -0.8, 0.9])
    inside = ps.trace(lambda x: ps.fori_loop(0, 1, lambda i, c: c + kept(x), 0.0), point)
    for x in (point, point[::-1].copy(), 0.3 * point):
        np.testing.assert_allclose(inside(x), kept(x), rtol=1e-12)
        slope = (kept(x + 1e-6) - kept(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(ps.jvp(kept, (x,), (np.ones(3),))[1], slope, rtol=1e-6)
