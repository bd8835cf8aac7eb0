"""The calls that are compared: those of a program with its inputs bound, and the numbers that any call gives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

Call = Callable[[], Any]
Calls = dict[str, Call]


def bound(program: Any, arrays: Sequence[Any], threads: int = 1) -> Call:
    """A call of the program in onnxruntime with its inputs bound once, as a server would."""
    from primsplit.programs.runtime import Session

    session = Session(program.to_onnx(), threads=threads, plan_memory=True)
    binding = session.session.io_binding()
    for name, array in zip(session.inputs, arrays, strict=True):
        binding.bind_cpu_input(name, np.asarray(array, order="C"))
    for name in session.outputs:
        binding.bind_output(name)

    def call() -> Any:
        session.session.run_with_iobinding(binding)
        return binding.get_outputs()

    return call


def as_numbers(found: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays that a call of any library gave, NumPy's, in the order of its leaves."""
    return [leaf.numpy() if hasattr(leaf, "numpy") else np.asarray(leaf) for leaf in optree.tree_leaves(found)]
