"""An operator that is newer than the written opset, as a function: its definition where it is traced, else a reference.

The reference is that of onnx, fed float64, or one written in NumPy beside the test.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.reference
from onnx import TensorProto, helper

from primsplit.onnx.definitions.families import record_call
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array

NEWEST = 28


def evaluated(kind: str, inputs: tuple[Any, ...], attributes: dict[str, Any], outputs: int) -> tuple[np.ndarray, ...]:
    """Return the results of onnx's reference evaluator."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    domain, _, name = kind.rpartition("::")
    graph = helper.make_graph(
        [helper.make_node(name, names, results, domain=domain, **attributes)],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(x).dtype), np.shape(x))
            for n, x in zip(names, inputs, strict=True)
            if n
        ],
        [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in results],
    )
    imports = [helper.make_opsetid("", NEWEST)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    evaluator = onnx.reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=imports))
    return tuple(evaluator.run(None, {n: x for n, x in zip(names, inputs, strict=True) if n}))


def operator(
    kind: str,
    *,
    outputs: int = 1,
    reference: Callable[..., Any] | None = None,
    absent: tuple[int, ...] = (),
    **named: Any,
) -> Callable[..., Any]:
    """The operator as a function of its inputs, those at `absent` left out."""

    def function(*arrays: Any) -> Any:
        given = list(arrays)
        for position in absent:
            given.insert(position, None)
        if any(isinstance(x, Array) for x in given):
            values = [None if x is None else as_array(x).value for x in given]
            made: Any = tuple(Array(v) for v in record_call(kind, values, named, outputs, version=NEWEST))
        elif reference is not None:
            made = reference(*given, **named)
            made = made if isinstance(made, tuple) else (made,)
        else:
            made = evaluated(kind, tuple(given), named, outputs)
        return made[0] if outputs == 1 else made[:outputs]

    return function
