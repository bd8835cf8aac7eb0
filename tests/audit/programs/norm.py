"""Vectors of length 1."""

import numpy as np


def unit(x):
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / length


main, wrt = "unit", "x"
specs = {"x": "f64[N,3]"}


def example_inputs():
    return (np.random.default_rng(0).normal(size=(5, 3)),)
