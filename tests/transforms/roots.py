"""Functions of one number that are smooth at 0 but written with a root, and their slopes there."""

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


def times_sine(r: Any) -> Any:
    return r * np.sin(r)


FIRST: dict[str, tuple[Function, float]] = {
    "sqrt(x)**2": (lambda x: np.sqrt(x) ** 2, 1.0),
    "sqrt(x)**4": (lambda x: np.sqrt(x) ** 4, 0.0),
    "a product of two roots written twice": (lambda x: np.sqrt(x) * np.sqrt(x), 1.0),
    "(x**0.5)**2": (lambda x: (x**0.5) ** 2, 1.0),
    "cos(sqrt(x))": (lambda x: np.cos(np.sqrt(x)), -0.5),
    "cos(3 sqrt(x))": (lambda x: np.cos(3.0 * np.sqrt(x)), -4.5),
    "cosh(sqrt(x))": (lambda x: np.cosh(np.sqrt(x)), 0.5),
    "sqrt(x) sin(sqrt(x))": (lambda x: times_sine(np.sqrt(x)), 1.0),
    "exp(-sqrt(x)**2)": (lambda x: np.exp(-(np.sqrt(x) ** 2)), -1.0),
    "x sqrt(x)": (lambda x: x * np.sqrt(x), 0.0),
    "cbrt(x)**3": (lambda x: np.cbrt(x) ** 3, 1.0),
    "cbrt(x)**4": (lambda x: np.cbrt(x) ** 4, 0.0),
    "sign(x) |x|": (lambda x: np.sign(x) * np.abs(x), 1.0),
    "|x| sign(x)": (lambda x: np.abs(x) * np.sign(x), 1.0),
    "sign(x) log1p(|x|)": (lambda x: np.sign(x) * np.log1p(np.abs(x)), 1.0),
    "sign(x) (exp(|x|) - 1)": (lambda x: np.sign(x) * (np.exp(np.abs(x)) - 1), 1.0),
    "sign(x) tanh(2 |x|) - x": (lambda x: np.sign(x) * np.tanh(2 * np.abs(x)) - x, 1.0),
    "sign(x) sqrt(|x|)**2": (lambda x: np.sign(x) * np.sqrt(np.abs(x)) ** 2, 1.0),
    "copysign(|x|, x)": (lambda x: np.copysign(np.abs(x), x), 1.0),
    "copysign(1, x) log1p(|x|)": (lambda x: np.copysign(1.0, x) * np.log1p(np.abs(x)), 1.0),
    "sign(x) |x|**1.5": (lambda x: np.sign(x) * np.abs(x) ** 1.5, 0.0),
    "||x||": (lambda x: np.abs(np.abs(x)), 0.0),
}
