"""A transformer block before its layer norms, as users of NumPy, JAX and torch write it.

Width 256, 4 heads, 128 positions, batch 8, a perceptron four times as wide with GELU; the loss is half the mean square.
"""

from typing import Any

import numpy as np
from scipy import special

WIDTH, HEADS, LENGTH, BATCH = 256, 4, 128, 8
Arrays = dict[str, np.ndarray[Any, Any]]


def data() -> tuple[Arrays, Arrays]:
    """Parameters and a batch."""
    random = np.random.default_rng(0)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    params: Arrays = {}
    for name, (rows, columns) in shapes.items():
        params[f"{name}_w"] = (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
        params[f"{name}_b"] = np.zeros(columns, np.float32)
    for name in ("norm1", "norm2"):
        params[f"{name}_w"], params[f"{name}_b"] = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    return params, {"x": random.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)}


def block(xp: Any, erf: Any, p: dict[str, Any], x: Any) -> Any:
    """The loss, in NumPy's names."""

    def norm(x: Any, name: str) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.mean(centred * centred, axis=-1, keepdims=True)
        return centred / xp.sqrt(variance + 1e-5) * p[f"{name}_w"] + p[f"{name}_b"]

    def linear(x: Any, name: str) -> Any:
        return x @ p[f"{name}_w"] + p[f"{name}_b"]

    def attention(x: Any) -> Any:
        batch, length, width = x.shape
        heads = linear(x, "qkv").reshape(batch, length, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
        query, key, value = heads[0], heads[1], heads[2]
        scores = query @ key.swapaxes(-1, -2) / (width // HEADS) ** 0.5
        weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        weights = weights / xp.sum(weights, axis=-1, keepdims=True)
        return linear((weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, width), "out")

    x = x + attention(norm(x, "norm1"))
    hidden = linear(norm(x, "norm2"), "up")
    x = x + linear(0.5 * hidden * (1.0 + erf(hidden * 0.5**0.5)), "down")
    return 0.5 * xp.mean(x * x)


def in_numpy(p: dict[str, Any], x: Any) -> Any:
    """For primsplit."""
    return block(np, special.erf, p, x)


def in_jax(p: dict[str, Any], x: Any) -> Any:
    """The same program: XLA fuses what it likes."""
    import jax.numpy as jnp
    import jax.scipy.special

    return block(jnp, jax.scipy.special.erf, p, x)


def in_torch(p: dict[str, Any], x: Any) -> Any:
    """By torch's fused functions."""
    from torch.nn import functional

    def linear(x: Any, name: str) -> Any:
        return x @ p[f"{name}_w"] + p[f"{name}_b"]

    def norm(x: Any, name: str) -> Any:
        return functional.layer_norm(x, (WIDTH,), p[f"{name}_w"], p[f"{name}_b"])

    heads = linear(norm(x, "norm1"), "qkv").reshape(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
    mixed = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2])
    x = x + linear(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH), "out")
    x = x + linear(functional.gelu(linear(norm(x, "norm2"), "up")), "down")
    return 0.5 * (x * x).mean()
