"""A block of a transformer: attention with two heads and a mask, and a layer of two matrices, each after a norm."""

import numpy as np

HEADS = 2


def layer_norm(x, scale, shift):
    apart = x - np.mean(x, axis=-1, keepdims=True)
    normalized = apart / np.sqrt(np.mean(apart**2, axis=-1, keepdims=True) + 1e-5)
    return normalized * scale + shift


def softmax(z):
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def heads(x):
    rows, width = x.shape
    return x.reshape(rows, HEADS, width // HEADS).transpose(1, 0, 2)


def attention(x, p):
    q = heads(x @ p["w_q"])
    k = heads(x @ p["w_k"])
    v = heads(x @ p["w_v"])
    later = np.tril(np.ones((len(x), len(x)), "f")) == 0
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(q.shape[-1])) - np.float32(1e9) * later
    mixed = softmax(scores) @ v
    return mixed.transpose(1, 0, 2).reshape(x.shape) @ p["w_out"]


def block(p, x):
    before = layer_norm(x, p["scale1"], p["shift1"])
    attended = x + attention(before, p)
    between = layer_norm(attended, p["scale2"], p["shift2"])
    hidden = np.maximum(between @ p["w1"] + p["b1"], 0)
    return attended + hidden @ p["w2"] + p["b2"]


main, wrt = "block", "p"


def example_inputs():
    random = np.random.default_rng(0)
    shapes = {
        "w_q": (6, 6),
        "w_k": (6, 6),
        "w_v": (6, 6),
        "w_out": (6, 6),
        "w1": (6, 8),
        "b1": 8,
        "w2": (8, 6),
        "b2": 6,
    }
    shapes |= {"scale1": 6, "shift1": 6, "scale2": 6, "shift2": 6}
    p = {name: random.normal(size=shape).astype("f") for name, shape in shapes.items()}
    return p, random.normal(size=(5, 6)).astype("f")
