"""Programs that were written for NumPy and Python alone, with decisions on data: their file gives value and gradient.

The expected values are Python's own, the expected gradients central differences of them.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps

Function = Callable[[Any], Any]


class Thermostat:
    """A controller that heats from a low temperature to a high one."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.is_on, self.switches = low, high, False, 0

    def heat(self, temperature: Any) -> float:
        if self.is_on and temperature > self.high:
            self.is_on = False
            self.switches += 1
        elif not self.is_on and temperature < self.low:
            self.is_on = True
            self.switches += 1
        return 5.0 if self.is_on else 0.0


def hysteresis(p: Any) -> Any:
    loss, outside, temperature = p
    control, energy = Thermostat(19.0, 21.0), 0.0
    for _ in range(12):
        heat = control.heat(temperature)
        energy += heat
        temperature = temperature + 0.2 * (heat - loss * (temperature - outside))
    return temperature + 0.01 * energy * loss + control.switches * 0.1 * outside


def viterbi(p: Any) -> Any:
    stay, good, bias = p
    seen = [0, 1, 1, 0, 1]
    emission = [[good, 1 - good], [1 - good + bias, good - bias]]
    step = [[stay, 1 - stay], [1 - stay, stay]]
    score = [math.log(0.5 * emission[s][seen[0]]) for s in range(2)]
    for each in seen[1:]:
        new = []
        for s in range(2):
            best = None
            for r in range(2):
                candidate = score[r] + math.log(step[r][s])
                if best is None or candidate > best:
                    best = candidate
            new.append(best + math.log(emission[s][each]))
        score = new
    return max(score)


def viterbi_of_dictionaries(p: Any) -> Any:
    """The paths are dictionaries of lists, which are read at the best state."""
    shown, see = [0, 1, 2, 0], np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    step = np.array([[0.7, 0.3], [0.4, 0.6]])
    scores, path = {s: np.log(0.5 * see[s, 0]) for s in (0, 1)}, {s: [s] for s in (0, 1)}
    for seen in shown[1:]:
        ways: dict[int, tuple[Any, Any]] = {}
        for s in (0, 1):
            costs = ((scores[r] + p[0] * np.log(step[r, s]) + p[1] * np.log(see[s, seen]), r) for r in (0, 1))
            ways[s] = max(costs)
        scores = {s: score for s, (score, _) in ways.items()}
        path = {s: [*path[before], s] for s, (_, before) in ways.items()}
    score, last = max((score, s) for s, score in scores.items())
    return score + p[2] * sum(path[last])


def line_search(p: Any) -> Any:
    x, y, longest = p

    def f(a: Any, b: Any) -> Any:
        return (1 - a) ** 2 + 10 * (b - a * a) ** 2

    for _ in range(2):
        gx, gy = -2 * (1 - x) - 40 * x * (y - x * x), 20 * (y - x * x)
        step, here = longest, f(x, y)
        for _ in range(4):
            if f(x - step * gx, y - step * gy) <= here - 1e-4 * step * (gx * gx + gy * gy):
                break
            step = 0.5 * step
        x, y = x - step * gx, y - step * gy
    return f(x, y)


def dynamic_window(p: Any) -> Any:
    to_goal, to_obstacles, speed = p
    obstacles = [(1.0, 0.4), (2.0, 0.2)]
    best, command = float("inf"), (0.0, 0.0)
    for faster in (-0.1, 0.1):
        for turn in (-0.4, 0.0, 0.4):
            x, y, angle, v, clear = 0.0, 0.0, 0.0, speed + faster, 10.0
            for _ in range(3):
                angle += turn * 0.3
                x += v * math.cos(angle) * 0.3
                y += v * math.sin(angle) * 0.3
                for ox, oy in obstacles:
                    distance = math.hypot(x - ox, y - oy)
                    clear = min(clear, distance)
            cost = to_goal * math.hypot(3.0 - x, 1.0 - y) + to_obstacles / clear
            if cost < best:
                best, command = cost, (v, turn)
    return best + command[0] * command[1]


def kalman_with_gaps(p: Any) -> Any:
    moves, noise, x = p
    variance, likelihood = 1.0, 0.0
    for y in (0.3, None, 0.7, None, 9.0, 0.4):
        variance = variance + moves
        if y is None:
            continue
        innovation, s = y - x, variance + noise
        if innovation * innovation > 9 * s:
            likelihood -= 4.5
            continue
        gain = variance / s
        x = x + gain * innovation
        variance = (1 - gain) * variance
        likelihood += -0.5 * (math.log(2 * math.pi * s) + innovation**2 / s)
    return likelihood


def particle_filter(p: Any) -> Any:
    decay, spread, width = p
    rng = np.random.default_rng(3)
    noise, starts = rng.normal(size=(4, 8)), rng.uniform(size=4)
    x, w, likelihood = np.zeros(8), np.full(8, 1 / 8), 0.0
    for t, y in enumerate((0.2, -0.1, 0.6, 0.4)):
        x = decay * x + spread * noise[t]
        w = w * np.exp(-0.5 * ((y - x) / width) ** 2 - np.log(width))
        total = w.sum()
        likelihood = likelihood + np.log(total)
        w = w / total
        if 1 / np.sum(w**2) < 0.6 * 8:
            chosen = np.searchsorted(np.cumsum(w), (np.arange(8) + starts[t]) / 8)
            x, w = x[np.minimum(chosen, 7)], np.full(8, 1 / 8)
    return likelihood


