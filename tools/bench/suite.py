"""The rows of the table of all benches: those of each bench of this folder, and the cases that users felt as slow.

A name is the bench and its case, `densities gauss float64`. Rows are made lazily: nothing is imported or computed
before a row is asked for its calls.
"""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from tests.networks import NAMES, learned, light_network, random_inputs
from tools.bench import densities, fixed, idioms, light, linear_algebra, loading, loops, nests, per_example, recurrences
from tools.bench import products as with_hessians
from tools.bench.calls import Call
from tools.bench.rows import (
    Ours,
    Row,
    by_autograd,
    by_jax,
    by_torch,
    gradient,
    program_call,
    torch_names,
)  # fmt: skip

MODELS = Path(__file__).parents[2] / "models"
PRODUCTS_OF = ("predator_prey", "optimal_control", "gaussian_process")
"""Models of which the product with a Hessian is a row."""
SIZES = {
    "mlp": "784-1024-1024-10, batch 256",
    "regression32": "100,000 x 50",
    "regression64": "100,000 x 50",
    "transformer": "8 x 128 x 256, 4 heads",
    "convnet": "32 x 3 x 32 x 32",
}


@functools.cache
def rows() -> dict[str, Row]:
    """Return all rows by name, in the order of the table."""
    sources = (
        fixed_rows(), density_rows(), loop_rows(), model_rows(), network_rows(), nest_rows(), example_rows(),
        product_rows(), recurrences.rows(), linear_algebra.rows(), idioms.rows(), loading.rows(),
    )  # fmt: skip
    return {row.name: row for row in itertools.chain(*sources)}


def fixed_rows() -> Iterator[Row]:
    """The rows of `fixed.py`."""
    for name, bench in fixed.BENCHES.items():
        yield Row(
            f"fixed {name}",
            "float64" if name == "regression64" else "float32",
            SIZES[name],
            partial(_fixed, bench),
            {
                "jax.jit": partial(_jax_of, bench),
                "torch eager": partial(_torch_of, bench, "torch eager"),
                "torch.compile": partial(_torch_of, bench, "torch.compile"),
                "autograd": partial(_autograd_of, name, bench),
            },
            budget=2.0,
        )


def _fixed(bench: fixed.Bench, threads: int) -> Ours:
    made, leaves = bench.split()
    return program_call(made.joint(), leaves, threads)


def _jax_of(bench: fixed.Bench, _: int) -> Call:
    return fixed.jax_alternative(bench)["jax.jit"]


def _torch_of(bench: fixed.Bench, which: str, threads: int) -> Call:
    return fixed.torch_alternatives(bench, threads)[which]


def _autograd_of(name: str, bench: fixed.Bench, threads: int) -> Call:
    from tools.bench import transformer

    params, data = bench.data()
    if name == "convnet":
        raise NotImplementedError("autograd has no convolution of several channels")

    def loss(xp: Any, p: Any, *rest: Any) -> Any:
        if name == "mlp":
            return fixed.mlp(xp, p, *rest)
        if name == "transformer":
            from autograd.scipy.special import erf

            return transformer.block(xp, erf, p, *rest)
        return fixed.regression(xp, p, *rest)

    return by_autograd(loss, [params, *data.values()], (0,))(threads)


def density_rows() -> Iterator[Row]:
    """The rows of `densities.py`. Their arrays are made when they are asked for."""
    for dtype in ("float64", "float32"):
        for name in densities.NAMES:
            sides: dict[str, Callable[..., Any]] = {
                "jax.jit": by_jax, "torch eager": _torch_in_numpys_names, "autograd": by_autograd,
            }  # fmt: skip
            yield Row(
                f"densities {name} {dtype}",
                dtype,
                "100,000 x 3" if name == "springs" else "100,000 x 50" if name != "mixture" else "100,000 x 8",
                partial(_density, gradient, name, dtype),
                {peer: partial(_density, side, name, dtype) for peer, side in sides.items()},
                tolerance=2e-2,
            )


def _density(side: Callable[..., Any], name: str, dtype: str, threads: int) -> Any:
    density, count, arrays = densities.cases(dtype)[name]
    return side(density, arrays, range(count))(threads)


def _torch_in_numpys_names(function: Any, args: Any, wrt: Any) -> Any:
    return by_torch(torch_names(function), args, wrt)


def loop_rows() -> Iterator[Row]:
    """The LSTM and the iteration of `loops.py`."""
    size = f"{loops.STEPS} steps of {loops.BATCH} x {loops.HIDDEN}"
    yield Row(
        "loops lstm",
        "float32",
        size,
        _lstm,
        {
            "jax.jit": lambda _: loops.lstm_jax(loops.lstm_data())["jax.jit"],
            "torch eager": _lstm_in_torch,
        },
        tolerance=2e-3,
    )
    xs = np.random.default_rng(0).uniform(0.5, 1.5, (1000, 4, 8)).astype(np.float32)
    yield Row("loops iteration", "float32", "1,000 steps of 4 x 8", partial(_iteration, xs), _iteration_peers(xs))


