"""A small network of convolutions as users of primsplit, JAX and torch write it: NumPy itself has no convolution.

Three 3x3 convolutions with 16, 32 and 64 channels, each with ReLU and 2x2 max pooling, a linear layer and cross
entropy; 32 pictures of 3 x 32 x 32.
"""

import itertools
from typing import Any

import numpy as np

CHANNELS, BATCH, SIZE, CLASSES = (3, 16, 32, 64), 32, 32, 10
Arrays = dict[str, np.ndarray[Any, Any]]


def data() -> tuple[Arrays, Arrays]:
    """Parameters and a batch."""
    random = np.random.default_rng(0)
    params: Arrays = {}
    for layer, (before, after) in enumerate(itertools.pairwise(CHANNELS)):
        params[f"w{layer}"] = (random.standard_normal((after, before, 3, 3)) / np.sqrt(9 * before)).astype(np.float32)
        params[f"b{layer}"] = np.zeros(after, np.float32)
    inner = CHANNELS[-1] * (SIZE // 8) ** 2
    params["w"] = (random.standard_normal((inner, CLASSES)) / np.sqrt(inner)).astype(np.float32)
    params["b"] = np.zeros(CLASSES, np.float32)
    images = random.standard_normal((BATCH, CHANNELS[0], SIZE, SIZE)).astype(np.float32)
    return params, {"images": images, "targets": np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, BATCH)]}


def network(xp: Any, layer: Any, p: dict[str, Any], images: Any, targets: Any) -> Any:
    """The loss, in NumPy's names; `layer` is convolution and pooling."""
    x = images
    for index in range(len(CHANNELS) - 1):
        x = layer(x, p[f"w{index}"], p[f"b{index}"])
    logits = x.reshape(BATCH, -1) @ p["w"] + p["b"]
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(shifted), axis=1)) - xp.sum(shifted * targets, axis=1))


def in_numpy(p: dict[str, Any], images: Any, targets: Any) -> Any:
    """For primsplit: ONNX's operators where NumPy has none."""
    from primsplit.ops import op

    def layer(x: Any, w: Any, b: Any) -> Any:
        return op.MaxPool(op.Relu(op.Conv(x, w, b, pads=[1, 1, 1, 1])), kernel_shape=[2, 2], strides=[2, 2])

    return network(np, layer, p, images, targets)


def in_jax(p: dict[str, Any], images: Any, targets: Any) -> Any:
    """By jax.lax."""
    import jax
    import jax.numpy as jnp

    def layer(x: Any, w: Any, b: Any) -> Any:
        x = jax.nn.relu(jax.lax.conv(x, w, (1, 1), "SAME") + b[:, None, None])
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    return network(jnp, layer, p, images, targets)


def in_torch(p: dict[str, Any], images: Any, targets: Any) -> Any:
    """By torch's functions."""
    from torch.nn import functional

    x = images
    for index in range(len(CHANNELS) - 1):
        x = functional.max_pool2d(functional.conv2d(x, p[f"w{index}"], p[f"b{index}"], padding=1).relu(), 2)
    return functional.cross_entropy(x.reshape(BATCH, -1) @ p["w"] + p["b"], targets)
