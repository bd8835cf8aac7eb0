"""The gradient of a written-out norm is that of differences, and keeps the quotients alone."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.transforms.idioms.written_norms import FORMS, quotient


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_affine", [False, True])
def test_the_gradient_is_the_difference_quotient(name: str, is_affine: bool) -> None:
    form = FORMS[name]

    def loss(x: Any, w: Any, b: Any) -> Any:
        y = form(x)
        return np.sum(np.sin(y * w + b if is_affine else y))

    random = np.random.default_rng(1)
    at = [random.standard_normal(s) for s in ((2, 3, 20), (20,), (20,))]
    along = [random.standard_normal(a.shape) for a in at]
    gradient = ps.trace(ps.grad(loss, wrt=(0, 1, 2)), *at)(*at)
    slope = sum(np.sum(g * d) for g, d in zip(gradient, along, strict=True))
    step, value = 1e-6, ps.trace(loss, *at)
    ahead, behind = (value(*(a + s * d for a, d in zip(at, along, strict=True))) for s in (step, -step))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-7)


def test_float32_rows_are_as_right_as_their_dtype() -> None:
    def loss(x: Any, w: Any, b: Any) -> Any:
        return np.sum(np.sin(quotient(x) * w + b))

    random = np.random.default_rng(2)
    at = [random.standard_normal(s) for s in ((6, 40), (40,), (40,))]
    exact = ps.trace(ps.grad(loss, wrt=(0, 1, 2)), *at)(*at)
    single = [a.astype(np.float32) for a in at]
    for found_, wanted in zip(ps.trace(ps.grad(loss, wrt=(0, 1, 2)), *single)(*single), exact, strict=True):
        np.testing.assert_allclose(found_, wanted, rtol=2e-5, atol=2e-5)


def test_a_second_derivative_goes_through_the_rule() -> None:
    def inner(x: Any) -> Any:
        return np.sum(np.sin(quotient(x)) * np.arange(5.0))

    def outer(x: Any) -> Any:
        return np.sum(ps.grad(inner)(x) ** 2)

    random = np.random.default_rng(3)
    x, along = random.standard_normal((2, 5)), random.standard_normal((2, 5))
    value = ps.trace(outer, x)
    slope = np.sum(ps.trace(ps.grad(outer), x)(x) * along)
    assert slope == pytest.approx((value(x + 1e-6 * along) - value(x - 1e-6 * along)) / 2e-6, rel=1e-6)


def test_a_pullback_keeps_the_quotients_and_not_the_deviations() -> None:
    made = ps.split(lambda x: np.sum(np.exp(quotient(x))), ps.spec("float32", ["N", 5]))
    kept = [v.type for v, kind in made.split.kinds().items() if kind == "intermediate"]
    wide = [str(t) for t in kept if t.shape and t.shape[-1] == 5]
    assert wide == ["float32[N,5]"] * 2, "the quotients, and what exp returned"
