"""Energy of a cluster of Lennard-Jones atoms; its negative gradient is the force on each atom.

V(r) = 4 (r^-12 - r^-6) a pair, in reduced units (Allen and Tildesley, Computer Simulation of Liquids, 2nd edition,
chapter 1). The example is the 13-atom icosahedron, whose energy at rest is -44.326801 (Wales and Doye, J. Phys. Chem. A
101, 5111, 1997, table 1).

The file takes `positions`, and gives the energy `y` and `d_positions`, minus the forces. The demo prints an energy that
2000 steps keep to 4e-4, and a relaxed one of -44.32680142.
"""

import sys

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

main = "energy"
wrt = ("positions",)


def energy(positions: Array) -> np.float64:
    """Total potential energy, a scalar, of atoms at positions [N, 3], in units of the well depth and diameter."""
    apart = positions[:, None, :] - positions[None, :, :]
    square_distance = np.sum(apart**2, axis=-1)
    other = square_distance > 0
    inverse_square = np.where(other, 1.0 / np.where(other, square_distance, 1.0), 0.0)
    attraction = inverse_square**3
    total: np.float64 = 2.0 * np.sum(attraction**2 - attraction)
    return total


def icosahedron() -> Array:
    """One atom at the centre of twelve, [13, 3], at about the distance of least energy."""
    golden = (1 + np.sqrt(5)) / 2
    corners = [(0.0, sign, other * golden) for sign in (-1, 1) for other in (-1, 1)]
    shell = np.array([np.roll(corner, shift) for shift in range(3) for corner in corners])
    return np.concatenate([np.zeros((1, 3)), 1.08 * shell / np.sqrt(1 + golden**2)])


def example_inputs() -> tuple[Array]:
    """The icosahedron with every atom displaced a little."""
    return (icosahedron() + np.random.default_rng(0).normal(0.0, 0.03, (13, 3)),)


def demo(gradient_file: str = "lennard_jones.onnx", *, steps: int = 2000, time_step: float = 0.002) -> dict[str, float]:
    """Molecular dynamics by velocity Verlet (Swope et al., 1982), then relaxation; forces come from the file alone."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file)

    def energy_and_force(positions: Array) -> tuple[float, Array]:
        value, gradient = session.run(["y", "d_positions"], {"positions": positions})
        return float(value), -gradient

    (positions,) = example_inputs()
    potential, force = energy_and_force(positions)
    velocities = np.random.default_rng(1).normal(0.0, 0.3, positions.shape)
    velocities -= velocities.mean(axis=0)
    totals = []
    for _ in range(steps):
        velocities = velocities + 0.5 * time_step * force
        positions = positions + time_step * velocities
        potential, force = energy_and_force(positions)
        velocities = velocities + 0.5 * time_step * force
        totals.append(potential + 0.5 * (velocities**2).sum())
    largest_momentum = np.abs(velocities.sum(axis=0)).max()
    for _ in range(1000):
        positions = positions + 0.002 * force
        potential, force = energy_and_force(positions)
    return {
        "total_energy": float(totals[0]),
        "largest_energy_error": float(np.abs(np.array(totals) - totals[0]).max()),
        "largest_momentum": float(largest_momentum),
        "relaxed_energy": potential,
        "largest_force": float(np.abs(force).max()),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
