"""Loops: an LSTM beside torch and JAX, the cost of one iteration, and what a gradient keeps, in one run.

    python -m tools.bench.loops [--cores 1] [--only lstm|iteration|captures]

`lstm`: hidden 128, 100 steps, batch 16, float32, value and gradient of the sum of squared states with respect to all
weights and the input. `iteration`: ten elementwise operators a step on a 4 x 8 state, 1,000 steps, as Scan, as an
unrolled program and in jax.lax.scan. `captures`: bytes kept against length, with and without checkpoints.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.bench.calls import Calls
from tools.bench.peers import use_cores
from tools.bench.timing import compare, print_table

Arrays = dict[str, np.ndarray[Any, Any]]

STEPS, BATCH, HIDDEN, INPUT = 100, 16, 128, 128


def lstm_data() -> Arrays:
    """Weights as torch has them, and a batch of sequences."""
    random = np.random.default_rng(0)
    bound = 1 / np.sqrt(HIDDEN)
    shapes = {"w": (4 * HIDDEN, INPUT), "r": (4 * HIDDEN, HIDDEN), "b": (4 * HIDDEN,), "xs": (STEPS, BATCH, INPUT)}
    return {k: random.uniform(-bound, bound, s).astype(np.float32) for k, s in shapes.items()}


def lstm(xp: Any, scan: Callable[..., Any], sigmoid: Callable[[Any], Any], w: Any, r: Any, b: Any, xs: Any) -> Any:
    """The sum of squared states of an LSTM that starts at zero, in any library with NumPy's names."""

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = xp.split(x @ w.T + b + h @ r.T, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * xp.tanh(g)
        h = sigmoid(o) * xp.tanh(c)
        return (h, c), h

    start = xp.zeros((BATCH, HIDDEN), np.float32)
    return xp.sum(scan(step, (start, start), xs)[1] ** 2)


def lstm_ours(data: Arrays, threads: int) -> Calls:
    """The joint file and the forward pass alone."""
    import scipy.special

    import primsplit as ps
    from primsplit.programs.runtime import Session

    made = ps.split(partial(lstm, np, ps.scan, scipy.special.expit), *data.values())
    joint, forward = (Session(p.to_onnx(), threads=threads) for p in (made.joint(), made.program))
    return {"ours": lambda: joint(*data.values()), "ours, forward only": lambda: forward(*data.values())}


def lstm_jax(data: Arrays) -> Calls:
    """jax.jit of value and gradient."""
    import jax
    import jax.numpy as jnp

    function = partial(lstm, jnp, jax.lax.scan, jax.nn.sigmoid)
    compiled = jax.jit(jax.value_and_grad(function, argnums=(0, 1, 2, 3)))
    given = [jnp.asarray(v) for v in data.values()]
    return {"jax.jit": lambda: jax.block_until_ready(compiled(*given))}


def lstm_torch(data: Arrays, device: str = "cpu") -> Calls:
    """torch.nn.LSTM and autograd."""
    import torch

    layer = torch.nn.LSTM(INPUT, HIDDEN).to(device)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.tensor(data["w"]))
        layer.weight_hh_l0.copy_(torch.tensor(data["r"]))
        layer.bias_ih_l0.copy_(torch.tensor(data["b"]))
        layer.bias_hh_l0.zero_()
    xs = torch.tensor(data["xs"], device=device, requires_grad=True)
    wanted = [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, xs]

    def run() -> Any:
        value = (layer(xs)[0] ** 2).sum()
        return value, torch.autograd.grad(value, wanted)

    return {"torch": run}


def bench_lstm(threads: int) -> None:
    """Compare the gradients, then the times."""
    data = lstm_data()
    alternatives = lstm_ours(data, threads) | lstm_jax(data) | lstm_torch(data)
    _, *found = alternatives["ours"]()
    for name in ("jax.jit", "torch"):
        for a, b in zip(found, alternatives[name]()[1], strict=True):
            np.testing.assert_allclose(a, np.asarray(b), rtol=2e-3, atol=1e-4)
    seconds = compare(alternatives, rounds=21, budget=2.0)
    print_table(f"LSTM, hidden {HIDDEN}, {STEPS} steps, batch {BATCH}", seconds, "ours")


def ten_operators(xp: Any, h: Any, x: Any) -> Any:
    """One step of the iteration bench."""
    for _ in range(5):
        h = xp.tanh(h * x)
    return h


def bench_iteration(threads: int) -> None:
    """Value and gradient of 1,000 small steps."""
    import jax
    import jax.numpy as jnp

    import primsplit as ps
    from primsplit.programs.runtime import Session

    steps = 1000
    xs = np.random.default_rng(0).uniform(0.5, 1.5, (steps, 4, 8)).astype(np.float32)

    def scanned(scan: Callable[..., Any], xp: Any, xs: Any) -> Any:
        start = xp.ones((4, 8), np.float32)
        return xp.sum(scan(lambda h, x: (ten_operators(xp, h, x), None), start, xs)[0])

    def unrolled(xs: Any) -> Any:
        h = np.ones((4, 8), np.float32)
        for i in range(steps):
            h = ten_operators(np, h, xs[i])
        return np.sum(h)

    in_jax = jax.jit(jax.value_and_grad(partial(scanned, jax.lax.scan, jnp)))
    given = jnp.asarray(xs)
    alternatives: Calls = {"jax.lax.scan": lambda: jax.block_until_ready(in_jax(given))}
    for name, function in (("ours, Scan", partial(scanned, ps.scan, np)), ("ours, unrolled", unrolled)):
        session = Session(ps.split(function, xs).joint().to_onnx(), threads=threads, plan_memory=True)
        alternatives[name] = partial(session, xs)
    print_table(f"{steps} steps of ten operators", compare(alternatives, budget=2.0), "ours, Scan")


def bench_captures() -> None:
    """Bytes that the gradient of a recurrence keeps."""
    import primsplit as ps

    print("\nbytes kept by the gradient of a recurrence of 1,024 float64 numbers")
    print(f"  {'steps':>8s} {'all':>14s} {'square root':>14s} {'4 snapshots':>14s}")
    for steps in (10, 100, 1000, 10_000):
        row = []
        for schedule in (None, "sqrt", 4):

            def f(h: Any, xs: Any, schedule: Any = schedule) -> Any:
                return ps.scan(lambda h, x: (np.tanh(h * x), None), h, xs, checkpoint=schedule)[0].sum()

            split = ps.split(f, ps.spec("float64", [1024]), ps.spec("float64", [steps]))
            row.append(sum(int(c["bytes"]) for c in split.capture_table()))
        print(f"  {steps:8d} " + " ".join(f"{b:14,d}" for b in row))


def main() -> None:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--only", choices=["lstm", "iteration", "captures"])
    given = parser.parse_args()
    use_cores(given.cores)
    benches: Calls = {
        "lstm": partial(bench_lstm, given.cores),
        "iteration": partial(bench_iteration, given.cores),
        "captures": bench_captures,
    }
    for name, bench in benches.items():
        if given.only in {None, name}:
            bench()


if __name__ == "__main__":
    main()
