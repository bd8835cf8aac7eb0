"""The damping ratio of a building's least damped vibration; the gradient tells where to put the dampers.

A shear building (Chopra, Dynamics of Structures, 4th ed., 2012, chapters 9 and 14): each floor is a mass, each storey a
spring and a damper between two floors. If the dampers are not proportional to the springs, the modes are the complex
eigenvalues w of the first-order system's matrix, and -Re(w) / |w| is a mode's damping ratio. The objective is a smooth
maximum of the negative ratios, so that the least damped modes count most.

The file takes `share`, `stiffness` and `total`, and gives `y` and `d_share`. The demo moves the same total of damping
to where it helps most, the second storey: the least damping ratio grows from 4.0 % to 4.6 %.
"""

import sys

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FLOORS = 4
SHARPNESS = 200.0
"""The weight of the least damped modes: the smooth maximum is at most log(2 FLOORS) / SHARPNESS too large."""

main = "poorest_damping"
wrt = ("share",)


def between_floors(storeys: Array) -> Array:
    """The matrix [n, n] of springs or dampers [n] between floors, the first between the ground and the first floor."""
    above = np.append(storeys[1:], 0.0)
    return np.diag(storeys + above) - np.diag(storeys[1:], 1) - np.diag(storeys[1:], -1)


def damping_ratios(damping: Array, stiffness: Array) -> Array:
    """The damping ratios [2 n] of the modes of floors of mass 1, each twice: w and its conjugate."""
    count = len(stiffness)
    motion = np.block(
        [[np.zeros((count, count)), np.eye(count)], [-between_floors(stiffness), -between_floors(damping)]]
    )
    w = np.linalg.eigvals(motion)
    return -w.real / np.abs(w)


def poorest_damping(share: Array, stiffness: Array, total: np.float64) -> np.float64:
    """A smooth maximum of the negative damping ratios, a scalar, for dampers `total` * softmax(`share`)."""
    weights = np.exp(share - np.max(share))
    ratios = damping_ratios(total * weights / np.sum(weights), stiffness)
    scaled = -SHARPNESS * ratios
    largest = np.max(scaled)
    value: np.float64 = (largest + np.log(np.sum(np.exp(scaled - largest)))) / SHARPNESS
    return value


def example_inputs() -> tuple[Array, Array, np.float64]:
    """Dampers alike in all storeys of a building that is softer higher up."""
    return np.zeros(FLOORS), np.linspace(1.0, 0.5, FLOORS), np.float64(0.8)


def demo(gradient_file: str = "damped_building.onnx") -> dict[str, float]:
    """Gradient descent from equal dampers: the least damping ratio before and after, and the largest damper's share."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file, providers=["CPUExecutionProvider"])
    share, stiffness, total = example_inputs()

    def least() -> float:
        weights = np.exp(share) / np.sum(np.exp(share))
        return float(np.min(damping_ratios(total * weights, stiffness)))

    first, mean = least(), np.zeros(FLOORS)
    for _ in range(60):
        _, slope = session.run(None, {"share": share, "stiffness": stiffness, "total": np.asarray(total)})
        mean = 0.8 * mean + slope
        share = share - 4.0 * mean
    return {
        "first_least_damping": first,
        "last_least_damping": least(),
        "largest_share": float(np.max(np.exp(share) / np.sum(np.exp(share)))),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
