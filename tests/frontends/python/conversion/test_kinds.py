"""Names of joined branches that hold None or a text on one side, and a number or another text on the other."""

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.tracing.branching import exploring, paths

rng = np.random.default_rng(11)


def first_above(x):
    first, total = None, 0.0
    for k, value in enumerate(x):
        total += value
        if total > 1 and first is None:
            first = total * (k + 1)
    if first is None:
        return total
    return first + 0.1 * total


def smallest_positive(x):
    best = None
    for value in x:
        if value > 0 and (best is None or value < best):
            best = value * 1.0
    return best * x[0] if best is not None else x[1]


def accumulated(x):
    total = None
    for k, value in enumerate(x):
        row = value * x[:2]
        if value > 0.2:
            if total is None:
                total = row
            else:
                total += row * k
    if total is not None:
        return np.sum(total) + x[0]
    return x[0] - x[1]


def closest_pair(x):
    points, best, pair = x.reshape(-1, 2), None, None
    for i in range(len(points)):
        for j in range(i):
            gap = np.sum((points[i] - points[j]) ** 2)
            if best is None or gap < best:
                best, pair = gap, (i, 2 * points[j])
    return best + pair[0] * pair[1][0]


def thermostat(x):
    mode, heat, seconds = "off", 1.0, 0
    for value in x:
        heat += 0.3 * value
        if mode == "off" and heat < 0.8:
            mode = "on"
        elif mode == "on" and heat > 1.2:
            mode = "off"
        if mode == "on":
            heat += 0.2 * x[0]
            seconds += 1
        elif mode != "off":
            heat = 100.0
    return heat + seconds * x[1] + (0.5 * x[2] if mode in ("on", "broken") else 0.0)


class Phase(enum.Enum):
    CLIMB = 1
    CRUISE = 2
    DESCENT = 3


def flight(x):
    phase, before, height = Phase.CLIMB, None, 0.0
    for value in x:
        last = phase
        if phase is Phase.CLIMB:
            height += 1 + value
            if height > 3:
                phase = Phase.CRUISE
        elif phase is Phase.CRUISE:
            height += 0.1 * value
            if value < -0.5:
                phase, before = Phase.DESCENT, height
        else:
            height *= 0.5 + 0.1 * value
        if last is not Phase.DESCENT and phase is Phase.DESCENT:
            height += x[0]
    return height if before is None else height * before


def root_of(value):
    if value < 0.3:
        return None
    if value > 1.5:
        return np.exp(-value)
    return np.sqrt(value)


def skips_what_has_none(x):
    total, count = 0.0, 0
    for value in x:
        root = root_of(value)
        if root is None:
            continue
        total += root * (count + 1)
        count += 1
    return total + x[0]


def hit(ray, center):
    along = ray @ center
    rest = along**2 - center @ center + 0.8
    if rest > 0:
        distance = along - np.sqrt(rest)
        return distance, (distance * ray - center) / 0.8
    return None


def shaded(x):
    ray, nearest, normal = np.array([1.0, 0.2]), 9.0, np.zeros(2)
    for center in x.reshape(-1, 2):
        found = hit(ray, center)
        if found is not None:
            distance, direction = found
            if distance < nearest:
                nearest, normal = distance, direction
    return nearest + normal[0] * x[0] - normal[1]


def leaves_at_none(x):
    last, total = None, 0.0
    for value in x:
        if last is not None and value * last < 0:
            break
        last = value if value > -1 else None
        total += value**2
    return total + (last if last is not None else 7.0 * x[0])


def sign_of(value):
    if value > 0:
        return "+"
    return "-"


def of_one_sign(x):
    return sum(value**2 for value in x if sign_of(value) == "+") + sum(value for value in x if sign_of(value) != "+")


def given_on(x):
    last, total = None, 0.0
    for value in x:
        before = last
        last = "up" if value > 0 else None
        if before is not last:
            total += value
        elif before is None and value < -0.5:
            total -= 2 * value
    return total * x[0]


def goes_on_inside(x):
    total, count = 0.0, 0
    for value in x:
        if value > 0:
            total += value
            if value > 1:
                count += 1
                continue
            total *= 0.9
        elif value < -1.5:
            continue
        else:
            if value < -1:
                total -= 1
                continue
            total += value**2
        total += count * value
        if value < -0.5:
            continue
        total *= 1.1
    return total


def named_behind_and(x):
    total, last = 0.0, None
    for value in x:
        if value > 0.1 and (root := np.sqrt(value)) > 0.5 and (last is None or root > last):
            total += root
            last = root
    return total


@dataclass(frozen=True)
class Body:
    place: Any
    speed: Any
    hits: int = 0

    def moved(self, time):
        return Body(self.place + time * self.speed, self.speed, self.hits)


def bounced(body):
    body = body.moved(0.3)
    if body.place < 0:
        return replace(body, place=-body.place, speed=-0.9 * body.speed, hits=body.hits + 1)
    if body.place > 1:
        return replace(body, place=2 - body.place, speed=-0.9 * body.speed, hits=body.hits + 1)
    return body


