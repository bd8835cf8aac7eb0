"""Misfit of a plate's measured temperatures; the gradient by the conductivity of each cell finds what is inside of it.

Finite volumes with explicit steps (LeVeque, Finite Difference Methods for Ordinary and Partial Differential Equations,
2007, section 9.2): a cell gains what flows in from its four neighbours, through faces that conduct like the mean of the
two cells; nothing flows through the rim. The stencil is a loop nest, in which `clamp` keeps an index inside.

The file takes `log_conductivity`, `start` and `measured`, and gives the misfit `y` and `d_log_conductivity`. The demo
prints a misfit that falls from 1.8e-3 to 3e-10; no cell's conductivity, 0.03 to 0.2, is off by more than 0.004.
"""

import functools
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SIDE, STEPS, PICTURES = 12, 30, 4

main = "misfit"
wrt = ("log_conductivity",)

STENCIL = """
    v[b,i,j] := u[b,i,j] + 0.5 * (
        (c[i,j] + c[clamp(i+1),j]) * (u[b,clamp(i+1),j] - u[b,i,j])
      + (c[i,j] + c[clamp(i-1),j]) * (u[b,clamp(i-1),j] - u[b,i,j])
      + (c[i,j] + c[i,clamp(j+1)]) * (u[b,i,clamp(j+1)] - u[b,i,j])
      + (c[i,j] + c[i,clamp(j-1)]) * (u[b,i,clamp(j-1)] - u[b,i,j])
    )
"""


@functools.cache
def stencil() -> Any:
    """The loop nest of a step, made once: it keeps what it was compiled to."""
    import primsplit as ps

    return ps.loops(STENCIL, name="step")


def temperatures(log_conductivity: Array, start: Array) -> Array:
    """Temperatures [B, H, W] after STEPS steps from those of B experiments; the conductivity [H, W] is below 1/4."""
    import primsplit as ps

    step = stencil()
    conductivity = np.exp(log_conductivity)
    found: Array = ps.scan(lambda u, _: (step(u, conductivity), None), start, np.zeros(STEPS))[0]
    return found


def misfit(log_conductivity: Array, start: Array, measured: Array) -> np.float64:
    """The mean squared error, a scalar, of the temperatures [B, H, W] that the conductivity [H, W] predicts."""
    value: np.float64 = ((temperatures(log_conductivity, start) - measured) ** 2).mean()
    return value


def plate() -> tuple[Array, Array]:
    """The logarithm of the true conductivity, with a bad conductor inside, and the experiments' first temperatures."""
    row, column = np.mgrid[:SIDE, :SIDE]
    inside = np.hypot(row - 4, column - 7) < 3
    halves = [row < SIDE // 2, column < SIDE // 2, (row + column) % 6 < 3, (row - column) % 6 < 3]
    return np.log(np.where(inside, 0.03, 0.2)), np.stack(halves).astype(np.float64)


def measured_by_hand(log_conductivity: Array, start: Array) -> Array:
    """The same steps in NumPy, which made the measurements."""
    conductivity, u = np.exp(log_conductivity), start
    for _ in range(STEPS):
        across = 0.5 * (conductivity[1:] + conductivity[:-1]) * np.diff(u, axis=1)
        along = 0.5 * (conductivity[:, 1:] + conductivity[:, :-1]) * np.diff(u, axis=2)
        gain = np.zeros_like(u)
        gain[:, :-1] += across
        gain[:, 1:] -= across
        gain[:, :, :-1] += along
        gain[:, :, 1:] -= along
        u = u + gain
    return u


def example_inputs() -> tuple[Array, Array, Array]:
    """A guess that is the same everywhere, and what was measured of the true plate."""
    truth, start = plate()
    return np.full((SIDE, SIDE), np.log(0.1)), start, measured_by_hand(truth, start)


def demo(gradient_file: str = "heat_conduction.onnx") -> dict[str, float]:
    """Adam from the even guess: how well the measurements are met, and how far each cell is from the truth."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file, providers=["CPUExecutionProvider"])
    truth, _ = plate()
    guess, start, measured = example_inputs()
    first_error = float(np.abs(np.exp(guess) - np.exp(truth)).max())
    mean, square, first = np.zeros_like(guess), np.zeros_like(guess), 0.0
    for step in range(1, 1001):
        value, slope = session.run(None, {"log_conductivity": guess, "start": start, "measured": measured})
        first = first or float(value)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = 0.05 * 0.5 ** (step // 250)
        guess = guess - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-12)
    return {
        "first_misfit": first,
        "last_misfit": float(value),
        "first_error": first_error,
        "largest_error": float(np.abs(np.exp(guess) - np.exp(truth)).max()),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
