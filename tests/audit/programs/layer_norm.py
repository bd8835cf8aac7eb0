"""Layer normalization."""

import numpy as np


def layer_norm(x, scale, shift):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    normalized = (x - mean) / np.sqrt(variance + 1e-5)
    return normalized * scale + shift


main, wrt = "layer_norm", ("x", "scale", "shift")
specs = {"x": "f64[N,6]", "scale": "f64[6]", "shift": "f64[6]"}


def example_inputs():
    random = np.random.default_rng(0)
    return tuple(random.normal(size=shape) for shape in ((5, 6), (6,), (6,)))
