"""The variance of rows."""

import numpy as np


def spread(x):
    return np.var(x, axis=1)


main, wrt = "spread", "x"
specs = {"x": "f64[N,K]"}


def example_inputs():
    return (np.random.default_rng(0).normal(size=(5, 3)),)
