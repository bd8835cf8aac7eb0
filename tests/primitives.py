"""Functions with rules of their own, for several tests."""

from typing import Any

import numpy as np

import primsplit as ps


def first_order_only() -> Any:
    """tanh, with a rule that is marked."""

    @ps.primitive
    def soft(x: Any) -> Any:
        return np.tanh(x)

    @ps.rrule(soft, first_order_only=True)
    def _(x: Any) -> Any:
        y = soft(x)
        return y, lambda dy: (dy * (1.0 - y * y),)

    return soft


def staged(build: Any, **options: Any) -> Any:
    """tanh(x)**n, with a rule that `build(x, n)` makes from a factor that it returns, which should be n."""

    @ps.primitive
    def f(x: Any, n: int) -> Any:
        return np.tanh(x) ** n

    @ps.rrule(f, staged=True, **options)
    def _(x: Any, n: int) -> Any:
        factor = build(x, n)

        def rule(x: Any, n: int) -> Any:
            t = np.tanh(x)
            return t**n, lambda dy: (factor * t ** (n - 1) * (1.0 - t * t) * dy, None)

        return rule

    return f


def slope_of_tanh(x: Any) -> Any:
    return 1.0 - np.tanh(x) ** 2
