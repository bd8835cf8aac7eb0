"""A choice that the run makes."""

import numpy as np


def price(x):
    total = np.sum(x)
    return total**3 if total > 1 else total**2


main, wrt = "price", "x"
specs = {"x": "f64[N]"}


def example_inputs():
    return (np.linspace(0, 1, 6),)
