"""Turns a target of complex arrays into one of real arrays, for the check of its rule.

f(z)             of a complex z
becomes
g(x, y)          of its two parts, which returns the parts of f(x + i y)
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primsplit.ir.names import kept_apart
from primsplit.tracing import trees

Function = Callable[..., Any]


class InParts:
    """A function of the parts of complex inputs that returns the parts of complex results. Real inputs stay.

    `inputs` are the arrays it takes.
    """

    def __init__(self, function: Function, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> None:
        self.function, self.attributes = function, dict(attributes)
        self.is_complex = [trees.is_complex(x) for x in inputs]
        self.inputs = self._spread(inputs)
        self.__name__ = getattr(function, "__name__", "function")
        formal = list(inspect.signature(function).parameters)
        own = kept_apart(formal[min(i, len(formal) - 1)] for i in range(len(inputs)))
        called = ((f"{n}_real", f"{n}_imag") if c else (n,) for n, c in zip(own, self.is_complex, strict=True))
        kind = inspect.Parameter.POSITIONAL_ONLY
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for names in called for name in names])

    def _spread(self, inputs: Sequence[Any]) -> list[Any]:
        parts = [trees.parts_of(x) if c else x for x, c in zip(inputs, self.is_complex, strict=True)]
        return [p for x in parts for p in ((x.real, x.imag) if isinstance(x, trees.Parts) else (x,))]

    def places(self, positions: Sequence[int]) -> list[int]:
        """The positions of these inputs in `inputs`: both parts of complex ones."""
        starts = [sum(1 + c for c in self.is_complex[:i]) for i in range(len(self.is_complex))]
        return [starts[i] + k for i in positions for k in range(1 + self.is_complex[i])]

    def __call__(self, *arrays: Any) -> Any:
        given = iter(arrays)
        inputs = [trees.whole(next(given), next(given)) if c else next(given) for c in self.is_complex]
        return tuple(trees.in_parts(self.function(*inputs, **self.attributes))[0])
