"""Substitutes for functions of SciPy: their names and the order of their arguments are SciPy's."""

import importlib
import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy.overrides import science
from primsplit.frontends.scipy.overrides.science import MODULES, functions_of

RENAMED = {"n": "size", "s": "size", "shape": "size", "axis": "axes"}
"""Arguments of Fourier transforms, which one substitute has for transforms along one axis and along several."""


def by_position(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [RENAMED.get(n, n) for n, p in inspect.signature(function).parameters.items() if p.kind in kinds]


@pytest.mark.parametrize("name", MODULES)
def test_substitutes_have_names_of_the_module(name: str) -> None:
    module = importlib.import_module(name)
    assert [function for function in functions_of(name) if not hasattr(module, function)] == []


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"scipy.linalg.blas"}))  # whose functions tell no arguments
def test_arguments_by_position_stand_where_scipys_stand(name: str) -> None:
    """A substitute that goes by SciPy's own signature has it."""
    module = importlib.import_module(name)
    for function, traced in functions_of(name).items():
        if not hasattr(traced, "__wrapped__") and function != "sph_harm_y":
            own = by_position(traced)
            assert own == by_position(getattr(module, function))[: len(own)], function


def test_a_distribution_is_scipys_in_plain_calls_and_takes_traced_numbers_frozen_or_not() -> None:
    def f(x: Any) -> Any:
        known = scipy.stats.norm(1.0, 2.0)
        return known.logpdf(x), known.mean() * x, scipy.stats.norm(x, 2.0).cdf(0.5), known.args[0] * x

    for found, wanted in zip(ps.trace(f, 0.3)(0.3), f(0.3), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_a_thread_waits_for_modules_that_another_one_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    science.register_loaded()
    begun, goes_on = threading.Event(), threading.Event()
    registered: list[str] = []

    def register_slowly(name: str) -> None:
        begun.set()
        goes_on.wait(10.0)
        registered.append(name)

    monkeypatch.setattr(science, "_done", science._done - {"scipy.stats"})
    monkeypatch.setattr(science, "_register", register_slowly)
    first, second = (threading.Thread(target=science.register_loaded) for _ in range(2))
    first.start()
    assert begun.wait(10.0)
    second.start()
    second.join(0.2)
    assert second.is_alive()
    goes_on.set()
    for thread in (first, second):
        thread.join(10.0)
        assert not thread.is_alive()
    assert registered == ["scipy.stats"]
