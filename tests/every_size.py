"""Comparing a function with itself as a program whose sizes only the run knows, at every one of a few sizes."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import primsplit as ps

SIZES = (0, 1, 2, 4)
STEP = 1e-5


def _leading(x: Any) -> Any:
    """Numbers of which the first is the largest, as that of a filter or of a diagonal."""
    x = 0.2 * x
    x[:1] += 1.5
    return x


KINDS: Mapping[str, Callable[[Any], Any]] = {
    "": lambda x: x,
    "ascending": lambda x: np.cumsum(np.abs(x) + 0.3, axis=0),
    "leading": _leading,
    "positive": lambda x: np.abs(x) + 0.5,
    "square": lambda x: x + (3 + len(x)) * np.eye(len(x)),
    "definite": lambda x: x @ x.T + (3 + len(x)) * np.eye(len(x)),
    "complex": lambda x: x + 1j * np.roll(x, 1),
    "share": lambda x: 1 / (1 + np.exp(-x)),
    "places": lambda x: np.abs(10 * x).astype(np.int64) % 3,
}
"""The kinds of arrays, each computed from random numbers."""


def check_every_size(function: Callable[..., Any], *told: str, sizes: tuple[int, ...] = SIZES) -> None:
    """Values, shapes and gradients are the function's own; a run fails where it raises.

    Each argument is told as its sizes, "N M", behind one of KINDS if there is one: "ascending N". Sizes may be sums.
    """
    parsed = [_parsed(text) for text in told]
    specs = [ps.spec(KINDS[kind](np.zeros((0, 0))).dtype, sizes_of) for kind, sizes_of in parsed]
    program = ps.trace(function, *specs)
    wanted = [i for i, s in enumerate(specs) if s.dtype.kind == "f"]
    slopes = ps.trace(ps.grad(lambda *args: _total(function(*args)), wrt=tuple(wanted)), *specs) if wanted else None
    for arrays in _arrays(parsed, sizes):
        try:
            with np.errstate(all="ignore"):
                expected = _listed(function(*arrays))
        except (ValueError, TypeError, RuntimeError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
            with pytest.raises(ps.PrimsplitError):
                program(*arrays)
            continue
        found = _listed(program(*arrays))
        shapes = [a.shape for a in arrays]
        assert [v.shape for v in found] == [v.shape for v in expected], shapes
        for value, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-7, atol=1e-9, err_msg=str(shapes))
        if slopes is not None and all(np.all(np.isfinite(v)) for v in expected):
            _check_slope(function, slopes(*arrays), arrays, wanted)


def _parsed(text: str) -> tuple[str, list[int | str]]:
    kind, *sizes = words if (words := text.split())[0] in KINDS else ("", *words)
    return kind, [int(s) if s.isdigit() else s for s in sizes]


def _arrays(parsed: list[tuple[str, list[int | str]]], sizes: tuple[int, ...]) -> Iterator[list[Any]]:
    symbols = sorted({s for _, shape in parsed for d in shape for s in re.findall("[A-Z]", str(d))})
    for chosen in itertools.product(sizes, repeat=len(symbols)):
        named = dict(zip(symbols, chosen, strict=True))
        rng = np.random.default_rng(7)
        yield [
            KINDS[kind](rng.standard_normal([int(eval(str(d), {}, named)) for d in shape])) for kind, shape in parsed
        ]


def _listed(found: Any) -> list[Any]:
    is_several = isinstance(found, tuple) or (isinstance(found, list) and found)
    return [v for each in found for v in _listed(each)] if is_several else [np.asarray(found)]


def _total(found: Any) -> Any:
    """A smooth number of all that is found."""
    if isinstance(found, tuple | list):
        return sum(map(_total, found), start=0.0)
    found = found if hasattr(found, "dtype") else np.asarray(found)
    parts = (found.real, found.imag) if np.iscomplexobj(found) else (found,)
    return sum((np.sum(0.7 * p + 0.3 * p**2) for p in parts if p.dtype.kind == "f"), start=0.0)


def _check_slope(function: Callable[..., Any], slopes: Any, arrays: list[Any], wanted: list[int]) -> None:
    """The gradient's part along a direction is the central difference along it."""
    given = slopes if isinstance(slopes, tuple) else (slopes,)
    rng = np.random.default_rng(8)
    directions = [rng.uniform(-1, 1, a.shape) if i in wanted else None for i, a in enumerate(arrays)]
    pairs = list(zip(arrays, directions, strict=True))
    sides = [_total(function(*(a if d is None else a + s * d for a, d in pairs))) for s in (STEP, -STEP)]
    along = sum(np.sum(g * directions[i]) for g, i in zip(given, wanted, strict=True))
    assert [g.shape for g in given] == [arrays[i].shape for i in wanted]
    np.testing.assert_allclose(along, (sides[0] - sides[1]) / (2 * STEP), rtol=1e-5, atol=1e-7)
