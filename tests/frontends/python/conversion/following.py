"""Comparing a function with its program where few paths are followed, so that its branches are joined."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.branching import exploring, paths

rng = np.random.default_rng(4)


def with_few_paths(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    return ps.value_and_grad(function)


def compare(both: Callable[..., Any], function: Callable[..., Any]) -> None:
    for x in rng.normal(size=(20, 12)):
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        steps = 1e-6 * np.eye(12)
        slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)