def _lstm(threads: int) -> Ours:
    import scipy.special

    import primsplit as ps

    data = loops.lstm_data()
    made = ps.split(partial(loops.lstm, np, ps.scan, scipy.special.expit), *data.values())
    return program_call(made.joint(), list(data.values()), threads)


def _lstm_in_torch(threads: int) -> Call:
    import torch

    torch.set_num_threads(threads)
    run = loops.lstm_torch(loops.lstm_data())["torch"]

    def call() -> Any:
        value, found = run()
        return value.detach(), found

    return call


def _iteration(xs: Any, threads: int) -> Ours:
    import primsplit as ps

    return gradient(partial(_scanned, ps.scan), (xs,), (0,))(threads)


def _scanned(scan: Any, xp: Any, xs: Any) -> Any:
    start = xp.ones((4, 8), np.float32)
    return xp.sum(scan(lambda h, x: (loops.ten_operators(xp, h, x), None), start, xs)[0])


def _iteration_peers(xs: Any) -> dict[str, Callable[[int], Call]]:
    def in_jax(threads: int) -> Call:
        import jax

        return by_jax(partial(_scanned, jax.lax.scan), (xs,), (0,))(threads)

    def in_torch(torch: Any, xs: Any) -> Any:
        h = torch.ones(4, 8)
        for x in xs:
            h = loops.ten_operators(torch, h, x)
        return h.sum()

    return {"jax.jit": in_jax, "torch eager": by_torch(in_torch, (xs,), (0,))}


def model_rows() -> Iterator[Row]:
    """The rows of `models.py`: every model that has an example."""
    for path in sorted(MODELS.glob("*.py")):
        if "def example_inputs" in path.read_text():
            yield Row(
                f"models {path.stem}",
                "",
                "its example",
                partial(_model, path),
                {peer: partial(_model_peer, path, peer) for peer in ("jax.jit", "torch eager", "torch.compile")},
                tolerance=1e-6,
                budget=0.6,
            )


def _arguments(file: Any) -> Any:
    return file.example().args


def _model(path: Path, threads: int) -> Ours:
    import primsplit as ps
    from primsplit.programs.plain import arrays_of
    from primsplit.programs.userfile import load

    file = load(str(path))
    args = _arguments(file)
    made = ps.split(file.function, *args, wrt=file.wrt, seed="ones")
    return program_call(made.joint(), arrays_of(made.program, (args, {})), threads)


def _model_peer(path: Path, peer: str, _: int) -> Call:
    from primsplit.programs.userfile import load
    from tools.bench.models import PEERS

    file = load(str(path))
    names = list(inspect.signature(file.function).parameters)
    wrt = [names.index(n) for n in file.wrt or names]
    call = PEERS[peer](file.module, file.name, list(_arguments(file)), wrt)
    call()
    return call


def network_rows() -> Iterator[Row]:
    """The nine networks of `light.py`: value and gradient of the image and the weights."""
    for name in NAMES:
        yield Row(
            f"light {name}",
            "float32",
            "1 x 3 x 224 x 224",
            partial(_network, name),
            {"torch eager": partial(_network_in_torch, name)},
            tolerance=3e-2,
            budget=4.0,
        )


def _network_inputs(name: str) -> Any:
    model = light_network(name)
    shape = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
    return model, random_inputs(model), np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def _network(name: str, threads: int) -> Ours:
    model, inputs, cotangent = _network_inputs(name)
    joint = light.split(model, [next(iter(inputs)), *learned(model)]).joint()
    values = {**inputs, joint.inputs[-1]: cotangent}
    return program_call(joint, [values[n] for n in joint.inputs], threads)


def _network_in_torch(name: str, threads: int) -> Call:
    model, inputs, cotangent = _network_inputs(name)
    return light.torch_calls(model, inputs, cotangent, threads)["torch gradient"]


def nest_rows() -> Iterator[Row]:
    """The loop nests of `nests.py`, prepared, beside NumPy by hand, jax and torch."""
    for name, bench in nests.BENCHES.items():
        for dtype in ("float64", "float32"):
            yield Row(
                f"nests {name} {dtype}",
                dtype,
                " and ".join(" x ".join(map(str, shape)) for shape in bench.shapes),
                partial(_nest, bench, dtype),
                {
                    "jax.jit": partial(_nest_in, nests.in_jax, bench, dtype),
                    "torch eager": partial(_nest_in, nests.in_torch, bench, dtype),
                    "NumPy by hand": partial(_by_hand, bench, dtype),
                },
            )


def _nest(bench: nests.Bench, dtype: str, _: int) -> Ours:
    import primsplit as ps

    arrays, seed = nests.data(bench, dtype)
    joint = ps.split(ps.loops(bench.text), *arrays).joint()
    given = (*arrays, seed) if seed.ndim else arrays
    prepared = joint.prepare(*given)
    return Ours(lambda: prepared(*given), joint, given)


def _nest_in(library: Callable[..., Any], bench: nests.Bench, dtype: str, _: int) -> Call:
    (call,) = library(bench, *nests.data(bench, dtype)).values()
    return cast("Call", call)


