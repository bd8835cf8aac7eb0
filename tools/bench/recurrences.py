"""Recurrences that users felt as slow: a GRU whose cotangents underflow, small loops, filters, steps in parallel."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tools.bench.calls import Call
from tools.bench.rows import Ours, Peers, Row, by_jax, by_torch, gradient, program_call

GRU_STEPS, GRU_BATCH, GRU_INPUT, GRU_HIDDEN = 200, 16, 64, 128
SAMPLES = 1984
"""The length of the signal that is filtered: 31 blocks of 64."""


def rows() -> Iterator[Row]:
    """The rows of this file."""
    yield gru_row()
    yield pendulum_row(50)
    for steps in (256, 1024):
        yield parallel_row(steps)
    yield predators_row()
    for order in (2, 8):
        yield filter_row(order)
    yield counted_loop_row()


def gru(xp: Any, scan: Callable[..., Any], p: dict[str, Any], xs: Any) -> Any:
    """The mean square of the last state of a GRU: after 200 steps most cotangents are below the normal numbers."""

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + xp.exp(-x))

    def step(h: Any, z: Any) -> Any:
        (zr, zz, zn), (hr, hz, hn) = xp.split(z, 3, axis=-1), xp.split(h @ p["wh"].T + p["bh"], 3, axis=-1)
        update = sigmoid(zz + hz)
        return (1 - update) * xp.tanh(zn + sigmoid(zr + hr) * hn) + update * h, None

    start = xp.zeros((GRU_BATCH, GRU_HIDDEN), np.float32)
    return xp.mean(scan(step, start, xs @ p["wi"].T + p["bi"])[0] ** 2)


def gru_data() -> tuple[dict[str, Any], Any]:
    """Weights as torch has them, and a batch of sequences."""
    random = np.random.default_rng(0)
    bound = GRU_HIDDEN**-0.5
    shapes = {
        "wi": (3 * GRU_HIDDEN, GRU_INPUT), "wh": (3 * GRU_HIDDEN, GRU_HIDDEN),
        "bi": (3 * GRU_HIDDEN,), "bh": (3 * GRU_HIDDEN,),
    }  # fmt: skip
    params = {k: random.uniform(-bound, bound, shape).astype(np.float32) for k, shape in shapes.items()}
    return params, random.standard_normal((GRU_STEPS, GRU_BATCH, GRU_INPUT)).astype(np.float32)


def gru_row() -> Row:
    """The GRU beside jax and torch.nn.GRU."""
    args = gru_data()

    def ours(threads: int) -> Ours:
        import primsplit as ps

        return gradient(lambda xp, *a: gru(xp, ps.scan, *a), args, (0,))(threads)

    def in_jax(threads: int) -> Call:
        import jax

        return by_jax(lambda xp, *a: gru(xp, jax.lax.scan, *a), args, (0,))(threads)

    def in_torch(threads: int) -> Call:
        import torch

        torch.set_num_threads(threads)
        params, xs = args[0], torch.tensor(args[1])
        layer = torch.nn.GRU(GRU_INPUT, GRU_HIDDEN)
        names = {"bh": "bias_hh_l0", "bi": "bias_ih_l0", "wh": "weight_hh_l0", "wi": "weight_ih_l0"}
        with torch.no_grad():
            for key, name in names.items():
                getattr(layer, name).copy_(torch.tensor(params[key]))
        asked = [getattr(layer, name) for name in names.values()]

        def run() -> Any:
            value = (layer(xs)[1] ** 2).mean()
            return value.detach(), torch.autograd.grad(value, asked)

        return run

    size = f"{GRU_STEPS} steps of {GRU_BATCH} x {GRU_HIDDEN}"
    return Row("recurrences gru", "float32", size, ours, {"jax.jit": in_jax, "torch eager": in_torch}, budget=2.0)


def step(xp: Any, a: Any, v: Any, push: Any, h: float) -> Any:
    """One step of Runge and Kutta for a damped pendulum that is pushed."""

    def rate(a: Any, v: Any) -> Any:
        return push - 0.1 * v - 9.81 * xp.sin(a)

    k1 = rate(a, v)
    v2 = v + h / 2 * k1
    k2 = rate(a + h / 2 * v, v2)
    v3 = v + h / 2 * k2
    k3 = rate(a + h / 2 * v2, v3)
    v4 = v + h * k3
    k4 = rate(a + h * v3, v4)
    return a + h * (v + 2 * v2 + 2 * v3 + v4) / 6, v + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def pendulum(xp: Any, scan: Callable[..., Any], u: Any) -> Any:
    """The cost of a swing of 4 seconds in as many steps as `u` has pushes."""
    h = 4.0 / u.shape[0]
    (a, v), _ = scan(lambda c, t: (step(xp, c[0], c[1], t, h), None), (xp.zeros(()), xp.zeros(())), u)
    return 10 * (1 + xp.cos(a)) + 0.5 * v * v + 0.001 * xp.sum(u * u)


def pushes(steps: int) -> np.ndarray[Any, Any]:
    """Small random pushes."""
    return np.random.default_rng(0).normal(0, 0.3, steps)


def pendulum_in_torch(torch: Any, u: Any) -> Any:
    """The same as a Python loop."""
    a, v = torch.zeros((), dtype=u.dtype), torch.zeros((), dtype=u.dtype)
    for t in u:
        a, v = step(torch, a, v, t, 4.0 / u.shape[0])
    return 10 * (1 + torch.cos(a)) + 0.5 * v * v + 0.001 * (u * u).sum()


def _pendulum(threads: int, u: Any, **options: Any) -> Ours:
    import primsplit as ps

    return gradient(lambda xp, u: pendulum(xp, partial(ps.scan, **options), u), (u,), (0,))(threads)


def _pendulum_in_jax(threads: int, u: Any) -> Call:
    import jax

    return by_jax(lambda xp, u: pendulum(xp, jax.lax.scan, u), (u,), (0,))(threads)


def pendulum_row(steps: int) -> Row:
    """The pendulum by Scan: two numbers are carried."""
    u = pushes(steps)
    peers: Peers = {
        "jax.jit": partial(_pendulum_in_jax, u=u),
        "torch eager": by_torch(pendulum_in_torch, (u,), (0,)),
    }
    return Row(f"recurrences pendulum {steps}", "float64", f"{steps} steps", partial(_pendulum, u=u), peers, 1e-8)


def parallel_row(steps: int) -> Row:
    """All steps at once by Newton's method, beside the Scan."""
    u = pushes(steps)
    peers: Peers = {
        "our Scan": lambda threads: _pendulum(threads, u).call,
        "jax.jit": partial(_pendulum_in_jax, u=u),
    }
    ours = partial(_pendulum, u=u, parallel=True)
    return Row(f"recurrences parallel {steps}", "float64", f"{steps} steps", ours, peers, 1e-6)


