"""Transforms by two arguments, one of them broadcast, of functions that take integers and a flag too, beside JAX's.

Drawn at random, in two dtypes, of functions and of loaded models, at sizes that only the run knows.
"""

import functools
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Function = Callable[..., Any]
Make = Callable[[Any], Function]
"""A function (x, w, k, flag) for one library: x is [N,3] as the result is, w and the whole numbers k are [3]."""

BOTH = (0, 1)
OURS = SimpleNamespace(
    np=np,
    grad=lambda f: ps.grad(f, wrt=BOTH),
    with_aux=lambda f: ps.value_and_grad(f, wrt=BOTH, has_aux=True),
    jvp=lambda f, at, along: ps.jvp(f, at, (*along, None, None)),
    product=lambda f, at, along: ps.value_grad_and_hvp(f, wrt=BOTH)(*at, along),
    hessian=lambda f, chunk: ps.hessian(f, wrt=BOTH, chunk=chunk),
    columns=lambda f, chunk: ps.jacobian(f, wrt=BOTH, mode="forward", chunk=chunk),
    rows=lambda f, chunk: ps.jacobian(f, wrt=BOTH, mode="reverse", chunk=chunk),
    laplacian=ps.laplacian, vjp=ps.vjp, linearize=ps.linearize, vmap=ps.vmap, scan=ps.scan, cond=ps.cond,
    repeated=lambda n, f, x: ps.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, f(c[1])), (0, x))[1],
)  # fmt: skip


