"""Rows of a table."""

import numpy as np


def rows(table, words):
    return table[words]


main, wrt = "rows", "table"
specs = {"table": "f64[V,3]", "words": "i64[N]"}


def example_inputs():
    return np.random.default_rng(0).normal(size=(6, 3)), np.array([1, 5, 1, 0])
