"""Cross-entropy of a perceptron with one hidden layer, and its gradient by the four weights.

    primsplit export perceptron.py --onnx perceptron.onnx
    primsplit check perceptron.py
    primsplit audit perceptron.py

The functions are plain NumPy. `wrt` names the arguments to differentiate by. `specs` gives the dtypes and the shapes;
N is a size that is known only at run time. `example_inputs` gives arrays to check the file with.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

main = "loss"
wrt = ("w", "b", "v", "c")
specs = {"w": "f32[4,8]", "b": "f32[8]", "v": "f32[8,3]", "c": "f32[3]", "rows": "f32[N,4]", "classes": "f32[N,3]"}


def log_softmax(z: Array) -> Array:
    """Logarithms of the probabilities [N, 3] of three classes."""
    shifted = z - np.max(z, axis=1, keepdims=True)
    logarithms: Array = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return logarithms


def loss(w: Array, b: Array, v: Array, c: Array, rows: Array, classes: Array) -> Array:
    """Mean cross-entropy of N `rows`, whose `classes` are one-hot."""
    hidden = np.tanh(rows @ w + b)
    mean: Array = -np.mean(np.sum(classes * log_softmax(hidden @ v + c), axis=1))
    return mean


def example_inputs() -> tuple[Array, ...]:
    """Weights and ten rows, drawn with a fixed seed."""
    random = np.random.default_rng(0)
    shapes = (4, 8), (8,), (8, 3), (3,), (10, 4)
    drawn = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    classes = np.eye(3, dtype=np.float32)[random.integers(3, size=10)]
    return *drawn, classes
