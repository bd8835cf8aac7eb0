"""A plain NumPy function as its users would differentiate it with JAX and with torch.

The function's module is given another library in the place of NumPy: `jax.numpy`, or for torch the NumPy that torch
brings along (`torch._numpy` eagerly, `torch.compiler.wrap_numpy` compiled).
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import optree

from tools.bench.calls import Call

Function = Callable[..., Any]


def use_cores(count: int) -> None:
    """Keep this process on so many cores, and tell the libraries; to be called before they are imported.

    XLA makes threads of its own whatever its flags say, so only the number of cores holds it.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])
    os.environ["OMP_NUM_THREADS"] = str(count)


def with_jax(module: ModuleType, name: str, args: Sequence[Any], wrt: Sequence[int]) -> Call:
    """`jax.jit(jax.value_and_grad(f))`, in double precision where the arguments have it."""
    import jax
    import jax.numpy as jnp
    import jax.scipy.special

    jax.config.update("jax_enable_x64", True)
    substitute(module, jnp, ndtr=jax.scipy.special.ndtr)
    for kind in {type(a) for a in args if dataclasses.is_dataclass(a)}:
        jax.tree_util.register_dataclass(kind)
    function = getattr(module, name)
    step = jax.jit(jax.value_and_grad(lambda *given: jnp.sum(function(*given)), tuple(wrt)))
    given = jax.tree.map(jnp.asarray, tuple(args))
    return lambda: jax.block_until_ready(step(*given))


def with_torch(module: ModuleType, name: str, args: Sequence[Any], wrt: Sequence[int]) -> Call:
    """Eager torch: the forward pass by torch's NumPy, then `torch.autograd.grad`."""
    import torch
    import torch._numpy as names

    torch.set_num_threads(1)
    substitute(module, names, ndtr=lambda x: names.asarray(torch.special.ndtr(x.tensor)))
    function = getattr(module, name)
    wrapped, asked = _tensors(args, wrt)
    given = _mapped(names.asarray, wrapped)
    return lambda: _torch_step(function(*given).tensor, asked)


def with_torch_compiled(module: ModuleType, name: str, args: Sequence[Any], wrt: Sequence[int]) -> Call:
    """`torch.compile` of the NumPy function as torch's manual tells, then `torch.autograd.grad`."""
    import torch

    torch.set_num_threads(1)
    torch._dynamo.config.suppress_errors = False
    function = getattr(module, name)
    given, asked = _tensors(args, wrt)
    loss = torch.compile(torch.compiler.wrap_numpy(function), fullgraph=True)
    return lambda: _torch_step(loss(*given), asked)


def substitute(module: ModuleType, library: Any, **functions: Function) -> None:
    """Let the module read this library where it reads `np`, and these functions where it has some of their names."""
    for name, value in {"np": library, **functions}.items():
        if hasattr(module, name):
            setattr(module, name, value)


def _torch_step(value: Any, asked: Sequence[Any]) -> Any:
    import torch

    return value.detach(), torch.autograd.grad(value.sum(), asked)


def _tensors(args: Sequence[Any], wrt: Sequence[int]) -> tuple[tuple[Any, ...], list[Any]]:
    """The arguments as tensors, and those of them that a gradient is asked of."""
    import torch

    given = [_mapped(lambda x, p=p: torch.tensor(x, requires_grad=p in wrt), a) for p, a in enumerate(args)]
    return tuple(given), [leaf for p in wrt for leaf in optree.tree_leaves(given[p])]


def _mapped(function: Function, tree: Any) -> Any:
    """The tree with the function called on its leaves; tuples, dicts and dataclasses are trees here."""
    if isinstance(tree, tuple):
        return tuple(_mapped(function, v) for v in tree)
    if isinstance(tree, dict):
        return {k: _mapped(function, v) for k, v in tree.items()}
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return dataclasses.replace(tree, **{k: _mapped(function, v) for k, v in vars(tree).items()})
    return function(tree)
