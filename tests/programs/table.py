"""The table of programs: plain NumPy functions as their authors write them, and the arguments they are tried at."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """A program: its arguments, what `check_grads` is told of it, and whether its float32 form is tried too."""

    function: Function
    arguments: tuple[Any, ...]
    single: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.__name__


class Table(list[Row]):
    """The rows of one theme."""

    def program(self, *arguments: Any, single: bool = True, **options: Any) -> Callable[[Function], Function]:
        """Add the decorated function; a tuple among the arguments stands for normal numbers of that shape."""

        def add(function: Function) -> Function:
            random = np.random.default_rng(len(self))
            given = tuple(normal(random, a) if _is_shape(a) else a for a in arguments)
            self.append(Row(function, given, single, options))
            return function

        return add


def _is_shape(argument: Any) -> bool:
    return type(argument) is tuple and all(isinstance(n, int) for n in argument)


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(random.standard_normal(shape))


def uniform(*shape: int, low: float = 0.5, high: float = 2.0, seed: int = 1) -> np.ndarray:
    """Numbers between `low` and `high`."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def integers(*shape: int, high: int, seed: int = 1) -> np.ndarray:
    """Whole numbers from 0 to below `high`."""
    return np.random.default_rng(seed).integers(0, high, shape)
