"""Inputs for the definitions' tests: numbers that a test module draws one after the other."""

from collections.abc import Callable

import numpy as np


def drawing(rng: np.random.Generator, dtype: str = "float32") -> Callable[..., np.ndarray]:
    """A function that draws an array of this dtype, normally distributed, of the shape that it is called with."""

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(dtype)

    return draw
