"""Functions that are called on arrays."""

from typing import Any

import numpy as np


def square(x: Any) -> Any:
    return np.sum(x * x)


def weighed(x: Any, y: Any) -> Any:
    return np.sum(x * x * y)
