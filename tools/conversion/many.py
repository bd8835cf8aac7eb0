"""Statements that may stand in the sides of an `if` that is recorded as one If, if there are many such `if`s."""

from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section


class State:
    """An object whose attribute a side sets."""

    def __init__(self, speed: Any) -> None:
        self.speed = speed

    def slowed(self) -> None:
        self.speed = 0.9 * self.speed


def names(x: Any) -> Any:
    found = None
    for k in range(12):
        if x > 0.1 * k:
            x, found = 0.9 * x, x * k
        elif x < -1:
            x += 0.2
    return x if found is None else found


def attributes(x: Any) -> Any:
    state = State(x)
    for k in range(12):
        if state.speed > 0.1 * k:
            state.speed = 0.9 * state.speed
    return state.speed


def elements(x: Any) -> Any:
    out, held = np.zeros(3), {"last": x}
    for k in range(12):
        if x > 0.1 * k:
            out[k % 3] += x
            held["last"] = x * k
            x = 0.9 * x
    return np.sum(out * out) + held["last"]


def lists(x: Any) -> Any:
    found = []
    for k in range(12):
        if x > 0.1 * k:
            found.append(x * k)
            x = 0.9 * x
    return x + sum(found)


def indices(x: Any) -> Any:
    place, parts = 0, [1.0, x, x * x]
    for k in range(12):
        if x > 0.1 * k:
            place = (place + 1) % 3
    return parts[place] * x


def exchanges(x: Any) -> Any:
    old, new = np.zeros(2), np.ones(2) * x
    for k in range(12):
        if x > 0.1 * k:
            old, new = new, 0.9 * old
    return np.sum(old) + 2 * np.sum(new)


def halved(v: Any) -> Any:
    return 0.5 * v if v > 0.3 else v


def calls(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            x = halved(x) + min(0.2, 0.1 * x)
            print("above", k)
    return x


def errors(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            x = 0.9 * x
            if x > 5:
                raise ValueError("x is large")
    return x


def caught_errors(x: Any) -> Any:
    total = 0.0
    for k in range(12):
        try:
            if x < 0.1 * k:
                raise ValueError("x is small")
            total = total + x
        except ValueError:
            total = total - 1
    return x * total


def loops(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            for scale in (0.9, 0.95):
                if x < 0.3:
                    break
                x = scale * x
            x = x + sum([v * x for v in (0.1, 0.2)])
    return x


def exits(x: Any) -> Any:
    for k in range(12):
        if x < 0.1 * k:
            return x * k
        if x < -1:
            continue
        x = x + 0.05
    return x


def contexts(x: Any) -> Any:
    for k in range(12):
        if x > 0.1 * k:
            with np.errstate(all="ignore"):
                x = 0.9 * np.sqrt(x)
    return x


def matches(x: Any) -> Any:
    for k in range(12):
        match x > 0.1 * k, k % 2:
            case True, 0:
                x = 0.9 * x
            case True, _:
                x = 0.8 * x
    return x


def yields(x: Any) -> Any:
    def steps() -> Any:
        for k in range(12):
            if x > 0.1 * k:
                yield 0.9 * x
            else:
                yield k * x

    return sum(steps())


def shared_names(x: Any) -> Any:
    total = 0.0

    def add(v: Any) -> None:
        nonlocal total
        if v > 0:
            total = total + v

    for k in range(12):
        add(x - 0.1 * k)
    return total * x


def keywords(x: Any) -> Any:
    options: dict[str, Any] = {"dtype": float}
    for k in range(12):
        if x > 0.1 * k:
            x = np.multiply(0.9, x, **options)
    return x


def writes(x: Any) -> Any:
    y = x * np.ones(2)
    for k in range(12):
        if y[0] > 0.1 * k:
            np.add.at(y, [0, 1, 1], -0.05 * x)
            np.multiply(y, 1.1, out=y)
    return np.sum(y)


MANY = Section(
    "Many branches: what one If takes",
    "An `if` is recorded with both of its sides in one run. These may stand in its sides.",
    [
        Row("names, also None on one side", names, ifs=13),
        Row("attributes", attributes, ifs=12),
        Row("elements of arrays and dictionaries", elements, ifs=12),
        Row("`np.add.at`, `np.put`, `out=` and the like", writes, ifs=12),
        Row("`**` in a call", keywords, ifs=12),
        Row("lists that grow", lists, ifs=12),
        Row("an index into a list", indices, ifs=12),
        Row("exchanged arrays", exchanges, ifs=12),
        Row("calls, `print`", calls, ifs=12),
        Row("`raise`", errors, ifs=13),
        Row("`try` with a `raise`", caught_errors, ifs=24),
        Row("loops, `break`, comprehensions", loops, ifs=12),
        Row("`return` and `continue` in a loop", exits, ifs=1),
        Row("`with np.errstate`", contexts, ifs=12),
        Row("`match`", matches, ifs=18),
        Row("`yield` on both sides", yields, ifs=12),
        Row("`nonlocal`", shared_names, ifs=12),
    ],
)
