"""Random NumPy programs: steps drawn from a table, each replayed on any kind of arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Values = Sequence[Any]
Run = Callable[[Values], Any]
Draw = Callable[[Any], Any]
LARGEST = 60


@dataclass(frozen=True)
class Step:
    """One line of a program: its text, and what it computes of the values before it."""

    text: str
    run: Run


def call(program: Sequence[Step], *inputs: Any) -> Any:
    """The values of the last lines, and of one of the first."""
    values = [x * 1.0 for x in inputs]
    for step in program:
        values.append(step.run(values))
    return tuple(values[-2:])


UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin, "tanh": np.tanh, "exp of -square": lambda x: np.exp(-x * x), "square": lambda x: 0.3 * np.square(x),
    "sqrt of 1 + square": lambda x: np.sqrt(1 + x**2), "log1p of square": lambda x: np.log1p(x**2),
    "arctan": np.arctan, "reciprocal": lambda x: 1 / (2 + x**2), "cube": lambda x: 0.1 * x**3, "negative": lambda x: -x,
    "abs": abs, "relu": lambda x: np.maximum(x, 0), "clip": lambda x: np.clip(x, -1, 1),
    "sign times": lambda x: np.sign(x) * x, "where": lambda x: np.where(x > 0.3, x, 0.5 * x),
    "integer power": lambda x: np.power(x, 2), "python": lambda x: (3 - x / 2) * 2 + 1,
}  # fmt: skip

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: 0.5 * a * b,
    "divide": lambda a, b: a / (1 + b**2), "maximum": np.maximum, "hypot": lambda a, b: np.hypot(a, b + 3),
    "arctan2": lambda a, b: np.arctan2(a, b**2 + 1), "logaddexp": np.logaddexp,
    "where": lambda a, b: np.where(a < b, a * b, np.sin(a)), "power": lambda a, b: (1 + a**2) ** np.tanh(b),
}  # fmt: skip

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, **o: 0.5 * np.sum(x, **o), "mean": np.mean, "max": np.max, "min": np.min,
    "prod": lambda x, **o: np.prod(np.tanh(x), **o), "var": lambda x, **o: x.var(**o),
    "norm": lambda x, axis, keepdims: np.sqrt(np.sum(x**2, axis=axis, keepdims=keepdims) + 1),
}  # fmt: skip

WHOLE: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: x.T, "flatten": lambda x: x.reshape(-1), "row": lambda x: x.reshape(1, -1),
    "flip": lambda x: np.flip(x), "new axis": lambda x: x[..., None], "last first": lambda x: np.moveaxis(x, -1, 0),
    "cumsum": lambda x: 0.5 * np.cumsum(x, axis=-1), "sort": lambda x: np.sort(x, axis=-1), "diff": np.diff,
    "roll": lambda x: np.roll(x, 1, axis=0), "pad": lambda x: np.pad(x, 1), "tail": lambda x: x[1:],
    "backwards": lambda x: x[::-1], "every other": lambda x: x[..., ::2], "first": lambda x: x[0],
    "last": lambda x: x[..., -1], "repeat": lambda x: np.repeat(x, 2, axis=0), "tile": lambda x: np.tile(x, 2),
    "double": lambda x: np.concatenate([x, x[:1]]), "stack": lambda x: np.stack([x, 2 * x], axis=-1),
    "outer": lambda x: x[..., None] * x[..., None, :],
    "by order": lambda x: x[np.argsort(x.reshape(len(x), -1)[:, 0])[:1]],
    "take": lambda x: np.take(x, [0, -1, 0], axis=0), "squares": lambda x: np.einsum("...i,...i->...", x, x),
    "gram": lambda x: x @ np.swapaxes(x, -1, -2) if x.ndim > 1 else x @ x, "softmax": lambda x: _softmax(x),
    "centered": lambda x: x - x.mean(axis=0), "by size": lambda x: x / x.shape[0], "broadcast": lambda x: x + x[:1],
}  # fmt: skip


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _writes_row(x: Any) -> Any:
    y = x.copy()
    y[0] = 2.0 * y[-1]
    y[-1] *= 0.5
    return y


def _writes_view(x: Any) -> Any:
    y = x.copy()
    view = y[1:]
    view += 1.0
    view[..., 0] = y[0, ..., 0]
    return y


def _writes_mask(x: Any) -> Any:
    y = x + 0.0
    y[x > 0.5] *= 0.1
    return y


def _adds_at(x: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y, [0, -1, 0], x[:1])
    return y + x


def _augments(x: Any) -> Any:
    y = x * 1.0
    before = y.sum()
    total = before
    total += 1.0
    y -= 0.1 * total
    y *= x
    return y + before


WRITES: dict[str, Callable[[Any], Any]] = {
    "writes a row": _writes_row, "writes a view": _writes_view, "writes where a mask is": _writes_mask,
    "adds at": _adds_at, "augments": _augments,
}  # fmt: skip


def _unary(draw: Draw, values: Values) -> Step:
    name, i = draw(st.sampled_from(sorted(UNARY))), draw(st.integers(0, len(values) - 1))
    return Step(f"{name}({i})", lambda v: UNARY[name](v[i]))


def _binary(draw: Draw, values: Values) -> Step:
    name, i = draw(st.sampled_from(sorted(BINARY))), draw(st.integers(0, len(values) - 1))
    fitting = [j for j, v in enumerate(values) if _meets(v.shape, values[i].shape)]
    j = draw(st.sampled_from(fitting))
    return Step(f"{name}({i}, {j})", lambda v: BINARY[name](v[i], v[j]))


def _meets(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in {m, n} for m, n in zip(a[::-1], b[::-1], strict=False))


def _reduce(draw: Draw, values: Values) -> Step:
    i = draw(st.sampled_from([i for i, v in enumerate(values) if v.ndim and v.size]))
    name = draw(st.sampled_from(sorted(REDUCTIONS)))
    axis = draw(st.sampled_from([None, *range(-values[i].ndim, values[i].ndim)]))
    keep = draw(st.booleans())
    return Step(f"{name}({i}, {axis=}, {keep=})", lambda v: REDUCTIONS[name](v[i], axis=axis, keepdims=keep))


def _matmul(draw: Draw, values: Values) -> Step:
    pairs = [
        (i, j)
        for i, a in enumerate(values)
        for j, b in enumerate(values)
        if a.ndim and b.ndim and a.ndim <= 2 and b.ndim <= 2 and a.shape[-1] == b.shape[0]
    ]
    i, j = draw(st.sampled_from(pairs))
    return Step(f"matmul({i}, {j})", lambda v: 0.3 * (v[i] @ v[j]))


def _whole(draw: Draw, values: Values) -> Step:
    i = draw(st.sampled_from([i for i, v in enumerate(values) if v.ndim and v.ndim < 4 and v.size]))
    table = WRITES if draw(st.integers(0, 4)) == 0 else WHOLE
    name = draw(st.sampled_from(sorted(table)))
    return Step(f"{name}({i})", lambda v: table[name](v[i]))


KINDS = (_unary, _binary, _reduce, _matmul, _whole, _whole, _whole)


@st.composite
def programs(draw: Draw, inputs: Sequence[np.ndarray], most: int = 7) -> list[Step]:
    """A program of at least two steps that NumPy can run on these inputs, with values that stay small."""
    values = [x * 1.0 for x in inputs]
    program: list[Step] = []
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=most)):
        step = kind(draw, values)
        try:
            found = np.asarray(step.run(values))
        except (ValueError, IndexError):
            continue
        if found.size <= LARGEST and np.all(np.abs(found) < 50):
            program.append(step)
            values.append(found)
    return program