def bouncing_body(x):
    body = Body(x[0], 2 * x[1])
    for _ in range(10):
        body = bounced(body)
    return body.place + 0.1 * body.hits * body.speed


class Node:
    def __init__(self, feature, low, high):
        self.feature, self.low, self.high = feature, low, high


TREE = Node(0, Node(1, 2.0, Node(2, 3.0, 0.5)), Node(3, Node(4, 1.5, -1.0), Node(0, 0.1, 0.7)))


def leaf_of(node, x):
    if not isinstance(node, Node):
        return node * x[0]
    if x[node.feature] < 0.1:
        return leaf_of(node.low, x)
    return leaf_of(node.high, x)


def forest(x):
    return sum(leaf_of(TREE, x[k:]) for k in range(7))


def changes_of_regime(x):
    regime, changes, mean = "flat", 0, 0.0
    for value in x:
        mean = 0.6 * mean + 0.4 * value
        new = "up" if mean > 0.1 else ("down" if mean < -0.1 else regime)
        changes += 1 if new != regime else 0
        regime = new
    return mean * changes


def busiest(x):
    free, longest, busy, waits = 0.0, 0, 0, []
    for k, value in enumerate(x):
        busy = max(longest, busy + 1) if value > free else 0
        waits.append(max(free - value, 0.0) + min(k, 2.0 * free))
        free, longest = 0.5 * free + value, max(longest, busy)
    return sum(waits) + longest * x[0] if any(wait > 3 for wait in waits) else sorted(waits)[3]


FUNCTIONS = [
    changes_of_regime, bouncing_body, forest, busiest, goes_on_inside, named_behind_and,
    first_above, smallest_positive, accumulated, closest_pair, thermostat, flight, skips_what_has_none, shaded,
    leaves_at_none, of_one_sign, given_on,
]  # fmt: skip


def slopes(function: Callable[..., Any], x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(function(x + step) - function(x - step)) / 2e-6 for step in steps])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_name_is_depends_on_the_branches(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve numbers are hundreds of paths and more; sixteen are recorded."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    both = ps.value_and_grad(function)
    for x in rng.normal(size=(20, 12)):
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, slopes(function, x), rtol=1e-5, atol=1e-6)


def test_a_name_that_is_none_has_its_second_derivative() -> None:
    hessian = ps.hessian(smallest_positive)
    x = rng.normal(size=20)
    x[0], x[-1] = 1.0, 0.001
    wanted = np.zeros((20, 20))
    wanted[0, -1] = wanted[-1, 0] = 1.0
    np.testing.assert_allclose(hessian(x), wanted)


def compared_with_true(x):
    on, total = False, 0.0
    for value in x:
        if value > 0:
            on = True
        elif value < -1:
            on = False
        total += value**2 if on is True else -value
    return total


def of_two_classes(x):
    count, total = 0, 0.0
    for value in x:
        if value > 0:
            count = count + 1
        elif value < -1:
            count = 0.5
        total += value**2 if isinstance(count, int) else -value
    return total


def one_of_two_arrays(x):
    a, b, total = x[:2] * 1.0, x[2:4] * 2.0, 0.0
    current = a
    for value in x:
        if value > 0:
            current = a
        elif value < -1:
            current = b
        total += value**2 + current[0] if current is a else -value
    return total


def none_or_list(x):
    seen, total = None, 0.0
    for value in x:
        total += value if seen is None else seen[0]
        if value > 0:
            seen = [value]
    return total


def used_as_a_key(x):
    counts, total = {"up": 0, "down": 0}, 0.0
    for value in x:
        way = "up" if value > 0 else "down"
        counts[way] += 1
        total += counts[way] * value
    return total


MADE = [0]


@dataclass(frozen=True)
class Counted:
    place: Any

    def __post_init__(self):
        MADE[0] += 1


def counted_objects(x):
    MADE[0], here = 0, Counted(x[0])
    for value in x:
        if value > 0:
            here = replace(here, place=here.place + value)
    return here.place * MADE[0]


def replaced_or_same(x):
    here, total = Body(x[0], x[1]), 0.0
    for value in x:
        before = here
        if value > 0:
            here = replace(here, place=here.place + value)
        total += value if here is before else -value
    return total


def printed_text(x):
    way, total = "up", 0.0
    for value in x:
        if value > 0:
            way = "down"
        total += value * len(f"{way}")
    return total


@pytest.mark.parametrize(
    "function",
    [
        compared_with_true,
        of_two_classes,
        one_of_two_arrays,
        none_or_list,
        used_as_a_key,
        printed_text,
        counted_objects,
        replaced_or_same,
    ],
)
def test_what_python_tells_apart_is_right_or_refused(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    for x in rng.normal(size=(3, 12)):
        try:
            found = ps.trace(function, x)(x)
        except ConcretizationError:
            return
        np.testing.assert_allclose(found, function(x), rtol=1e-12)