def theirs() -> SimpleNamespace:
    """The same names in JAX, whose programs are not compiled: that takes a minute for one."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def along_both(f: Function, at: Any, along: Any) -> Any:
        return jax.jvp(lambda x, w: f(x, w, *at[2:]), at[:2], along)

    def product(f: Function, at: Any, along: Any) -> Any:
        gradient = jax.grad(f, argnums=BOTH)
        return f(*at), gradient(*at), along_both(gradient, at, along)[1]

    return SimpleNamespace(
        np=jax.numpy,
        grad=lambda f: jax.grad(f, argnums=BOTH),
        with_aux=lambda f: jax.value_and_grad(f, argnums=BOTH, has_aux=True),
        jvp=along_both,
        product=product,
        hessian=lambda f, chunk: jax.hessian(f, argnums=BOTH),
        columns=lambda f, chunk: jax.jacfwd(f, argnums=BOTH),
        rows=lambda f, chunk: jax.jacrev(f, argnums=BOTH),
        laplacian=lambda f: lambda w: jax.numpy.trace(jax.hessian(f)(w)),
        vjp=jax.vjp, linearize=jax.linearize, vmap=jax.vmap, scan=jax.lax.scan, cond=jax.lax.cond,
        repeated=lambda n, f, x: jax.lax.fori_loop(0, n, lambda _, y: f(y), x),
    )  # fmt: skip


def _definite(m: Any, x: Any) -> Any:
    return 3 * m.np.eye(3, dtype=x.dtype) + 0.3 * x.T @ x


def _walked(m: Any, x: Any, w: Any) -> Any:
    def step(level: Any, now: Any) -> Any:
        level = m.np.sin(level + now * w)
        return level, level * now

    level, levels = m.scan(step, 0.5 * w, x)
    return levels + level


BASES: dict[str, Callable[..., Any]] = {
    "sin": lambda m, x, w, k, flag: m.np.sin(x) * x * w,
    "cumsum": lambda m, x, w, k, flag: m.np.cumsum(x * x * w, axis=0),
    "sort": lambda m, x, w, k, flag: m.np.sort(m.np.sin(3 * x), axis=-1) * w,
    "median": lambda m, x, w, k, flag: x * m.np.median(x * w, axis=1, keepdims=True),
    "where": lambda m, x, w, k, flag: m.np.where(x > 0.1, x**3, m.np.exp(-x * w)),
    "flag": lambda m, x, w, k, flag: m.np.where(flag, m.np.sin(x) * w, x * x),
    "picked": lambda m, x, w, k, flag: x[:, k] * x * w[k],
    "walked": lambda m, x, w, k, flag: _walked(m, x, w),
    "solved": lambda m, x, w, k, flag: m.np.linalg.solve(_definite(m, x) + m.np.diag(w), x.T).T,
    "factored": lambda m, x, w, k, flag: x @ m.np.linalg.cholesky(_definite(m, x)) * w,
    "gram": lambda m, x, w, k, flag: (x @ x.T) @ x * w,
    "largest": lambda m, x, w, k, flag: m.np.maximum(x, w) * m.np.max(x, axis=1, keepdims=True),
    "product": lambda m, x, w, k, flag: x * m.np.prod(x + w, axis=1, keepdims=True),
}


def total(make: Make) -> Make:
    return lambda m: lambda *at: m.np.sum(m.np.sin(0.7 * make(m)(*at)))


def directions(m: Any, x: Any, w: Any) -> tuple[Any, Any]:
    return m.np.cos(x), m.np.sin(w + 1)


def contracted(m: Any, pair: Any, x: Any, w: Any) -> Any:
    """Arrays (*result, *x) and (*result, *w), each along a direction."""
    a, b = directions(m, x, w)
    return m.np.sum(pair[0] * a, axis=(-2, -1)) + m.np.sum(pair[1] * b, axis=-1)


def _with_aux(make: Make, _: Any) -> Make:
    def of(m: Any, x: Any, *more: Any) -> Any:
        def loss(x: Any, *more: Any) -> Any:
            y = make(m)(x, *more)
            return m.np.sum(m.np.sin(y)), {"y": y * x}

        (value, aux), (by_x, by_w) = m.with_aux(loss)(x, *more)
        return by_x * by_w + value + aux["y"]

    return lambda m: lambda *at: of(m, *at)


def _pulled(make: Make, _: Any) -> Make:
    def of(m: Any, x: Any, w: Any, *more: Any) -> Any:
        y, pullback = m.vjp(lambda x, w: {"a": make(m)(x, w, *more), "b": (x * w,)}, x, w)
        by_x, by_w = pullback({"a": m.np.cos(y["a"]), "b": (y["b"][0] * w,)})
        return by_x * w + by_w

    return lambda m: lambda *at: of(m, *at)


def _linear(make: Make, _: Any) -> Make:
    def of(m: Any, x: Any, w: Any, *more: Any) -> Any:
        value, linear = m.linearize(lambda x, w: make(m)(x, w, *more), x, w)
        return linear(*directions(m, x, w)) + value * linear(0 * x + w, w)

    return lambda m: lambda *at: of(m, *at)


def _product(make: Make, _: Any) -> Make:
    def of(m: Any, *at: Any) -> Any:
        value, (by_x, by_w), (along_x, along_w) = m.product(total(make)(m), at, directions(m, *at[:2]))
        return value * along_x + along_w * by_w + by_x

    return lambda m: lambda *at: of(m, *at)


def _curved(make: Make, chunk: Any) -> Make:
    def of(m: Any, x: Any, w: Any, *more: Any) -> Any:
        of_x, of_w = m.hessian(total(make)(m), chunk)(x, w, *more)
        return contracted(m, of_x, x, w) + contracted(m, of_w, x, w)

    return lambda m: lambda *at: of(m, *at)


def _jacobian(kind: str) -> Callable[[Make, Any], Make]:
    def made(make: Make, chunk: Any) -> Make:
        def of(m: Any, x: Any, w: Any, *more: Any) -> Any:
            def two(*at: Any) -> Any:
                y = make(m)(*at)
                return {"y": y, "s": m.np.sum(y * y, axis=0)}

            found = getattr(m, kind)(two, chunk)(x, w, *more)
            return contracted(m, found["y"], x, w) + contracted(m, found["s"], x, w)

        return lambda m: lambda *at: of(m, *at)

    return made


def _each(make: Make, _: Any) -> Make:
    """A gradient for each example, added up."""

    def of(m: Any, x: Any, w: Any, *more: Any) -> Any:
        each = m.vmap(m.grad(lambda row, w: m.np.sum(make(m)(row[None], w, *more) ** 2)), (0, None))
        by_row, by_w = each(x, w)
        return by_row * by_w + by_w

    return lambda m: lambda *at: of(m, *at)


TRANSFORMS: dict[str, Callable[[Make, Any], Make]] = {
    "gradient": lambda make, _: lambda m: lambda *at: sum(m.grad(total(make)(m))(*at)),
    "with aux": _with_aux,
    "tangent": lambda make, _: lambda m: lambda x, w, *more: m.jvp(
        make(m), (x, w, *more), directions(m, x, w)
    )[1],
    "pulled": _pulled,
    "linear": _linear,
    "product": _product,
    "curved": _curved,
    "columns": _jacobian("columns"),
    "rows": _jacobian("rows"),
    "each": _each,
    "around": lambda make, _: lambda m: lambda x, w, *more: x * m.vjp(
        lambda y: m.np.sum(make(m)(x * y, w, *more)), m.np.cos(x)
    )[1](x.dtype.type(1))[0],
    "laplacian": lambda make, _: lambda m: lambda x, w, *more: x * m.laplacian(
        lambda v: m.np.sum(make(m)(x * v, v, *more))
    )(w),
    "repeated": lambda make, _: lambda m: lambda x, *more: m.repeated(
        2, lambda y: m.np.tanh(make(m)(y, *more)) + x, x
    ),
    "chosen": lambda make, _: lambda m: lambda x, *more: m.cond(
        m.np.sum(x) > 0.3, lambda y: make(m)(y * x, *more), lambda y: m.np.cos(y) * x, x
    ),
}  # fmt: skip
LARGE = {"curved", "columns", "rows"}


def _of_base(base: str, ours: Function, m: Any) -> Function:
    return ours if m is OURS else functools.partial(BASES[base], m)


@pytest.mark.slow
@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_a_random_composition_by_two_arguments_is_jaxs(seed: int, is_loaded: bool, tmp_path: Path) -> None:
    choose = random.Random(seed + 1000 * is_loaded)
    base, chunk = choose.choice(sorted(BASES)), choose.choice([None, 1, 2])
    names = [choose.choice(sorted(TRANSFORMS)) for _ in range(choose.choice([1, 2, 3]))]
    names = [n for i, n in enumerate(names) if n not in LARGE or LARGE.isdisjoint(names[:i])]
    dtype = choose.choice(["float64", "float64", "float32"])
    draws = np.random.default_rng(seed)
    more = draws.uniform(0.3, 1.0, 3).astype(dtype), draws.integers(0, 3, 3), np.array(seed % 2 == 0)
    specs = ps.spec(dtype, ["N", 3]), *more

    def known(*at: Any) -> Any:
        return BASES[base](OURS, *at)

    ours: Function = known
    if is_loaded:
        ps.trace(known, *specs).save(str(tmp_path / "base.onnx"))
        ours = ps.load(str(tmp_path / "base.onnx"))
    make: Make = functools.partial(_of_base, base, ours)
    for name in names:
        make = TRANSFORMS[name](make, chunk)
    program, jax_names = ps.trace(make(OURS), *specs), theirs()
    jax = pytest.importorskip("jax")
    for rows in (0, 1, 4) if base != "walked" else (1, 4):
        x = (draws.standard_normal((rows, 3)) * 0.8).astype(dtype)
        with jax.disable_jit():
            wanted = np.asarray(make(jax_names)(*map(jax.numpy.asarray, (x, *more))))
        found = program(x, *more)
        assert found.dtype == dtype
        rounding = 1e-9 if dtype == "float64" else 1e-3
        scale = rounding * np.max(np.abs(wanted), initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=rounding, atol=scale, err_msg=f"{base} {names} {rows} {dtype}")
