"""Per-example gradients of a perceptron: `ps.vmap(ps.grad(loss))` in onnxruntime beside jax.jit(jax.vmap(jax.grad)).

    python -m tools.bench.per_example [--cores 1] [--batch 64]

Two uses: the gradients themselves, and their norms alone, as private training clips by them. The loop calls the
gradient of one example once an example, in onnxruntime too. Every alternative is compared with the others before it is
timed. Our outputs are bound once, so that their memory is used again; jax takes new memory for each call's results.
Needs `pip install -e ".[compare]"`.
"""

import argparse
import itertools
from typing import Any

import numpy as np

from tools.bench.calls import Calls, as_numbers, bound
from tools.bench.peers import use_cores
from tools.bench.timing import compare, print_table

Arrays = dict[str, np.ndarray[Any, Any]]
SIZES = {"small 20-32-32-1": [20, 32, 32, 1], "medium 64-256-256-10": [64, 256, 256, 10]}


def data(sizes: list[int], batch: int) -> tuple[Arrays, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Parameters, and the examples' features and targets, float32."""
    random = np.random.default_rng(0)
    params: Arrays = {}
    for layer, (before, after) in enumerate(itertools.pairwise(sizes)):
        params[f"w{layer}"] = (random.standard_normal((before, after)) / np.sqrt(before)).astype(np.float32)
        params[f"b{layer}"] = np.zeros(after, np.float32)
    features = random.standard_normal((batch, sizes[0])).astype(np.float32)
    return params, features, random.standard_normal((batch, sizes[-1])).astype(np.float32)


def loss(xp: Any, p: dict[str, Any], x: Any, y: Any) -> Any:
    """The squared error of one example, in any library with NumPy's names."""
    layers = len(p) // 2
    for layer in range(layers):
        x = x @ p[f"w{layer}"] + p[f"b{layer}"]
        x = xp.tanh(x) if layer < layers - 1 else x
    return xp.sum((x - y) ** 2)


def norms(xp: Any, gradient: dict[str, Any]) -> Any:
    """The norm of a gradient."""
    return xp.sqrt(sum(xp.sum(g * g) for g in gradient.values()))


def _of_one(*, only_norms: bool) -> Any:
    import primsplit as ps

    slope = ps.grad(lambda p, x, y: loss(np, p, x, y))

    def one(p: Any, x: Any, y: Any) -> Any:
        return norms(np, slope(p, x, y)) if only_norms else slope(p, x, y)

    return one


def whole(params: Arrays, x: Any, y: Any, *, only_norms: bool) -> tuple[Any, list[Any]]:
    """Return the program of the batch, and its arrays."""
    import primsplit as ps

    program = ps.trace(ps.vmap(_of_one(only_norms=only_norms), in_axes=(None, 0, 0)), params, x, y)
    return program, [*(params[k] for k in sorted(params)), x, y]


def ours(params: Arrays, x: Any, y: Any, threads: int, *, only_norms: bool) -> Calls:
    """The batch as one file, and a loop over the gradient of one example."""
    import primsplit as ps
    from primsplit.programs.runtime import Session

    one = _of_one(only_norms=only_norms)
    leaves = [params[k] for k in sorted(params)]
    program, arrays = whole(params, x, y, only_norms=only_norms)
    open_size = ps.trace(
        ps.vmap(one, in_axes=(None, 0, 0)),
        params, ps.spec("float32", ["B", *x.shape[1:]]), ps.spec("float32", ["B", *y.shape[1:]]),
    )  # fmt: skip
    single = ps.trace(one, params, x[0], y[0])
    loops = Session(single.to_onnx(), threads=threads)
    examples = [dict(zip(loops.inputs, [*leaves, a, b], strict=True)) for a, b in zip(x, y, strict=True)]
    return {
        "primsplit vmap": bound(program, arrays, threads),
        "primsplit vmap, size at run time": bound(open_size, [*leaves, x, y], threads),
        "primsplit, example by example": lambda: [loops.run(e) for e in examples],
    }


def jaxs(params: Arrays, x: Any, y: Any, *, only_norms: bool) -> Calls:
    """jax.jit of jax.vmap of jax.grad."""
    import jax
    import jax.numpy as jnp

    slope = jax.grad(lambda p, x, y: loss(jnp, p, x, y))

    def one(p: Any, x: Any, y: Any) -> Any:
        return norms(jnp, slope(p, x, y)) if only_norms else slope(p, x, y)

    function = jax.jit(jax.vmap(one, in_axes=(None, 0, 0)))
    given = {k: jnp.asarray(v) for k, v in params.items()}
    return {"jax.jit(vmap(grad))": lambda: jax.block_until_ready(function(given, x, y))}


def stacked(found: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a result, in the order of the parameters' names; those of a loop over examples are stacked."""
    if isinstance(found, list) and isinstance(found[0], list):
        return [np.stack(parts) for parts in zip(*found, strict=True)]
    return as_numbers(found)


def main() -> None:
    """Print a table for each network and each use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    asked = parser.parse_args()
    use_cores(asked.cores)
    for name, sizes in SIZES.items():
        params, x, y = data(sizes, asked.batch)
        for only_norms in (False, True):
            alternatives = {
                **ours(params, x, y, asked.cores, only_norms=only_norms),
                **jaxs(params, x, y, only_norms=only_norms),
            }
            results = [stacked(call()) for call in alternatives.values()]
            for found in results[1:]:
                for a, b in zip(found, results[0], strict=True):
                    np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)
            what = "norms" if only_norms else "gradients"
            print_table(f"{name}, batch {asked.batch}: {what}", compare(alternatives), "jax.jit(vmap(grad))")


if __name__ == "__main__":
    main()
