"""Tangents of what is smooth at 0 but written with a root have their values there, computed by hand."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.transforms.even_slopes import EvenSlopes
from tests.transforms.roots import FIRST


@pytest.mark.parametrize(
    "name", ["sqrt(x)**2", "sqrt(x)**4", "(x**0.5)**2", "cos(3 sqrt(x))", "cosh(sqrt(x))", "cbrt(x)**3"]
)
def test_the_tangent_at_zero_of_what_a_root_is_made_smooth_by(name: str) -> None:
    function, expected = FIRST[name]
    np.testing.assert_allclose(ps.derivative(function)(0.0), expected, rtol=1e-15)
    np.testing.assert_allclose(ps.jvp(function, (0.0,), (2.0,))[1], 2 * expected, rtol=1e-15)


def test_the_work_of_tangents_grows_with_the_number_of_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    over = EvenSlopes.over

    def counted(slopes: EvenSlopes, *given: Any) -> Any:
        calls.append(given)
        return over(slopes, *given)

    def asked(steps: int) -> int:
        def function(x: Any) -> Any:
            for _ in range(steps):
                x = np.sign(x) * np.maximum(np.abs(x) - 0.1, 0)
            return x

        calls.clear()
        ps.trace(lambda x: ps.jvp(function, (x,), (x,))[1], 0.7)
        return len(calls)

    monkeypatch.setattr(EvenSlopes, "over", counted)
    assert asked(32) < 2.5 * asked(16)
