"""Time expressions that NumPy users write out by hand, beside the function or operator, and beside torch and jax."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tools.bench.calls import Call
from tools.bench.rows import Ours, Peers, Row, by_jax, by_torch, function_row, gradient, program_call

TOKENS, WORDS = 512, 32_000
DAYS = 40
STORES = 60
OBSERVATIONS, COLUMNS = 100_000, 50


def rows() -> Iterator[Row]:
    """The rows of this file."""
    yield log_softmax_row("log_softmax", cross_entropy)
    yield log_softmax_row("logsumexp", by_logsumexp)
    yield pool_row()
    yield convolution_row()
    for name in ("maximum", "Relu"):
        yield open_batch_row(name)
    yield scalar_calls_row()
    yield stores_row()
    yield robust_row()


def cross_entropy(xp: Any, h: Any, w: Any, t: Any) -> Any:
    """The cross entropy of tokens over words, its log-softmax written out."""
    z = h @ w
    z = z - xp.max(z, axis=-1, keepdims=True)
    return -xp.mean((z - xp.log(xp.sum(xp.exp(z), axis=-1, keepdims=True)))[xp.arange(TOKENS), t])


def by_logsumexp(xp: Any, h: Any, w: Any, t: Any) -> Any:
    """The same by a logarithm of a sum that is written out."""
    z = h @ w
    most = xp.max(z, axis=-1, keepdims=True)
    total = most[:, 0] + xp.log(xp.sum(xp.exp(z - most), axis=-1))
    return xp.mean(total - z[xp.arange(TOKENS), t])


def log_softmax_row(name: str, function: Any) -> Row:
    """The cross entropy beside SciPy's log_softmax in our hands."""
    random = np.random.default_rng(0)
    h = random.standard_normal((TOKENS, 16)).astype(np.float32)
    w, t = random.standard_normal((16, WORDS)).astype(np.float32), np.arange(TOKENS) % WORDS

    def by_scipy(_: Any, h: Any, w: Any, t: Any) -> Any:
        from scipy.special import log_softmax

        return -np.mean(log_softmax(h @ w, axis=-1)[np.arange(TOKENS), t])

    def in_torch(torch: Any, h: Any, w: Any, t: Any) -> Any:
        return torch.nn.functional.cross_entropy(h @ w, t)

    peers = {"our log_softmax": lambda threads: gradient(by_scipy, (h, w, t), (0, 1))(threads).call}
    size = f"{TOKENS} x {WORDS:,}"
    return function_row(f"idioms {name}", size, function, (h, w, t), (0, 1), in_torch=in_torch, peers=peers, budget=4.0)


def pictures() -> np.ndarray[Any, Any]:
    """32 arrays of 16 channels."""
    return np.random.default_rng(0).standard_normal((32, 16, 32, 32)).astype(np.float32)


def pool_row() -> Row:
    """Pooling by reshape and max, beside the operator MaxPool."""

    def function(xp: Any, x: Any) -> Any:
        return xp.sum(xp.max(x.reshape(32, 16, 16, 2, 16, 2), axis=(3, 5)) ** 2)

    def operator(_: Any, x: Any) -> Any:
        from primsplit.ops import op

        return np.sum(op.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]) ** 2)

    def in_torch(torch: Any, x: Any) -> Any:
        return (torch.nn.functional.max_pool2d(x, 2) ** 2).sum()

    args = (pictures(),)
    peers = {"our MaxPool": lambda threads: gradient(operator, args, (0,))(threads).call}
    return function_row("idioms pool", "32 x 16 x 32 x 32", function, args, in_torch=in_torch, peers=peers)


