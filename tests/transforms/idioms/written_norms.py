"""Layer norms as users write them out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ops import op

Function = Callable[..., Any]


def centred(x: Any, axis: Any = -1) -> Any:
    return x - np.mean(x, axis=axis, keepdims=True)


def quotient(x: Any, axis: Any = -1) -> Any:
    c = centred(x, axis)
    return c / np.sqrt(np.mean(c * c, axis=axis, keepdims=True) + 1e-3)


def of_operators(x: Any) -> Any:
    """As torch exports it."""
    c = op.Sub(x, op.ReduceMean(x, [-1], keepdims=1))
    return op.Div(c, op.Sqrt(op.Add(op.ReduceMean(op.Pow(c, 2.0), [-1], keepdims=1), 1e-3)))


FORMS: dict[str, Function] = {
    "a quotient": quotient,
    "by the variance": lambda x: centred(x) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-3),
    "by a power": lambda x: centred(x) * (np.mean(centred(x) ** 2, axis=-1, keepdims=True) + 1e-3) ** -0.5,
    "epsilon first": lambda x: centred(x) / np.sqrt(1e-3 + np.mean(centred(x) ** 2, axis=-1, keepdims=True)),
    "of operators": of_operators,
    "over two axes": lambda x: quotient(x, (1, 2)),
    "over the middle axis": lambda x: quotient(x, 1),
}