def _by_hand(bench: nests.Bench, dtype: str, _: int) -> Call:
    arrays, seed = nests.data(bench, dtype)
    return lambda: bench.by_hand(*arrays, seed)


def example_rows() -> Iterator[Row]:
    """The gradients of each of 64 examples, and their norms alone, of `per_example.py`."""
    for title, sizes in per_example.SIZES.items():
        for only_norms in (False, True):
            yield Row(
                f"per_example {title.split()[0]} {'norms' if only_norms else 'gradients'}",
                "float32",
                f"{title.split()[1]}, batch 64",
                partial(_examples, sizes, only_norms),
                {
                    "jax.jit": partial(_examples_in_jax, sizes, only_norms),
                },
                tolerance=2e-3,
            )


def _examples(sizes: list[int], only_norms: bool, threads: int) -> Ours:
    program, arrays = per_example.whole(*per_example.data(sizes, 64), only_norms=only_norms)
    return program_call(program, arrays, threads)


def _examples_in_jax(sizes: list[int], only_norms: bool, _: int) -> Call:
    return per_example.jaxs(*per_example.data(sizes, 64), only_norms=only_norms)["jax.jit(vmap(grad))"]


def product_rows() -> Iterator[Row]:
    """Products with a Hessian of `products.py`, and the whole Hessian of 200 parameters."""
    for name in ("mlp", "regression32", "regression64"):
        yield Row(
            f"products {name}",
            "float64" if name == "regression64" else "float32",
            SIZES[name],
            partial(_product, name),
            {"jax.jit": partial(_product_in_jax, name)},
        )
    for name in PRODUCTS_OF:
        path = MODELS / f"{name}.py"
        peers = {"jax.jit": partial(_model_product_in_jax, path)}
        yield Row(f"products {name}", "", "its example", partial(_model_product, path), peers, 1e-6)
    leaves = with_hessians.hessian_data()
    function = with_hessians.network
    yield Row("products hessian", "float64", "200 parameters", _hessian, {"jax.jit": _hessian_in_jax(function, leaves)})


def _model_product(path: Path, threads: int) -> Ours:
    """The file of the product of the Hessian with ones."""
    from primsplit.programs.export import derive
    from primsplit.programs.plain import arrays_of
    from primsplit.programs.userfile import load

    file = load(str(path))
    args = _arguments(file)
    product: Any = derive(file.function, *args, mode="hvp", wrt=file.wrt)
    joint = product.joint()
    leaves = arrays_of(product.program, (args, {}))
    moved = [*leaves, *(np.ones(t.shape, t.dtype) for t in joint.types[len(leaves) :])]
    return program_call(joint, moved, threads)


def _model_product_in_jax(path: Path, _: int) -> Call:
    """Value, gradient and product with ones."""
    import jax
    import jax.numpy as jnp

    from primsplit.programs.userfile import load
    from tools.bench import peers

    jax.config.update("jax_enable_x64", True)
    file = load(str(path))
    names = list(inspect.signature(file.function).parameters)
    wrt = tuple(names.index(n) for n in file.wrt or names)
    given = [jax.tree.map(jnp.asarray, a) for a in _arguments(file)]
    peers.substitute(file.module, jnp)

    def with_product(*given: Any) -> Any:
        def both(*asked: Any) -> Any:
            told = [asked[wrt.index(i)] if i in wrt else a for i, a in enumerate(given)]
            return jax.value_and_grad(getattr(file.module, file.name), wrt)(*told)

        asked = tuple(given[i] for i in wrt)
        (value, slopes), (_, moved) = jax.jvp(both, asked, jax.tree.map(jnp.ones_like, asked))
        return value, slopes, moved

    step = jax.jit(with_product)
    return lambda: jax.block_until_ready(step(*given))


def _product(name: str, threads: int) -> Ours:
    import primsplit as ps

    model, params, data, vector = with_hessians.case(name)
    program = ps.hvp(lambda p, *rest: model(np, p, *rest)).program(params, *data.values(), vector)
    leaves = [*fixed.leaves_of(params, data), *(vector[k] for k in sorted(params))]
    return program_call(program, leaves, threads)


def _product_in_jax(name: str, _: int) -> Call:
    model, params, data, vector = with_hessians.case(name)
    calls = with_hessians.jax_calls(model, params, vector, list(data.values()))[0]
    return calls["product alone"]


def _hessian(threads: int) -> Ours:
    import primsplit as ps

    leaves = with_hessians.hessian_data()
    program = ps.trace(ps.hessian(lambda *a: with_hessians.network(np, *a)), *leaves)
    return program_call(program, leaves, threads)


def _hessian_in_jax(function: Any, leaves: Any) -> Callable[[int], Call]:
    def peer(_: int) -> Call:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        hessian = jax.jit(jax.hessian(lambda *a: function(jnp, *a)))
        given = [jnp.asarray(a) for a in leaves]
        return lambda: jax.block_until_ready(hessian(*given))

    return peer
