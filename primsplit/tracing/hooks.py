"""Hooks: functions of later rooms that earlier rooms call; the module that defines one sets it when it is imported."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from primsplit.ir import Block
from primsplit.ir.names import NamedBlock


def _unset(*_: Any) -> Any:
    raise NotImplementedError("this hook is set by `import primsplit`")


@dataclass
class Hooks:
    """The hooks, each set once."""

    without_invariants: Callable[[Block], Block] = _unset
    """Move ops that do not vary out of a loop's body, while it is recorded: `rewrites.loops.hoist`."""
    with_straight_through: Callable[[Block], Block] = _unset
    """Define the derivative of integers that stand for quantized numbers: `onnx.definitions.quantized.chains`."""
    make_session: Callable[[NamedBlock], Callable[[], Any]] = _unset
    """Return a function that runs a block in onnxruntime: `programs.doors`."""


HOOKS = Hooks()