def predators(xp: Any, scan: Callable[..., Any], u: Any) -> Any:
    """Predators and prey whose products are kept."""

    def advance(c: Any, t: Any) -> Any:
        x, y = c
        return (x + 0.01 * (1.1 * x - 0.4 * x * y) + t, y + 0.01 * (0.1 * x * y - 0.4 * y)), x * y

    (x, y), seen = scan(advance, (xp.asarray(10.0), xp.asarray(5.0)), u)
    return x * x + y * y + xp.mean(seen)


def predators_row() -> Row:
    """A program's own session beside sessions with onnxruntime's memory pattern on and off."""
    u = 1e-3 * np.ones(200)

    def joint() -> Any:
        import primsplit as ps

        return ps.split(lambda u: predators(np, ps.scan, u), u, seed="ones").joint()

    def ours(_: int) -> Ours:
        program = joint()
        return Ours(partial(program.session(), u), program, (u,))

    def pattern(threads: int, *, on: bool) -> Call:
        from primsplit.programs.runtime import Session

        return partial(Session(joint().to_onnx(), threads=threads, plan_memory=on), u)

    def in_jax(threads: int) -> Call:
        import jax

        return by_jax(lambda xp, u: predators(xp, jax.lax.scan, u), (u,), (0,))(threads)

    peers: Peers = {
        "pattern on": partial(pattern, on=True), "pattern off": partial(pattern, on=False), "jax.jit": in_jax,
    }  # fmt: skip
    return Row("recurrences predators", "float64", "200 steps", ours, peers, 1e-8)


def blocked(x: Any, b: Any, a: Any, size: int = 64) -> Any:
    """Return `lfilter(b, a, x)` by blocks: two products with known matrices for each."""
    import primsplit as ps

    k = len(a) - 1
    advance = np.zeros((k, k))
    advance[:, 0], advance[:-1, 1:] = -a[1:], np.eye(k - 1)
    into = b[1:] - a[1:] * b[0]
    powers = [np.eye(k)]
    for _ in range(size):
        powers.append(advance @ powers[-1])
    seen = np.stack([p[0] for p in powers[:size]])
    impulse = np.concatenate([[b[0]], [powers[i][0] @ into for i in range(size - 1)]])
    toeplitz = np.array([[impulse[i - j] if i >= j else 0.0 for j in range(size)] for i in range(size)])
    gather = np.stack([powers[size - 1 - i] @ into for i in range(size)], 1)

    def of_block(z: Any, block: Any) -> Any:
        return powers[size] @ z + gather @ block, seen @ z + toeplitz @ block

    _, y = ps.scan(of_block, np.zeros(k), np.reshape(x, (-1, size)))
    return np.reshape(y, -1)


