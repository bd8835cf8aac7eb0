"""The distance of a six-joint robot arm's tool from its targets; the gradient by the joint angles gives the angles.

The arm is Universal Robots' UR5 (third series) with the Denavit-Hartenberg parameters of its maker's manual. Each joint
turns the frame of the link before it about its z axis, shifts it along z and x and tilts it about x (Spong, Hutchinson
and Vidyasagar, Robot Modeling and Control, 2006, eq. 3.10).

The file takes `angles` and `targets`, and gives the distance `y` and `d_angles`. The demo prints that the tools, up to
1.26 m away at first, end on their targets to 1e-12 m.
"""

import sys

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

OFFSETS = (0.089159, 0.0, 0.0, 0.10915, 0.09465, 0.0823)  # metres along z
LENGTHS = (0.0, -0.425, -0.39225, 0.0, 0.0, 0.0)  # metres along x
TWISTS = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)  # radians about x

main = "miss"
wrt = ("angles",)


def tool_position(angles: Array) -> Array:
    """Positions [N, 3] of the tool, in metres from the base, for joint angles [N, 6] in radians."""
    origin = np.zeros_like(angles[:, :3])
    x, y, z = (origin + axis for axis in np.eye(3))
    position = origin
    for joint, (offset, length, twist) in enumerate(zip(OFFSETS, LENGTHS, TWISTS, strict=True)):
        cosine, sine = np.cos(angles[:, joint, None]), np.sin(angles[:, joint, None])
        x, turned = cosine * x + sine * y, cosine * y - sine * x
        position = position + offset * z + length * x
        y, z = np.cos(twist) * turned + np.sin(twist) * z, np.cos(twist) * z - np.sin(twist) * turned
    return position


def miss(angles: Array, targets: Array) -> np.float64:
    """Half the sum of the squared distances, a scalar, of the tools at angles [N, 6] from targets [N, 3]."""
    return 0.5 * np.sum((tool_position(angles) - targets) ** 2)


def example_inputs() -> tuple[Array, Array]:
    """Sixteen reachable targets, and the arm half bent before each."""
    generator = np.random.default_rng(0)
    targets = tool_position(generator.uniform(-np.pi, np.pi, (16, 6)))
    home = np.array([0.3, -1.2, 1.4, -0.9, -1.3, 0.2])
    return home + generator.normal(0.0, 0.1, (16, 6)), targets


def demo(gradient_file: str = "inverse_kinematics.onnx", *, steps: int = 800) -> dict[str, float]:
    """Reach all targets by Adam with a shrinking rate; miss and gradient come from the file alone."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file)
    angles, targets = example_inputs()
    first = np.linalg.norm(tool_position(angles) - targets, axis=1)
    mean, square = np.zeros_like(angles), np.zeros_like(angles)
    for step in range(1, steps + 1):
        _, gradient = session.run(["y", "d_angles"], {"angles": angles, "targets": targets})
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        root = np.sqrt(square / (1 - 0.99**step)) + 1e-8
        angles = angles - 0.1 * (1 - step / (steps + 1)) * mean / (1 - 0.9**step) / root
    last = np.linalg.norm(tool_position(angles) - targets, axis=1)
    return {"first_distance": float(first.max()), "last_distance": float(last.max())}


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
