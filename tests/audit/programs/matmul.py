"""Products of a batch of matrices and one matrix."""

import numpy as np


def products(a, b):
    return a @ b


main, wrt = "products", ("a", "b")
specs = {"a": "f64[B,N,3]", "b": "f64[3,4]"}


def example_inputs():
    random = np.random.default_rng(0)
    return random.normal(size=(2, 5, 3)), random.normal(size=(3, 4))
