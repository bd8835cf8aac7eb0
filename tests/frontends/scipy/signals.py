"""Signals, images and filters for the tests of scipy.signal, and the comparison of a function of them with SciPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

import primsplit as ps
from primsplit.testing import check_grads

random = np.random.default_rng(1)

LONG, SHORT = random.standard_normal(9), random.standard_normal(4)

IMAGE, KERNEL = random.standard_normal((5, 6)), random.standard_normal((2, 3))

SECTIONS = scipy.signal.butter(4, 0.3, output="sos")

HILLS = np.array([0.1, 0.9, 0.3, 1.4, 1.2, 2.6, 0.2, 0.7, 0.6, 3.1, 2.2, 2.3, 1.9, 3.5])

Rows = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]


def check_signals(row: tuple[Callable[..., Any], tuple[Any, ...]], *, symbolic: bool = True) -> None:
    """A function of signals of any size, and of the numbers of filters, whose sizes have to be known, is SciPy's."""
    function, given = row
    are_filters = [x.size < LONG.size or x is SECTIONS for x in given]
    parts = [tuple(x.flat) if is_filter else x for x, is_filter in zip(given, are_filters, strict=True)]

    def f(*parts: Any) -> Any:
        pairs = zip(parts, given, strict=True)
        return function(*(np.reshape(p, x.shape) if isinstance(p, tuple) else p for p, x in pairs))

    check_grads(f, *parts, symbolic=symbolic)


def parts(found: Any) -> tuple[Any, ...]:
    """The real arrays of one result or several: a complex one is two."""
    each = found if isinstance(found, tuple) else (found,)
    return tuple(p for z in each for p in ((z.real, z.imag) if np.iscomplexobj(z) else (z,)))


def agree(found: Any, wanted: Any, tolerance: float) -> None:
    """Arrays have the shapes, dtypes and values of others."""
    for one, other in zip(found, wanted, strict=True):
        assert (np.shape(one), np.asarray(one).dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def check_parts(function: Callable[..., Any], *given: Any, tolerance: float = 3e-5) -> None:
    """A function of known sizes is SciPy's in float32 and, with its gradients, in float64."""

    def f(*args: Any) -> Any:
        return parts(function(*args))

    single = tuple(x.astype(np.float32) for x in given)
    agree(ps.trace(f, *single)(*single), f(*single), tolerance)
    check_grads(f, *given, order=1, symbolic=False, step=1e-6)
