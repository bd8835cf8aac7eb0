"""A recurrence whose steps are collected."""

import numpy as np

import primsplit as ps


def total(w, h, xs):
    def step(h, x):
        h = np.tanh(w * h + x)
        return h, h * x

    h, ys = ps.scan(step, h, xs)
    return h + ys.sum()


main, wrt = "total", ("w", "h", "xs")
specs = {"w": "f64[]", "h": "f64[]", "xs": "f64[T]"}


def example_inputs():
    return np.array(0.5), np.array(0.3), np.linspace(0, 1, 6)