def convolution_row() -> Row:
    """A convolution by sliding windows and einsum, beside the operator Conv."""
    kernels = np.random.default_rng(1).standard_normal((32, 16, 3, 3)).astype(np.float32)
    args = (pictures(), kernels)

    def function(_: Any, x: Any, k: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        return np.sum(np.einsum("nchwij,ocij->nohw", windows, k) ** 2)

    def operator(_: Any, x: Any, k: Any) -> Any:
        from primsplit.ops import op

        return np.sum(op.Conv(x, k) ** 2)

    def in_torch(torch: Any, x: Any, k: Any) -> Any:
        return (torch.nn.functional.conv2d(x, k) ** 2).sum()

    def in_jax(xp: Any, x: Any, k: Any) -> Any:
        import jax

        return xp.sum(jax.lax.conv(x, k, (1, 1), "VALID") ** 2)

    peers = {
        "our Conv": lambda threads: gradient(operator, args, (0, 1))(threads).call,
        "torch eager": by_torch(in_torch, args, (0, 1)),
        "jax.jit": by_jax(in_jax, args, (0, 1)),
    }
    return Row("idioms convolution", "float32", "32 x 16 x 32 x 32", gradient(function, args, (0, 1)), peers)


def open_batch_row(relu: str) -> Row:
    """Two convolutions in a file that leaves the batch open, beside the file for a batch of 32."""
    random = np.random.default_rng(0)
    p = {
        "a": random.standard_normal((16, 3, 3, 3)).astype(np.float32),
        "b": random.standard_normal((32, 16, 3, 3)).astype(np.float32),
    }
    x = random.standard_normal((32, 3, 32, 32)).astype(np.float32)

    def loss(p: Any, x: Any) -> Any:
        from primsplit.ops import op

        for k in "ab":
            z = op.Conv(x, p[k], pads=[1, 1, 1, 1])
            x = op.MaxPool(op.Relu(z) if relu == "Relu" else np.maximum(z, 0), kernel_shape=[2, 2], strides=[2, 2])
        return np.mean(x * x)

    def ours(threads: int, *, is_open: bool) -> Any:
        import primsplit as ps

        given = ps.spec("float32", ["N", 3, 32, 32]) if is_open else x
        return program_call(ps.split(loss, p, given, wrt="p").joint(), [p["a"], p["b"], x], threads)

    def in_torch(torch: Any, p: Any, x: Any) -> Any:
        functional = torch.nn.functional
        for k in "ab":
            x = functional.max_pool2d(functional.conv2d(x, p[k], padding=1).relu(), 2)
        return (x * x).mean()

    peers = {
        "our batch of 32": lambda threads: ours(threads, is_open=False).call,
        "torch eager": by_torch(in_torch, (p, x), (0,)),
    }
    return Row(f"idioms open batch, {relu}", "float32", "N x 3 x 32 x 32", partial(ours, is_open=True), peers)


def scalar_calls_row() -> Row:
    """A special function of one number in a loop over days, beside one call on an array."""
    args = (0.5, np.arange(float(DAYS)))

    def by_day(_: Any, k: Any, counts: Any) -> Any:
        from scipy import special

        total = 0.0
        for t in range(DAYS):
            total = total + special.gammaln(counts[t] + k)
        return total

    def at_once(_: Any, k: Any, counts: Any) -> Any:
        from scipy import special

        return np.sum(special.gammaln(counts + k))

    def in_torch(torch: Any, k: Any, counts: Any) -> Any:
        return torch.lgamma(counts + k).sum()

    peers = {
        "our one call": lambda threads: gradient(at_once, args, (0,))(threads).call,
        "torch eager": by_torch(in_torch, args, (0,)),
    }
    return Row("idioms scalar gammaln", "float64", f"{DAYS} numbers", gradient(by_day, args, (0,)), peers, 1e-6)


def stores_row() -> Row:
    """The value of a decaying sum that a Python loop stores element by element, beside the same elements stacked."""
    x = np.random.default_rng(0).standard_normal(STORES)

    def by_stores(x: Any) -> Any:
        y = np.zeros(STORES)
        y[0] = x[0]
        for i in range(1, STORES):
            y[i] = 0.9 * y[i - 1] + np.tanh(x[i])
        return np.sum(y * y)

    def stacked(xp: Any, x: Any) -> Any:
        y = [x[0]]
        for i in range(1, STORES):
            y.append(0.9 * y[-1] + xp.tanh(x[i]))
        return xp.sum(xp.stack(y) ** 2)

    def ours(function: Any, threads: int) -> Ours:
        import primsplit as ps

        return program_call(ps.trace(function, x), (x,), threads)

    def in_jax(_: int) -> Call:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        step, given = jax.jit(partial(stacked, jnp)), jnp.asarray(x)
        return lambda: jax.block_until_ready(step(given))

    peers: Peers = {
        "our stack": lambda threads: ours(partial(stacked, np), threads).call,
        "jax.jit": in_jax,
        "NumPy": lambda _: partial(by_stores, x),
    }
    return Row("idioms stores", "float64", f"{STORES} numbers, value", partial(ours, by_stores), peers, 1e-8)


def robust(xp: Any, p: Any, x: Any, y: Any, s: Any) -> Any:
    """A robust and a logistic regression in one density."""
    z = (y - x @ p["beta"]) * xp.exp(-p["scale"])
    m = -s * (x @ p["gamma"])
    each = 2.5 * xp.log1p(z * z / 4) + p["scale"] + xp.log1p(xp.exp(-xp.abs(m))) + (m + xp.abs(m)) / 2
    return xp.mean(each) + 0.5 * (xp.sum(p["beta"] ** 2) + xp.sum(p["gamma"] ** 2)) / OBSERVATIONS


def robust_row() -> Row:
    """A density that a second core should help."""
    random = np.random.default_rng(7)
    x = random.standard_normal((OBSERVATIONS, COLUMNS)).astype(np.float32)
    y = (x @ random.standard_normal(COLUMNS) + 0.3 * random.standard_t(4, OBSERVATIONS)).astype(np.float32)
    s = np.where(random.random(OBSERVATIONS) < 0.5, 1, -1).astype(np.float32)
    p = {
        "beta": (0.1 * random.standard_normal(COLUMNS)).astype(np.float32),
        "gamma": (0.1 * random.standard_normal(COLUMNS)).astype(np.float32),
        "scale": np.asarray(-0.5, np.float32),
    }

    def in_torch(torch: Any, p: Any, x: Any, y: Any, s: Any) -> Any:
        return robust(torch, p, x, y, s)

    size = f"{OBSERVATIONS:,} x {COLUMNS}"
    return function_row("idioms robust regression", size, robust, (p, x, y, s), in_torch=in_torch)
