"""A row of the table of derivative rules.

`F(3, 4)` is a float64 input sampled from the row's domain. An array is an input of the program; a list, number or
Const is part of it.
"""

import collections
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Const, Type
from primsplit.testing.subject import Subject, make_subject


@dataclass(frozen=True)
class Row:
    kind: str
    inputs: tuple[Any, ...]
    options: dict[str, Any]

    def __str__(self) -> str:
        told = [self.options.get("note") or " ".join(_brief(x) for x in self.inputs)]
        told += [f"{k}={v}" for k, v in self.options.get("attributes", {}).items() if not isinstance(v, np.ndarray)]
        return f"{self.kind}({' '.join(told)})"

    @property
    def arguments(self) -> dict[str, Any]:
        return {k: v for k, v in self.options.items() if k != "note"}


MANY = 6
"""The most rows of an operator that the fast tests sweep over."""


def sampled(rows: Sequence[Row]) -> list[Any]:
    """The rows as parameters of a test: of an operator with many, some all over them are fast, the others slow."""
    totals = collections.Counter(row.kind for row in rows)
    before: collections.Counter[str] = collections.Counter()
    found = []
    for row in rows:
        place, total = before[row.kind], totals[row.kind]
        before[row.kind] += 1
        is_slow = total > MANY and place * MANY // total == (place - 1) * MANY // total
        found.append(pytest.param(row, marks=[pytest.mark.slow] * is_slow))
    return found


def subject_of(row: Row, seed: int = 0) -> Subject:
    """The row's program, and a point sampled from its domain."""
    options = row.arguments
    return make_subject(
        row.kind,
        row.inputs,
        attributes=options.get("attributes") or {},
        outputs=options.get("outputs"),
        domain=options.get("domain", (-2.0, 2.0)),
        random=np.random.default_rng(seed),
    )


def _brief(value: Any) -> str:
    if isinstance(value, Type):
        return "x".join(map(str, value.shape or ())) or "scalar"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.kind}{'x'.join(map(str, value.shape))}"
    return f"const{list(value.type.shape or ())}" if isinstance(value, Const) else str(value)


def row(kind: str, *inputs: Any, **options: Any) -> Row:
    return Row(kind, inputs, options)


def F(*shape: int) -> Type:
    return ps.spec("float64", shape)


def F32(*shape: int) -> Type:
    return ps.spec("float32", shape)


def C(*values: float, dtype: Any = np.float64) -> Const:
    """A constant vector."""
    return Const(np.array(values, dtype))


def N(value: float, dtype: Any = np.float64) -> Const:
    """A constant scalar."""
    return Const(np.array(value, dtype))


def away(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers of both signs that stay away from 0."""
    numbers: np.ndarray[Any, Any] = random.uniform(0.3, 1.9, shape) * random.choice([-1.0, 1.0], shape)
    return numbers


def spaced(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers no two of which are close to each other, or to 0."""
    count = int(np.prod(shape))
    return (random.permutation(count).reshape(shape) - count / 2 + 0.25) * 0.3


def between(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers that stay away from each other and from those of `spaced`."""
    return spaced(random, shape) + 0.13


def integers(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)
