"""A classifier of one hidden layer, with a softmax of the user's own."""

import numpy as np


def softmax(z):
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    total = np.sum(e, axis=1, keepdims=True)
    return e / total


def loss(params, x, target):
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    logits = hidden @ params["w2"] + params["b2"]
    p = softmax(logits)
    return -np.mean(np.sum(target * np.log(p), axis=1))


main, wrt = "loss", "params"
SHAPES = {"w1": [5, 4], "b1": [4], "w2": [4, 3], "b2": [3]}
specs = {f"params.{name}": f"f32{shape}" for name, shape in SHAPES.items()} | {"x": "f32[N,5]", "target": "f32[N,3]"}


def example_inputs():
    random = np.random.default_rng(0)
    params = {name: random.normal(size=shape).astype("f") for name, shape in SHAPES.items()}
    return params, random.normal(size=(6, 5)).astype("f"), np.eye(3, dtype="f")[random.integers(0, 3, 6)]
