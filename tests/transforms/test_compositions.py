"""Transforms of transforms of transforms, drawn at random, beside JAX's of the same functions."""

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]
Make = Callable[[Any], Function]
"""A function for one library: ours, or JAX's."""

KEPT = ps.cached(lambda y: y * np.exp(-y * y))
OURS = SimpleNamespace(
    np=np, grad=ps.grad, jvp=ps.jvp, vjp=ps.vjp, linearize=ps.linearize, vmap=ps.vmap, scan=ps.scan, cond=ps.cond,
    hessian=ps.hessian, columns=lambda f: ps.jacobian(f, mode="forward"), rows=lambda f: ps.jacobian(f, mode="reverse"),
    hvp=lambda f, x, v: ps.hvp(f)(x, v), kept=KEPT,
)  # fmt: skip


def theirs() -> SimpleNamespace:
    """The same names in JAX."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    return SimpleNamespace(
        np=jnp, grad=jax.grad, jvp=jax.jvp, vjp=jax.vjp, linearize=jax.linearize, vmap=jax.vmap, scan=jax.lax.scan,
        cond=jax.lax.cond, hessian=jax.hessian, columns=jax.jacfwd, rows=jax.jacrev,
        hvp=lambda f, x, v: jax.jvp(jax.grad(f), (x,), (v,))[1], kept=lambda y: y * jnp.exp(-y * y),
    )  # fmt: skip


def _walked(m: Any, x: Any) -> Any:
    def step(level: Any, now: Any) -> Any:
        level = m.np.sin(level + now)
        return level, level * now

    level, levels = m.scan(step, 0.5 * x[0], x)
    return levels + level


def _chosen(m: Any, x: Any) -> Any:
    """A branch for each element, one of which reads all of them."""
    flat = m.np.reshape(x, (-1,))

    def one(s: Any) -> Any:
        return m.cond(s > 0.1, lambda u: m.np.sum(m.np.sin(u * x)), lambda u: u * u, s)

    return m.np.reshape(m.vmap(one)(flat), x.shape)


BASES: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda m, x: m.np.sin(x) * x,
    "cumsum": lambda m, x: m.np.cumsum(x * x, axis=-1),
    "sort": lambda m, x: m.np.sort(m.np.sin(3 * x), axis=-1) * x,
    "where": lambda m, x: m.np.where(x > 0.1, x**3, m.np.exp(-x)),
    "softmax": lambda m, x: m.np.exp(x) / m.np.sum(m.np.exp(x), axis=-1, keepdims=True),
    "scan": _walked,
    "cond": lambda m, x: m.cond(m.np.sum(x) > 0.3, lambda y: y * y, m.np.cos, x),
    "cached": lambda m, x: m.kept(x),
    "chosen": _chosen,
}


def scalar(make: Make) -> Make:
    return lambda m: lambda x: m.np.sum(m.np.sin(0.7 * make(m)(x)))


def contracted(m: Any, jacobian: Any, x: Any) -> Any:
    """A Jacobian (*result, *argument) along a direction."""
    return m.np.sum(jacobian * m.np.cos(x), axis=tuple(range(-x.ndim, 0)))


def _pulled(make: Make) -> Make:
    def of(m: Any, x: Any) -> Any:
        y, pullback = m.vjp(make(m), x)
        return pullback(m.np.cos(y))[0]

    return lambda m: lambda x: of(m, x)


TRANSFORMS: dict[str, Callable[[Make], Make]] = {
    "grad": lambda make: lambda m: m.grad(scalar(make)(m)),
    "jvp": lambda make: lambda m: lambda x: m.jvp(make(m), (x,), (m.np.cos(x),))[1],
    "vjp": _pulled,
    "linearize": lambda make: lambda m: lambda x: m.linearize(make(m), x)[1](m.np.sin(x)),
    "hvp": lambda make: lambda m: lambda x: m.hvp(scalar(make)(m), x, m.np.sin(x)),
    "hessian": lambda make: lambda m: lambda x: contracted(m, m.hessian(scalar(make)(m))(x), x),
    "columns": lambda make: lambda m: lambda x: contracted(m, m.columns(make(m))(x), x),
    "rows": lambda make: lambda m: lambda x: contracted(m, m.rows(make(m))(x), x),
    "vmap": lambda make: lambda m: lambda x: m.np.sum(m.vmap(make(m))(m.np.stack([x, -0.5 * x])), axis=0),
    "around": lambda make: lambda m: lambda x: x * m.grad(lambda y: m.np.sum(make(m)(x * y)))(m.np.cos(x)),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_a_random_composition_of_transforms_is_jaxs(seed: int) -> None:
    choose = random.Random(seed)
    base = choose.choice(sorted(BASES))
    names = [choose.choice(sorted(TRANSFORMS)) for _ in range(choose.choice([2, 3, 3]))]
    x = np.random.default_rng(seed).standard_normal(choose.choice([(3,), (2, 3), (1,)])) * 0.8

    make = _composed(base, names)
    wanted = np.asarray(make(theirs())(x))
    program = ps.trace(make(OURS), ps.spec("float64", [f"N{i}" for i in range(x.ndim)]))
    scale = np.max(np.abs(wanted), initial=1.0)
    np.testing.assert_allclose(program(x), wanted, rtol=1e-9, atol=1e-9 * scale, err_msg=f"{base} {names} {x.shape}")


def _composed(base: str, names: list[str]) -> Make:
    def make(m: Any) -> Function:
        return lambda x: BASES[base](m, x)

    found: Make = make
    for name in names:
        found = TRANSFORMS[name](found)
    return found
