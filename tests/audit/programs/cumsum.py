"""A sum up to each day."""

import numpy as np


def balances(payments, rate):
    return rate * np.cumsum(payments)


main, wrt = "balances", ("payments", "rate")
specs = {"payments": "f64[N]", "rate": "f64"}


def example_inputs():
    return np.linspace(-1, 2, 7), np.float64(1.5)
