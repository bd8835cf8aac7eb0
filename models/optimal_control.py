"""Cost of swinging a pendulum up with a motor too weak to lift it; the gradient by the torques finds the swing.

mass length^2 angle'' = torque - damping angle' - mass gravity length sin(angle), the angle measured from hanging down,
integrated by steps of the classical Runge-Kutta method, each under a constant torque (direct single shooting: Betts,
Practical Methods for Optimal Control, 2nd edition, chapter 3). The step is recorded once, for any number of them.

The file takes `commands`, `pendulum.mass` and the other constants, `start.0` and `start.1` (angle and speed) and
`interval`, and gives the cost `y` and `d_commands`. The demo prints a cost that falls from 20.9 to 0.614, and a
pendulum that ends 0.5 degrees from upright, at rest.
"""

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

STEPS = 50

main = "cost"
wrt = ("commands",)
specs = {"commands": "[N]"}


@dataclass
class Pendulum:
    """A rod's and its motor's constants, scalars [] each."""

    mass: Array  # kilograms
    length: Array  # metres
    damping: Array  # newton metre seconds
    torque_limit: Array  # newton metres


def acceleration(pendulum: Pendulum, angle: Array, speed: Array, torque: Array) -> Array:
    """Angular acceleration, radians a second squared."""
    weight = 9.81 * pendulum.mass * pendulum.length * np.sin(angle)
    return (torque - pendulum.damping * speed - weight) / (pendulum.mass * pendulum.length**2)


def runge_kutta(pendulum: Pendulum, angle: Array, speed: Array, torque: Array, interval: Array) -> tuple[Array, Array]:
    """Angle and speed after one interval."""
    a1 = acceleration(pendulum, angle, speed, torque)
    v2 = speed + 0.5 * interval * a1
    a2 = acceleration(pendulum, angle + 0.5 * interval * speed, v2, torque)
    v3 = speed + 0.5 * interval * a2
    a3 = acceleration(pendulum, angle + 0.5 * interval * v2, v3, torque)
    v4 = speed + interval * a3
    a4 = acceleration(pendulum, angle + interval * v3, v4, torque)
    angle = angle + interval * (speed + 2.0 * v2 + 2.0 * v3 + v4) / 6.0
    return angle, speed + interval * (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0


def cost(commands: Array, pendulum: Pendulum, start: tuple[Array, Array], interval: Array) -> Array:
    """Return the cost of a swing, a scalar.

    It is the distance from rest upright at the end, and a little for height and torque before. commands [N] are
    squashed into the motor's range; start is angle [] and speed []; interval [] is in seconds.
    """
    import primsplit as ps

    torques = pendulum.torque_limit * np.tanh(commands)

    def step(state: tuple[Array, Array], torque: Array) -> tuple[tuple[Array, Array], Array]:
        angle, speed = runge_kutta(pendulum, *state, torque, interval)
        return (angle, speed), np.cos(angle)

    (angle, speed), heights = ps.scan(step, start, torques)
    running: Array = interval * (0.001 * np.sum(torques**2) + 0.1 * np.sum(1.0 + heights))
    final: Array = 10.0 * (1.0 + np.cos(angle)) + 0.5 * speed**2
    return running + final


def example_inputs() -> tuple[Array, Pendulum, tuple[Array, Array], Array]:
    """A kilogram on a metre hanging at rest, a motor of half the torque that holds it level, and a faint swing."""
    commands = np.random.default_rng(0).normal(0.0, 0.3, STEPS)
    pendulum = Pendulum(np.array(1.0), np.array(1.0), np.array(0.1), np.array(5.0))
    return commands, pendulum, (np.array(0.0), np.array(0.0)), np.array(0.08)


def demo(gradient_file: str = "optimal_control.onnx", *, steps: int = 400, rate: float = 0.05) -> dict[str, float]:
    """Find the swing with Adam (Kingma and Ba, 2015, algorithm 1); cost and gradient come from the file alone."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file)
    commands, pendulum, (angle, speed), interval = example_inputs()
    feed = {f"pendulum.{name}": value for name, value in vars(pendulum).items()}
    feed |= {"start.0": angle, "start.1": speed, "interval": interval}
    mean, square, costs = np.zeros_like(commands), np.zeros_like(commands), []
    for step in range(1, steps + 1):
        value, gradient = session.run(["y", "d_commands"], {**feed, "commands": commands})
        costs.append(float(value))
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        root = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        commands = commands - rate * mean / (1 - 0.9**step) / root
    for torque in pendulum.torque_limit * np.tanh(commands):
        angle, speed = runge_kutta(pendulum, angle, speed, torque, interval)
    return {
        "first_cost": costs[0],
        "last_cost": costs[-1],
        "degrees_from_upright": float(np.degrees(np.arccos(-np.cos(angle)))),
        "last_speed": float(speed),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