def filter_row(order: int) -> Row:
    """The energy of a filtered signal beside SciPy's filter and its adjoint, and a filter by blocks."""
    from scipy import signal

    x = np.random.default_rng(0).standard_normal(SAMPLES)
    b, a = signal.butter(order, 0.3)

    def by_scipy(_: int) -> Call:
        def run() -> Any:
            y = signal.lfilter(b, a, x)
            return np.sum(y * y), signal.lfilter(b, a, 2 * y[::-1])[::-1]

        return run

    ours = gradient(lambda _, x: np.sum(signal.lfilter(b, a, x) ** 2), (x,), (0,))
    peers = {
        "SciPy by hand": by_scipy,
        "by blocks": lambda threads: gradient(lambda _, x: np.sum(blocked(x, b, a) ** 2), (x,), (0,))(threads).call,
    }
    return Row(f"recurrences lfilter {order}", "float64", f"{SAMPLES} samples, order {order}", ours, peers, 1e-8)


COUNTED_STEPS, COUNTED_WIDTH = 64, 20_000


def counted_model() -> Any:
    """A model whose Loop of 64 steps stacks its states, as exporters write it."""
    from onnx import TensorProto, helper, numpy_helper

    number, flag, row = (
        helper.make_tensor_value_info(name, dtype, shape)
        for name, dtype, shape in (
            ("i", TensorProto.INT64, []), ("on", TensorProto.BOOL, []), ("h", TensorProto.FLOAT, [COUNTED_WIDTH]),
        )
    )  # fmt: skip
    outputs = [helper.make_tensor_value_info("still", TensorProto.BOOL, [])]
    outputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, [COUNTED_WIDTH]) for n in ("next", "seen")]
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["still"]),
            helper.make_node("Mul", ["h", "x"], ["scaled"]),
            helper.make_node("Tanh", ["scaled"], ["next"]),
            helper.make_node("Identity", ["next"], ["seen"]),
        ],
        "body", [number, flag, row], outputs,
    )  # fmt: skip
    constants = [
        numpy_helper.from_array(np.array(COUNTED_STEPS), "steps"), numpy_helper.from_array(np.array(True), "always"),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Loop", ["steps", "always", "x"], ["last", "states"], body=body),
        helper.make_node("Mul", ["states", "states"], ["squares"]),
        helper.make_node("ReduceSum", ["squares"], ["y"], keepdims=0),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [COUNTED_WIDTH])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [])
    graph = helper.make_graph(nodes, "counted", [given], [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def counted_loop_row() -> Row:
    """The gradient of a model with a Loop, beside torch and jax, and the model alone in onnxruntime."""
    x = np.linspace(0.5, 1.5, COUNTED_WIDTH, dtype=np.float32)

    def ours(threads: int) -> Ours:
        import tempfile
        from pathlib import Path

        import onnx

        import primsplit as ps

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "counted.onnx"
            onnx.save(counted_model(), path)
            made = ps.split(ps.load(str(path)), seed="ones")
        return program_call(made.joint(), [x], threads)

    def forward(threads: int) -> Call:
        from primsplit.programs.runtime import Session

        return partial(Session(counted_model(), threads=threads), x)

    def in_torch(torch: Any, x: Any) -> Any:
        states, h = [], x
        for _ in range(COUNTED_STEPS):
            h = torch.tanh(h * x)
            states.append(h)
        return (torch.stack(states) ** 2).sum()

    def in_jax(threads: int) -> Call:
        import jax

        def function(xp: Any, x: Any) -> Any:
            def advance(h: Any, _: Any) -> Any:
                h = xp.tanh(h * x)
                return h, h

            return xp.sum(jax.lax.scan(advance, x, xp.zeros(COUNTED_STEPS))[1] ** 2)

        return by_jax(function, (x,), (0,))(threads)

    peers: Peers = {
        "jax.jit": in_jax,
        "torch eager": by_torch(in_torch, (x,), (0,)),
        "onnxruntime forward": forward,
    }
    return Row("recurrences counted loop", "float32", f"{COUNTED_STEPS} steps of {COUNTED_WIDTH:,}", ours, peers)
