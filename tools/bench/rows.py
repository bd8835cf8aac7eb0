"""A row of the table of all benches: our program, the same computation in other libraries, and how to compare them.

`tools.bench.all` builds a row in a process of its own, checks the results of each peer against ours, and times them in
turns. `function_row` makes a row of a scalar function that is written for any library with NumPy's names.
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optree

from tools.bench.calls import Call, as_numbers, bound

LIBRARIES = ("torch", "jax", "autograd")
"""Peers whose name begins with one of these need it."""
ONLY_FORWARD = "forward"
"""A peer with this in its name computes no gradient: it is shown, and is no loss."""
Function = Callable[..., Any]
Peers = Mapping[str, Callable[[int], Call]]


@dataclass(frozen=True)
class Ours:
    """Our side of a row: a call, and the program that it runs, with its arrays, if its work is to be counted."""

    call: Call
    program: Any = None
    arrays: Sequence[Any] = ()


@dataclass(frozen=True)
class Row:
    """A comparison. `ours` and the peers are called with the number of threads, in a process with so many cores.

    Results are compared array by array, as far as a peer has them, within `tolerance` of the largest element. Without a
    `dtype` the row has that of our first result. For `budget` see `timing.compare`.
    """

    name: str
    dtype: str
    size: str
    ours: Callable[[int], Ours]
    peers: Peers = field(default_factory=dict)
    tolerance: float = 1e-3
    budget: float = 1.0


def library_of(peer: str) -> str:
    """Return the library that a peer needs, "" for one that is always there."""
    return next((name for name in LIBRARIES if peer.replace(".", " ").split()[0] == name), "")


def is_installed(library: str) -> bool:
    """Whether a library is there; "" is."""
    return not library or importlib.util.find_spec(library) is not None


def distance(ours: Any, theirs: Any) -> float:
    """Return the largest difference of two calls' results, relative to the largest element of each array.

    A peer may have fewer results than we have. Raises ValueError if it has none, or one of another shape.
    """
    pairs = list(zip(as_numbers(ours), as_numbers(theirs), strict=False))
    if not pairs:
        raise ValueError("a peer has no results to compare")
    return max(_distance(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _distance(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    if a.shape != b.shape:
        raise ValueError(f"ours has the shape {a.shape}, the peer's {b.shape}")
    apart = np.abs(a.astype(np.float64) - b).max(initial=0.0)
    return float(apart / max(np.abs(b).max(initial=0.0), 1e-30)) if apart else 0.0


def program_call(program: Any, arrays: Sequence[Any], threads: int) -> Ours:
    """Return our side as a program with its inputs bound."""
    return Ours(bound(program, arrays, threads), program, arrays)


def gradient(function: Function, args: Sequence[Any], wrt: Sequence[int]) -> Callable[[int], Ours]:
    """Return our side for value and gradient of `function(np, *args)`."""

    def ours(threads: int) -> Ours:
        import primsplit as ps

        joint = ps.split(lambda *a: function(np, *a), *args, wrt=tuple(wrt), seed="ones").joint()
        return program_call(joint, [leaf for a in args for leaf in optree.tree_leaves(a)], threads)

    return ours


def by_jax(function: Function, args: Sequence[Any], wrt: Sequence[int]) -> Callable[[int], Call]:
    """Return jax.jit of value and gradient of `function(jax.numpy, *args)`."""

    def peer(_: int) -> Call:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        step = jax.jit(jax.value_and_grad(lambda *a: function(jnp, *a), tuple(wrt)))
        given = jax.tree.map(jnp.asarray, tuple(args))
        return lambda: jax.block_until_ready(step(*given))

    return peer


def by_autograd(function: Function, args: Sequence[Any], wrt: Sequence[int]) -> Callable[[int], Call]:
    """Return HIPS autograd's value and gradient of `function(autograd.numpy, *args)`."""

    def peer(_: int) -> Call:
        import autograd
        import autograd.numpy as names

        step = autograd.value_and_grad(lambda *a: function(names, *a), argnum=tuple(wrt))
        return lambda: step(*args)

    return peer


def by_torch(function: Function, args: Sequence[Any], wrt: Sequence[int], device: str = "cpu") -> Callable[[int], Call]:
    """Return torch's value and gradient of `function(torch, *args)`."""

    def peer(threads: int) -> Call:
        import torch

        torch.set_num_threads(threads)
        tensors = [
            optree.tree_map(lambda x, p=p: torch.tensor(x, requires_grad=p in wrt, device=device), a)
            for p, a in enumerate(args)
        ]
        asked = [leaf for p in wrt for leaf in optree.tree_leaves(tensors[p])]

        def run() -> Any:
            value = function(torch, *tensors)
            return value.detach(), torch.autograd.grad(value, asked)

        return run

    return peer


def torch_names(function: Function) -> Function:
    """Return the function for `by_torch` of one that takes NumPy's names: it reads torch's NumPy."""

    def in_torch(_: Any, *tensors: Any) -> Any:
        import torch._numpy as names

        return function(names, *(optree.tree_map(names.asarray, tensor) for tensor in tensors)).tensor

    return in_torch


def function_row(
    name: str,
    size: str,
    function: Function,
    args: Sequence[Any],
    wrt: Sequence[int] = (0,),
    *,
    in_torch: Function | None = None,
    peers: Peers | None = None,
    tolerance: float = 1e-3,
    budget: float = 1.0,
) -> Row:
    """Return the row of value and gradient of `function(xp, *args)` beside jax.jit, torch and autograd.

    `in_torch(torch, *tensors)` is what a torch user would write; without it torch's own NumPy is used.
    """
    usual = {
        "jax.jit": by_jax(function, args, wrt),
        "torch eager": by_torch(in_torch or torch_names(function), args, wrt),
        "autograd": by_autograd(function, args, wrt),
    }
    dtype = str(np.asarray(optree.tree_leaves(args[wrt[0]])[0]).dtype)
    return Row(name, dtype, size, gradient(function, args, wrt), {**usual, **(peers or {})}, tolerance, budget)