def early_exercise(p: Any) -> Any:
    spot, strike, volatility = p
    z = np.random.default_rng(0).normal(size=(40, 4))
    s = spot * np.exp(np.cumsum((0.05 - 0.5 * volatility**2) * 0.25 + volatility * 0.5 * z, axis=1))
    cash = np.maximum(strike - s[:, -1], 0.0)
    for t in (2, 1, 0):
        cash = cash * np.exp(-0.0125)
        powers = np.stack([np.ones(40), s[:, t], s[:, t] ** 2], axis=1)
        now = strike - s[:, t]
        a = powers * (now > 0)[:, None]
        later = powers @ np.linalg.solve(a.T @ a + 1e-9 * np.eye(3), a.T @ cash)
        cash = np.where((now > 0) & (now > later), now, cash)
    return np.mean(cash)


def binomial_put(p: Any) -> Any:
    spot, strike, volatility = p
    steps, rate = 8, 0.05
    up = math.exp(volatility * math.sqrt(1 / steps))
    chance = (math.exp(rate / steps) - 1 / up) / (up - 1 / up)
    values = [max(strike - spot * up ** (2 * j - steps), 0.0) for j in range(steps + 1)]
    for k in range(steps - 1, -1, -1):
        for j in range(k + 1):
            hold = math.exp(-rate / steps) * (chance * values[j + 1] + (1 - chance) * values[j])
            exercised = strike - spot * up ** (2 * j - k)
            values[j] = max(hold, exercised)
    return values[0]


ROAD = np.stack([np.linspace(0.0, 5.0, 26), 0.5 * np.sin(np.linspace(0.0, 5.0, 26) / 1.5)])


class Car:
    """A bicycle model; its `update` writes to its attributes."""

    def __init__(self, y: Any, speed: Any) -> None:
        self.x, self.y, self.yaw, self.speed = 0.0, y, 0.1, speed

    def update(self, pedal: Any, steering: Any) -> None:
        steering = np.clip(steering, -0.5, 0.5)
        self.x += self.speed * np.cos(self.yaw) * 0.1
        self.y += self.speed * np.sin(self.yaw) * 0.1
        self.yaw = within_pi(self.yaw + self.speed / 2.9 * np.tan(steering) * 0.1)
        self.speed += pedal * 0.1


def within_pi(angle: Any) -> Any:
    if angle > np.pi:
        return angle - 2 * np.pi
    return angle + 2 * np.pi if angle < -np.pi else angle


def stanley_steering(p: Any) -> Any:
    gain, pedal, start = p
    car, cost = Car(start, 1.0), 0.0
    for _ in range(6):
        dx, dy = car.x + 2.9 * np.cos(car.yaw) - ROAD[0], car.y + 2.9 * np.sin(car.yaw) - ROAD[1]
        k = np.argmin(np.hypot(dx, dy))
        away = np.dot([dx[k], dy[k]], [np.sin(car.yaw), -np.cos(car.yaw)])
        turned = within_pi(np.arctan2(ROAD[1][min(k + 1, 25)] - ROAD[1][k], 0.2) - car.yaw)
        car.update(pedal * (2.0 - car.speed), turned + np.arctan2(gain * away, car.speed))
        cost += away**2
    return cost


TREE: Any = (0, 0.3, (1, -0.2, 1.0, 2.0), (2, 0.9, 3.0, (0, 2.0, 4.0, 5.0)))


def decision_tree(p: Any) -> Any:
    node = TREE
    while isinstance(node, tuple):
        feature, limit, left, right = node
        node = left if p[feature] < limit else right
    return node * np.sum(p**2)


PROGRAMS: dict[Function, list[list[float]]] = {
    hysteresis: [[0.1, 5.0, 15.0], [0.2, 8.0, 22.0], [0.05, 12.0, 20.0]],
    viterbi: [[0.8, 0.7, 0.05], [0.3, 0.6, 0.1], [0.5, 0.9, 0.2]],
    viterbi_of_dictionaries: [[0.8, 0.7, 0.3], [0.1, 3.0, 0.2], [4.0, 0.3, 0.1]],
    line_search: [[-1.0, 1.0, 0.1], [0.3, 0.2, 0.5], [1.5, 1.0, 0.02]],
    dynamic_window: [[1.0, 0.2, 0.8], [0.5, 1.0, 1.2], [2.0, 0.1, 0.5]],
    kalman_with_gaps: [[0.1, 0.2, 0.0], [0.5, 0.1, 1.0], [2.0, 20.0, 0.3]],
    particle_filter: [[0.9, 0.5, 0.3], [0.5, 1.5, 0.2], [0.7, 0.1, 1.0]],
    early_exercise: [[100.0, 105.0, 0.2], [95.0, 100.0, 0.3], [110.0, 101.0, 0.25]],
    binomial_put: [[36.1, 40.0, 0.2], [44.3, 40.0, 0.3], [31.7, 40.0, 0.25]],
    stanley_steering: [[0.5, 1.0, 0.83], [0.9, 0.4, -0.47], [0.3, 1.3, 0.21]],
    decision_tree: [[0.7, 0.1, 0.5], [0.1, -0.4, 0.5], [2.3, 0.1, 1.5]],
}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_the_file_of_a_program_gives_its_value_and_gradient(function: Function, tmp_path: Path) -> None:
    points = PROGRAMS[function]
    ps.export(function, np.array(points[0]), path=tmp_path / "program.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "program.onnx")
    for point in map(np.array, points):
        value, gradient = session.run(["y", "d_p"], {"p": point})
        np.testing.assert_allclose(value, function(point), rtol=1e-12)
        steps = 1e-6 * np.diag(np.maximum(1, np.abs(point)))
        expected = [(function(point + h) - function(point - h)) / (2 * np.sum(h)) for h in steps]
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
