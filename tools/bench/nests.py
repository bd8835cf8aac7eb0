"""Loop nests beside NumPy, JAX and torch: results and gradients in one call each, as ratios in one run.

    python -m tools.bench.nests [--cores 1] [--only amulb|log1p|rowdot|conv1d] [--dtype float64]

`amulb`: the product of two 72 x 72 matrices. `log1p`: the scalar loss of the thread on 72 x 72. `rowdot`: a dot product
for each of 1,000 rows. `conv1d`: 20,000 numbers and 9 taps. Each computes the results and the gradients of all
arguments for given cotangents. JAX is jitted, torch runs eagerly; those that are not installed are left out. The
last column counts what a prepared program allocates in 100 calls.
"""

import argparse
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tools.bench.calls import Calls
from tools.bench.peers import use_cores
from tools.bench.timing import compare, print_table

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """A nest, the shapes of its arguments, NumPy's form with gradients, and one that all three libraries have."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    by_hand: Callable[..., Any]
    function: Callable[..., Any]


def product_by_hand(a: Any, b: Any, seed: Any) -> Any:
    """The product and its gradients."""
    return a @ b, seed @ b.T, a.T @ seed


def loss_by_hand(c: Any, seed: Any) -> Any:
    """The loss and its gradient."""
    apart = c - 18
    scaled = 0.25 * apart * apart
    return np.log1p(scaled).sum(), seed * 0.5 * apart / (1 + scaled)


def dots_by_hand(a: Any, b: Any, seed: Any) -> Any:
    """The dot products and their gradients."""
    return (a * b).sum(axis=1), seed[:, None] * b, seed[:, None] * a


def windows_by_hand(x: Any, k: Any, seed: Any) -> Any:
    """The correlation and its gradients."""
    return np.correlate(x, k, "valid"), np.convolve(seed, k, "full"), np.correlate(x, seed, "valid")


def windows(xp: Any, x: Any, k: Any) -> Any:
    """The correlation as a sum of slices."""
    taps, count = k.shape[0], x.shape[0] - k.shape[0] + 1
    return xp.stack([x[a : a + count] * k[a] for a in range(taps)]).sum(0)


BENCHES: Mapping[str, Bench] = {
    "amulb": Bench(
        "C[m,n] := A[m,k] * B[k,n]",
        ((72, 72), (72, 72)),
        product_by_hand,
        lambda xp, a, b: xp.einsum("mk,kn->mn", a, b),
    ),
    "log1p": Bench(
        "t := log1p(0.25 * (C[i,j] - 18)**2)",
        ((72, 72),),
        loss_by_hand,
        lambda xp, c: xp.log1p(0.25 * (c - 18) ** 2).sum(),
    ),
    "rowdot": Bench(
        "y[m] := A[m,k] * B[m,k]",
        ((1000, 128), (1000, 128)),
        dots_by_hand,
        lambda xp, a, b: xp.einsum("mk,mk->m", a, b),
    ),
    "conv1d": Bench("y[i] := x[i+a] * k[a]", ((20000,), (9,)), windows_by_hand, windows),
}


def data(bench: Bench, dtype: str) -> tuple[Arrays, Any]:
    """Return the arguments of a nest and the cotangent of its result."""
    random = np.random.default_rng(0)
    arrays = tuple(random.normal(size=shape).astype(dtype) for shape in bench.shapes)
    shape = np.shape(bench.function(np, *arrays))
    return arrays, np.asarray(random.normal(size=shape) if shape else 1, dtype)


def ours(bench: Bench, arrays: Arrays, seed: Any) -> Calls:
    """The joint program, called as it is and prepared."""
    import primsplit as ps

    joint = ps.split(ps.loops(bench.text), *arrays).joint()
    given = (*arrays, seed) if seed.ndim else arrays
    prepared = joint.prepare(*given)
    return {"nest": lambda: joint(*given), "nest, prepared": lambda: prepared(*given)}


def in_jax(bench: Bench, arrays: Arrays, seed: Any) -> Calls:
    """Value and pullback, jitted."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def run(given: Any, cotangent: Any) -> Any:
        value, pullback = jax.vjp(partial(bench.function, jnp), *given)
        return value, *pullback(cotangent)

    compiled, given = jax.jit(run), [jnp.asarray(a) for a in arrays]
    return {"jax": lambda: jax.block_until_ready(compiled(given, jnp.asarray(seed)))}


def in_torch(bench: Bench, arrays: Arrays, seed: Any) -> Calls:
    """Value and autograd, eagerly."""
    import torch

    given = [torch.tensor(a, requires_grad=True) for a in arrays]
    cotangent = torch.tensor(seed)

    def run() -> Any:
        value = bench.function(torch, *given)
        return value.detach(), *torch.autograd.grad(value, given, cotangent)

    return {"torch": run}


def run(name: str, dtype: str) -> None:
    """Compare the results, then the times; count what a prepared program allocates."""
    from primsplit.ir.caching.counters import buffers

    bench = BENCHES[name]
    arrays, seed = data(bench, dtype)
    alternatives: Calls = {**ours(bench, arrays, seed), "numpy": partial(bench.by_hand, *arrays, seed)}
    alternatives |= in_jax(bench, arrays, seed) if importlib.util.find_spec("jax") else {}
    alternatives |= in_torch(bench, arrays, seed) if importlib.util.find_spec("torch") else {}
    expected = bench.by_hand(*arrays, seed)
    for alternative, call in alternatives.items():
        for found, right in zip(call(), expected, strict=True):
            scale = np.abs(right).max() * (1e-4 if dtype == "float32" else 1e-11)
            np.testing.assert_allclose(np.asarray(found), right, rtol=1e-4, atol=scale, err_msg=alternative)
    print_table(f"{name}: {bench.text}, {dtype}", compare(alternatives, rounds=21, budget=1.0), "numpy")
    before = buffers()
    for _ in range(100):
        alternatives["nest, prepared"]()
    print(f"  allocated by 100 prepared calls: {buffers().since(before)}")


def main() -> None:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--only", choices=list(BENCHES))
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    given = parser.parse_args()
    use_cores(given.cores)
    for name in BENCHES:
        if given.only in {None, name}:
            run(name, given.dtype)


if __name__ == "__main__":
    main()
