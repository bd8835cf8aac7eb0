"""What later rooms do for earlier ones: each hook is set once, by the module that does it, when that is imported."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from primsplit.ir import Block
from primsplit.ir.names import NamedBlock


def _unset(*_: Any) -> Any:
    raise NotImplementedError("this hook is set by `import primsplit`")


@dataclass
class Hooks:
    """Functions by what they are asked for."""

    without_invariants: Callable[[Block], Block] = _unset
    """Move what does not vary out of a loop's body, as it is recorded: `rewrites.loops.hoist`."""
    with_straight_through: Callable[[Block], Block] = _unset
    """Give integers that stand for quantized numbers their derivative: `onnx.definitions.quantized.chains`."""
    make_session: Callable[[NamedBlock], Callable[[], Any]] = _unset
    """Make a block one that onnxruntime runs: `programs.doors`."""


HOOKS = Hooks()
