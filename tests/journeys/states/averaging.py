"""A function with two states, for tests."""

from typing import Any

import numpy as np

import primsplit as ps

Array = np.ndarray[Any, Any]
X = np.array([1.0, 2.0, 3.0])


class Averaging:
    """A function with two states: how often it was called, and a mean that forgets."""

    def __init__(self) -> None:
        self.calls = ps.state("calls", 0)
        self.mean = ps.state("mean", np.zeros(3))

    def __call__(self, x: Array) -> Any:
        self.calls[...] = self.calls + 1
        self.mean[...] = 0.5 * self.mean + 0.5 * x
        return np.sum((x - self.mean) ** 2)

    def values(self) -> tuple[int, list[float]]:
        return int(self.calls), np.asarray(self.mean).tolist()
