"""Operators that are written in others, compared with onnx's reference."""

from typing import Any

import numpy as np
import onnx
import onnx.reference

import primsplit as ps
from primsplit.ops import op


def written(kind: str, *inputs: Any, outputs: int = 1, symbolic: bool = False, **attributes: Any) -> ps.Program:
    """Return the program of one operator: floats are its inputs, integers and what is absent are part of it."""
    floats = [x for x in inputs if isinstance(x, np.ndarray) and x.dtype.kind == "f"]

    def function(*given: Any) -> Any:
        left = iter(given)
        read = [next(left) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in inputs]
        more = {"outputs": outputs} if outputs > 1 else {}
        return getattr(op, kind)(*read, **more, **attributes)

    shapes = [[f"S{i}_{j}" for j in range(x.ndim)] if symbolic and i == 0 else x.shape for i, x in enumerate(floats)]
    return ps.trace(function, *(ps.spec(x.dtype, s) for x, s in zip(floats, shapes, strict=True)))


def expected(kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> list[np.ndarray]:
    """Return what onnx's reference gives."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = onnx.helper.make_node(kind, names, [f"y{i}" for i in range(outputs)], **attributes)
    given = {n: np.asarray(x) for n, x in zip(names, inputs, strict=True) if n}
    found: list[np.ndarray] = onnx.reference.ReferenceEvaluator(node).run(None, given)
    return found


def check(
    kind: str, *inputs: Any, outputs: int = 1, symbolic: bool = False, is_kept: bool = False, **attributes: Any
) -> None:
    """Check values against the reference, and that the file has no node of the operator unless `is_kept`."""
    program = written(kind, *inputs, outputs=outputs, symbolic=symbolic, **attributes)
    floats = [x for x in inputs if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    found = program(*floats)
    wanted = expected(kind, *inputs, outputs=outputs, **attributes)
    for one, other in zip(found if outputs > 1 else [found], wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
        assert one.dtype == other.dtype
    assert (kind in {node.op_type for node in program.to_onnx().graph.node}) == is_kept


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Return standard normal numbers in float64."""
    return np.random.default_rng(seed).standard_normal(shape)
