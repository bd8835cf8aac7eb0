"""A layer with tanh."""

import numpy as np


def layer(x, w, b):
    return np.tanh(x @ w + b)


main, wrt = "layer", ("x", "w", "b")
specs = {"x": "f64[N,3]", "w": "f64[3,4]", "b": "f64[4]"}


def example_inputs():
    random = np.random.default_rng(0)
    return tuple(random.normal(size=shape) for shape in ((5, 3), (3, 4), (4,)))
