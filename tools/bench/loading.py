"""Time the work around a run: loading a large program, and calls of Python."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tools.bench.calls import Call
from tools.bench.rows import Ours, Row, by_autograd, by_jax, by_torch

STEPS = 1250
"""The steps of the long program: four operators each."""
OBSERVATIONS, COLUMNS = 100_000, 50


def rows() -> Iterator[Row]:
    """The rows of this file."""
    yield load_row(is_value=False)
    yield load_row(is_value=True)
    yield closure_row(prepared=False)
    yield closure_row(prepared=True)
    yield tiny_row()


def load_row(*, is_value: bool) -> Row:
    """A new session of 5,000 operators and their gradient, or of their value, opened as a program's call opens it."""

    def program() -> Any:
        import primsplit as ps

        def function(x: Any, y: Any) -> Any:
            for _ in range(STEPS):
                x = np.tanh(x) * y + np.sin(x)
            return x.sum()

        specs = ps.spec("float32", [32, 128]), ps.spec("float32", [128])
        return ps.trace(function, *specs) if is_value else ps.split(function, *specs).joint()

    def ours(_: int) -> Ours:
        from primsplit.programs.runtime import Session
        from primsplit.targets.passes import MERGING, idle_passes

        model = program().to_onnx()
        skipped = [MERGING, *idle_passes({n.op_type for n in model.graph.node})]
        return Ours(lambda: _loaded(Session(model, threads=1, skipped=skipped)))

    def stock(_: int, *, without: tuple[str, ...]) -> Call:
        import onnxruntime

        model = program().to_onnx().SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return lambda: _loaded(onnxruntime.InferenceSession(model, options, disabled_optimizers=list(without)))

    peers = {
        "all passes": partial(stock, without=()),
        "without merging": partial(stock, without=("CommonSubexpressionElimination",)),
    }
    name = "loading 5,000 operators" + (", value" if is_value else "")
    return Row(name, "float32", f"{4 * STEPS:,} operators", ours, peers, budget=3.0)


def _loaded(_: Any) -> Any:
    """Return a number to compare: that a session is there."""
    return np.ones(())


def closure_row(*, prepared: bool) -> Row:
    """A gradient whose data a closure holds, or that is prepared, beside the same with data as arguments."""
    random = np.random.default_rng(0)
    x = random.standard_normal((OBSERVATIONS, COLUMNS), dtype=np.float32)
    y = np.sign(random.standard_normal(OBSERVATIONS, dtype=np.float32))
    w = np.zeros(COLUMNS, np.float32)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return np.mean(np.log1p(np.exp(-y * (x @ w))))

    def ours(_: int) -> Ours:
        import primsplit as ps

        if prepared:
            return Ours(partial(ps.value_and_grad(loss, wrt="w").prepare(w, x, y), w, x, y))
        return Ours(partial(ps.value_and_grad(lambda w: loss(w, x, y)), w))

    def arguments(_: int) -> Call:
        import primsplit as ps

        return partial(ps.value_and_grad(loss, wrt="w"), w, x, y)

    name = "loading prepared call" if prepared else "loading closure's data"
    return Row(name, "float32", f"{OBSERVATIONS:,} x {COLUMNS}", ours, {"as arguments": arguments})


def tiny_row() -> Row:
    """A gradient of four numbers: what Python adds to onnxruntime's run, beside jax.jit and autograd."""
    x = np.linspace(0.0, 1.0, 4)

    def ours(_: int) -> Ours:
        import primsplit as ps

        return Ours(partial(ps.value_and_grad(lambda x: np.sum(x * x)), x))

    def session_run(_: int) -> Call:
        import primsplit as ps

        session = ps.split(lambda x: np.sum(x * x), x).joint().session().session
        return partial(session.run, None, {session.get_inputs()[0].name: x})

    def function(xp: Any, x: Any) -> Any:
        return xp.sum(x * x)

    peers = {
        "session.run": session_run,
        "jax.jit": by_jax(function, (x,), (0,)),
        "autograd": by_autograd(function, (x,), (0,)),
        "torch eager": by_torch(function, (x,), (0,)),
    }
    return Row("loading tiny call", "float64", "4 numbers", ours, peers)
