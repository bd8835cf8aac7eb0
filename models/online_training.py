"""A training step as one file: a classifier that learns from a stream of handwritten digits.

The step takes a few images and their labels. It standardizes the pixels by the running mean and deviation of all images
so far (Welford's update in the form for batches of Chan, Golub and LeVeque, The American Statistician 37, 1983, eq.
1.5), tells how many of the new images the network gets right before it has learned from them, and then makes one step
of Adam (Kingma and Ba, 2015, algorithm 1) along the gradient of the cross-entropy. What it keeps from step to step are
states: the weights, Adam's moments, the statistics and the counts. Whoever runs the file hands them from each run to
the next, in any language, and learns on the device.

The file takes `images`, `labels` and the states `state.weights.w1.in` and so on, and gives `y0`, the loss, `y1`, how
many guesses were right, and the states to go on with. The demo prints 68 % right guesses at first and 97.9 % in the
second round.
"""

import base64
import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

DATA = Path(__file__).with_name("data") / "digits.npz"
BATCH, HIDDEN = 16, 32
RATE, DECAY, SQUARE_DECAY, FLOOR = 0.01, 0.9, 0.999, 1e-8

main = "step"
mode = "value"


@functools.cache
def memory() -> Any:
    """The states: weights, the moments of their gradients, and the statistics of the pixels."""
    import primsplit as ps

    generator = np.random.default_rng(0)
    weights = {
        "w1": generator.normal(0.0, 64**-0.5, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": generator.normal(0.0, HIDDEN**-0.5, (HIDDEN, 10)),
        "b2": np.zeros(10),
    }
    zeros = {name: np.zeros_like(w) for name, w in weights.items()}
    statistics = {"count": np.zeros(()), "mean": np.zeros(64), "squares": np.zeros(64)}
    return (
        ps.state("weights", weights),
        ps.state("adam", {"steps": np.zeros(()), "mean": zeros, "square": zeros}),
        ps.state("pixels", statistics),
    )


def loss(weights: Any, inputs: Array, labels: Labels) -> tuple[Any, Any]:
    """The cross-entropy of a perceptron for standardized images, and the number of right guesses."""
    z = np.tanh(inputs @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
    z = z - np.max(z, axis=1, keepdims=True)
    log_probabilities = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    right = np.sum(np.argmax(z, axis=1) == labels)
    return -np.mean(np.take_along_axis(log_probabilities, labels[:, None], axis=1)), right


@functools.cache
def loss_and_gradient() -> Any:
    """`loss` with its gradient in the weights, made once: it keeps what it was compiled to."""
    import primsplit as ps

    return ps.value_and_grad(loss, wrt=0, has_aux=True)


def step(images: Array, labels: Labels) -> tuple[Any, Any]:
    """Learn from images [N, 64] and labels [N] in 0..9; return the loss and the number of right guesses before."""
    weights, adam, statistics = memory()
    (value, right), gradient = loss_and_gradient()(weights, standardized(images, statistics), labels)
    adam["steps"][...] = adam["steps"] + 1.0
    for name, slope in gradient.items():
        mean, square = adam["mean"][name], adam["square"][name]
        mean[...] = DECAY * mean + (1.0 - DECAY) * slope
        square[...] = SQUARE_DECAY * square + (1.0 - SQUARE_DECAY) * slope**2
        unbiased = np.sqrt(square / (1.0 - SQUARE_DECAY ** adam["steps"])) + FLOOR
        weights[name][...] = weights[name] - RATE * mean / (1.0 - DECAY ** adam["steps"]) / unbiased
    return value, right


def standardized(images: Array, statistics: Any) -> Array:
    """The images in deviations from the mean of all so far, these included."""
    count, mean, squares = statistics["count"], statistics["mean"], statistics["squares"]
    number = 1.0 * images.shape[0]
    total = count + number
    batch_mean = np.mean(images, axis=0)
    apart = batch_mean - mean
    squares[...] = squares + np.sum((images - batch_mean) ** 2, axis=0) + apart**2 * count * number / total
    mean[...] = mean + apart * number / total
    count[...] = total
    found: Array = (images - mean) / np.sqrt(squares / count + 0.01)
    return found


def load_stream() -> tuple[Array, Labels]:
    """The 1797 digits of UCI, pixels scaled to 0..1, in an order that was drawn once."""
    with np.load(DATA) as data:
        images, labels = data["images"] / 16.0, data["labels"].astype(np.int64)
    order = np.random.default_rng(1).permutation(labels.size)
    return images[order], labels[order]


def example_inputs() -> tuple[Array, Labels]:
    """The first images of the stream. The states are made here, before the step is traced."""
    memory()
    images, labels = load_stream()
    return images[:BATCH], labels[:BATCH]


def first_values(session: Any) -> dict[str, Array]:
    """Return the initial values of the file's states, by the names of inputs."""
    rows = json.loads(session.get_modelmeta().custom_metadata_map["primsplit.states"])
    shapes = {i.name: i.shape for i in session.get_inputs()}
    found = {}
    for row in rows:
        told, shape = row["initial"], shapes[row["in"]]
        is_bytes = isinstance(told, str)
        array = np.frombuffer(base64.b64decode(told), "<f8").reshape(shape) if is_bytes else np.full(shape, told)
        found[row["in"]] = array.astype(np.float64)
    return found


def demo(step_file: str = "online_training.onnx", *, epochs: int = 2) -> dict[str, float]:
    """Learn from the stream, each image seen once an epoch; the file makes the whole step, and Python hands on."""
    import onnxruntime

    session = onnxruntime.InferenceSession(step_file)
    outputs = [o.name for o in session.get_outputs()]
    images, labels = load_stream()
    states = first_values(session)
    losses, right = [], []
    for _ in range(epochs):
        for start in range(0, labels.size - BATCH + 1, BATCH):
            rows = slice(start, start + BATCH)
            feed = {"images": images[rows], "labels": labels[rows], **states}
            found = dict(zip(outputs, session.run(None, feed), strict=True))
            states = {name: found[name.replace(".in", ".out")] for name in states}
            losses.append(float(found["y0"]))
            right.append(int(found["y1"]))
    batches = len(right) // epochs
    return {
        "first_loss": losses[0],
        "last_loss": float(np.mean(losses[-20:])),
        "right_at_first": sum(right[:20]) / (20 * BATCH),
        "right_in_second_half": sum(right[batches // 2 : batches]) / ((batches - batches // 2) * BATCH),
        "right_in_last_epoch": sum(right[-batches:]) / (batches * BATCH),
        "steps": float(states["state.adam.steps.in"]),
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
