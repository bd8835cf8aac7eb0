"""Transforms of functions that read what transforms around them move, beside JAX's numbers (0.10.2, float64)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

X = np.array([0.3, -0.7, 1.1])
total = np.sum
KEPT = ps.cached(lambda y: total(np.exp(y) * np.sin(y)))
CALLED = ps.primitive(lambda a, b: np.sin(a * b), name="sine_of_product", inline=False)


def four_gradients_each_reading_all(x: Any) -> Any:
    def f(a: Any) -> Any:
        def outer(b: Any) -> Any:
            def inner(c: Any) -> Any:
                return ps.grad(lambda d: np.sin(a * b * c * d))(c * a) * b

            return a * ps.grad(inner)(b + a)

        return ps.grad(outer)(a * a)

    return ps.grad(f)(x[0])


def a_gradient_in_each_step(x: Any) -> Any:
    def f(x: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            slope = ps.grad(lambda y: total(np.sin(y * x * t)))(c)
            return c * 0.9 + 0.1 * slope * x, total(slope * c)

        c, levels = ps.scan(step, x, np.linspace(0.1, 1.0, 4))
        return total(c * c) + total(levels)

    return ps.jvp(ps.grad(f), (x,), (np.cos(x),))[1]


def jacobians_of_per_example_gradients(x: Any) -> Any:
    def f(y: Any) -> Any:
        one = ps.grad(lambda w, s: total(np.tanh(w * s) * y))
        return ps.vmap(one, in_axes=(None, 0))(y * y, np.stack([y, 2 * y, y**2]))

    return ps.jacobian(lambda y: ps.jacobian(f, mode="forward")(y).sum(axis=0), mode="reverse")(x).sum(axis=(0, 1))


def a_product_of_a_cached_function_along_its_point(x: Any) -> Any:
    return ps.grad(lambda z: total(ps.hvp(KEPT)(z, z * z)))(x)


def a_tangent_that_the_point_tells(x: Any) -> Any:
    def f(x: Any) -> Any:
        return total(ps.jvp(lambda y: y * x * np.sin(y), (x,), (x * x,))[1])

    return ps.jacobian(ps.grad(f), mode="forward")(x).sum(axis=0)


def a_linear_function_of_its_own_result(x: Any) -> Any:
    def f(x: Any) -> Any:
        y, linear = ps.linearize(lambda z: np.sin(z) * total(z * x), x)
        return total(linear(linear(y * x)))

    return ps.hvp(f)(x, np.sin(x))


def a_pullback_of_what_was_pulled_back(x: Any) -> Any:
    def f(x: Any) -> Any:
        y, pullback = ps.vjp(lambda z: z * np.cumsum(z * x), x)
        return total(pullback(y * y)[0] * x)

    return ps.grad(lambda z: total(ps.grad(f)(z) * np.cos(z)))(x)


def branches_of_each_element_that_read_all(x: Any) -> Any:
    def f(x: Any) -> Any:
        def one(s: Any) -> Any:
            return ps.cond(s > 0, lambda u: total(np.sin(u * x)) * u, lambda u: total(x**3) * u**2, s)

        return total(ps.vmap(ps.grad(ps.grad(one)))(x))

    return ps.hessian(f)(x).sum(axis=0)


def a_checkpointed_gradient_in_each_step(x: Any) -> Any:
    def f(x: Any) -> Any:
        inner = ps.checkpoint(lambda c, t: ps.grad(lambda y: total(y**3 * t * x))(c))
        c, _ = ps.scan(lambda c, t: (c + 0.1 * inner(c, t), t), x, np.array([0.5, -0.3, 0.2]))
        return total(c**2)

    return ps.hvp(f)(x, x)


def tangents_of_steps_that_read_the_carry(x: Any) -> Any:
    def f(a: Any) -> Any:
        return ps.fori_loop(0, 3, lambda _, c: ps.jvp(lambda y: np.sin(y * c) * a, (c * a,), (a,))[1], a)

    return ps.derivative(ps.grad(ps.grad(f)))(x[2])


def a_call_that_stays_one_at_two_levels(x: Any) -> Any:
    def f(a: Any) -> Any:
        return a * ps.grad(lambda b: CALLED(a, b) * ps.grad(lambda c: CALLED(b, c) * a)(a))(a * 2.0)

    return ps.grad(ps.grad(f))(x[0])


def batches_in_gradients_in_batches(x: Any) -> Any:
    def f(s: Any) -> Any:
        one = ps.vmap(lambda t: ps.grad(lambda q: np.sin(q * s) * q * t)(t))
        return total(one(np.stack([s, 2 * s])))

    return ps.vmap(ps.grad(ps.grad(ps.grad(f))))(x)


WANTED: list[tuple[Callable[[Any], Any], Any]] = [
    (four_gradients_each_reading_all, 0.21599139137874104),
    (a_gradient_in_each_step, [4.8490236694883455, 1.2242657550063765, -5.637027019630187]),
    (jacobians_of_per_example_gradients, [7.432539898165739, -19.084035336081865, 8.033309834875606]),
    (a_product_of_a_cached_function_along_its_point, [1.7078018365018832, -0.3777422344575465, 2.8143139571217968]),
    (a_tangent_that_the_point_tells, [2.0000318485932698, 7.2792837685777325, 4.421409053499424]),
    (a_linear_function_of_its_own_result, [61.15936341448311, -16.615009103183873, 48.002923474244106]),
    (a_pullback_of_what_was_pulled_back, [72.8324606656161, -55.913779037082286, 106.30101795976529]),
    (branches_of_each_element_that_read_all, [-12.230677439687925, -6.557226051064507, -20.31940485126686]),
    (a_checkpointed_gradient_in_each_step, [0.6757380849761236, -2.186655913725806, 2.937461556877125]),
    (tangents_of_steps_that_read_the_carry, -1259.1227544305466),
    (a_call_that_stays_one_at_two_levels, 3.4688931036717086),
    (batches_in_gradients_in_batches, [40.93250903334607, -340.8346645429143, 649.8990789783436]),
]


@pytest.mark.parametrize(("function", "wanted"), WANTED, ids=[f.__name__ for f, _ in WANTED])
def test_transforms_that_read_what_others_move_are_jaxs(function: Callable[[Any], Any], wanted: Any) -> None:
    for found in (function(X), ps.trace(function, X)(X)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
