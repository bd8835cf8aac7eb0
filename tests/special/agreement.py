"""The checks of a special function: SciPy's values, and slopes that are those of SciPy's differences."""

from typing import Any

import numpy as np

import primsplit as ps


def check(function: Any, *args: np.ndarray, rtol: float = 4e-12, wrt: tuple[int, ...] = (0,)) -> None:
    """Check values against SciPy, and the slopes by these arguments against central differences of SciPy's values.

    Arrays of integers are a part of the program: orders and degrees, say.
    """
    places = [i for i, a in enumerate(args) if a.dtype.kind == "f"]
    floats = [args[i] for i in places]

    def traced(*given: Any) -> Any:
        return function(*(given[places.index(i)] if i in places else a for i, a in enumerate(args)))

    wanted = _parts(function(*args))
    found, slopes = _computed(traced, floats, [places.index(k) for k in wrt], wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-300)
    for k, slope in zip(wrt, slopes, strict=True):
        step = 1e-5 * np.maximum(1e-2, np.abs(args[k]))
        ends = [_sum(function(*(a + sign * step if i == k else a for i, a in enumerate(args)))) for sign in (1, -1)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=2e-6, atol=1e-9)


def _computed(function: Any, floats: list[Any], wrt: list[int], wanted: tuple[Any, ...]) -> tuple[Any, Any]:
    """The values of a function and the slopes of their `_sum`, by one program."""
    if not wrt:
        return _parts(ps.trace(function, *floats)(*floats)), ()
    weights = [(i + 1) * np.ones_like(part) for i, part in enumerate(wanted)]
    found = _parts(ps.split(function, *floats, wrt=wrt).joint()(*floats, *weights))
    return found[: len(wanted)], found[len(wanted) :]


def _parts(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _sum(found: Any) -> Any:
    """The sum of several results, which each count otherwise."""
    return sum((i + 1) * part for i, part in enumerate(_parts(found)))
