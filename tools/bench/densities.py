"""Log densities and losses of 100,000 observations as users write them: value and gradient beside jax.jit.

    python -m tools.bench.densities [NAME ...] [--cores 1]

Each in float64 and float32, with respect to its parameters: regressions of 50 columns with several distributions of
errors and answers, a softmax regression of ten classes, a mixture of eight normal distributions, a layer of tanh, and
springs between points in space. Gradients are compared before they are timed. Needs `pip install -e ".[compare]"`.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.bench.calls import as_numbers, bound
from tools.bench.peers import use_cores
from tools.bench.timing import compare, print_table

ROWS, COLUMNS = 100_000, 50
NAMES = ("gauss", "huber", "logistic", "poisson", "softmax", "mixture", "layer", "springs")
Density = Callable[..., Any]


def gauss(xp: Any, w: Any, x: Any, y: Any) -> Any:
    """A regression with normal errors."""
    away = y - x @ w
    return -0.5 * xp.sum(away * away)


def huber(xp: Any, w: Any, x: Any, y: Any) -> Any:
    """A regression whose large errors count by their size."""
    away = y - x @ w
    size = xp.abs(away)
    return xp.sum(xp.where(size < 1.0, 0.5 * away * away, size - 0.5))


def logistic(xp: Any, w: Any, x: Any, y: Any) -> Any:
    """A logistic regression."""
    z = x @ w
    return xp.sum(y * z - xp.logaddexp(0.0, z))


def poisson(xp: Any, w: Any, x: Any, y: Any) -> Any:
    """A regression of counts."""
    z = x @ w
    return xp.sum(y * z - xp.exp(z))


def softmax(xp: Any, w: Any, x: Any, y: Any) -> Any:
    """A regression of ten classes."""
    z = x @ w
    z = z - xp.max(z, axis=1, keepdims=True)
    return xp.sum(y * z) - xp.sum(xp.log(xp.sum(xp.exp(z), axis=1)))


def mixture(xp: Any, means: Any, x: Any) -> Any:
    """A mixture of normal distributions of one variance."""
    score = -0.5 * (x[:, None] - means[None, :]) ** 2
    most = xp.max(score, axis=1, keepdims=True)
    return xp.sum(most[:, 0] + xp.log(xp.sum(xp.exp(score - most), axis=1)))


def layer(xp: Any, w: Any, v: Any, x: Any, y: Any) -> Any:
    """A perceptron with one layer of 16."""
    return xp.mean((xp.tanh(x @ w) @ v - y) ** 2)


def springs(xp: Any, x: Any, pull: Any) -> Any:
    """The energy of a chain of points in space, under a pull along its links."""
    apart = x[1:] - x[:-1]
    length = xp.sqrt(xp.sum(apart * apart, axis=-1, keepdims=True))
    return xp.sum((length - 1.0) ** 2) + xp.sum(apart / length * pull)


def cases(dtype: str) -> dict[str, tuple[Density, int, list[np.ndarray[Any, Any]]]]:
    """The densities by name, how many of their arrays are parameters, and the arrays."""
    random = np.random.default_rng(0)
    x = random.standard_normal((ROWS, COLUMNS)).astype(dtype)
    y = (random.random(ROWS) < 0.5).astype(dtype)
    w = (random.standard_normal(COLUMNS) * 0.1).astype(dtype)
    many = (random.standard_normal((COLUMNS, 16)) * 0.1).astype(dtype)
    classes = np.eye(10, dtype=dtype)[random.integers(0, 10, ROWS)]
    regressions = {f.__name__: (f, 1, [w, x, y]) for f in (gauss, huber, logistic, poisson)}
    return regressions | {
        "softmax": (softmax, 1, [many[:, :10].copy(), x, classes]),
        "mixture": (mixture, 1, [np.linspace(-2, 2, 8).astype(dtype), x[:, 0].copy()]),
        "layer": (layer, 2, [many, w[:16].copy(), x, y]),
        "springs": (springs, 1, [random.standard_normal((ROWS, 3)).astype(dtype), np.array([0.1, 0.2, 0.3], dtype)]),
    }


def bench(name: str, dtype: str, threads: int) -> None:
    """Compare the gradients, then the times."""
    import jax
    import jax.numpy as jnp

    import primsplit as ps

    jax.config.update("jax_enable_x64", True)
    density, count, arrays = cases(dtype)[name]
    ours = bound(ps.split(lambda *a: density(np, *a), *arrays, wrt=range(count)).joint(), arrays, threads)
    step = jax.jit(jax.value_and_grad(lambda *a: density(jnp, *a), tuple(range(count))))
    given = [jnp.asarray(a) for a in arrays]
    for a, b in zip(as_numbers(ours()), as_numbers(step(*given)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=1e-2 * float(np.max(np.abs(b))))
    calls = {"primsplit": ours, "jax.jit": lambda: jax.block_until_ready(step(*given))}
    print_table(f"{name}, {dtype}", compare(calls, budget=2.0), "primsplit")


def main() -> None:
    """Run the densities that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--cores", type=int, default=1)
    asked = parser.parse_args()
    use_cores(asked.cores)
    for dtype in ("float64", "float32"):
        for name in asked.names or cases(dtype):
            bench(name, dtype, asked.cores)


if __name__ == "__main__":
    main()
