"""A node outside the standard, held against the kernel that onnxruntime has for it.

The value is onnxruntime's own, for the node as it stands. The gradients, of first and second order, are held against
central differences of the definition in float64, whose value is the definition's in float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.testing import check_grads

Shape = Sequence[int | str] | None

MS = "com.microsoft::"
VERSIONS = {"": 21, "com.microsoft": 1, "ai.onnx.ml": 3, "ai.onnx.preview.training": 1}


@dataclass(frozen=True)
class Node:
    """One node, and what it is called on. `declared` are the shapes its inputs are declared with, by position."""

    kind: str
    inputs: Sequence[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: Sequence[str] = ("float32",)
    declared: dict[int, Shape] = field(default_factory=dict)
    constant: frozenset[int] = frozenset()
    ranks: Sequence[int] = ()

    def wide(self) -> "Node":
        """The node in float64."""
        inputs = [x.astype(np.float64) if is_float(x) else x for x in self.inputs]
        outputs = [d.replace("float32", "float64") for d in self.outputs]
        return replace(self, inputs=inputs, outputs=outputs)

    def fed(self) -> dict[str, Any]:
        """The arrays of a run, by input."""
        given = enumerate(self.inputs)
        return {f"x{i}": x for i, x in given if x is not None and i not in self.constant}

    def result(self, position: int) -> onnx.ValueInfoProto:
        """The declaration of an output: its rank where that is known, no sizes."""
        sizes = [None] * self.ranks[position] if self.ranks else None
        return helper.make_tensor_value_info(f"y{position}", code(self.outputs[position]), sizes)

    def save(self, path: Path) -> str:
        """Write a model of this one node."""
        domain, _, name = self.kind.rpartition("::")
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}" if d else "" for i, d in enumerate(self.outputs)]
        node = helper.make_node(name, names, outputs, domain=domain, **self.attributes)
        graph = helper.make_graph(
            [node],
            "g",
            [
                helper.make_tensor_value_info(k, code(x.dtype), self.declared.get(int(k[1:]), x.shape))
                for k, x in self.fed().items()
            ],
            [self.result(i) for i, n in enumerate(outputs) if n],
            [numpy_helper.from_array(np.asarray(self.inputs[i]), f"x{i}") for i in sorted(self.constant)],
        )
        imports = [helper.make_opsetid(d, v) for d, v in VERSIONS.items() if d in {"", domain}]
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), str(path))
        return str(path)


def is_float(x: Any) -> bool:
    return x is not None and np.asarray(x).dtype.kind == "f"


def code(dtype: Any) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def ranked(node: Node, results: Sequence[Any]) -> Node:
    """The node with the ranks of its outputs, which a model must declare."""
    found = iter(results)
    return replace(node, ranks=[np.ndim(next(found)) if d else 0 for d in node.outputs])


def kernel(node: Node, path: Path) -> list[Any]:
    """Return the results of onnxruntime's own kernel."""
    session = onnxruntime.InferenceSession(node.save(path), providers=["CPUExecutionProvider"])
    return session.run(None, node.fed())


def kernel_in_place(node: Node, path: Path, shared: dict[int, int]) -> list[Any]:
    """The same of a kernel that writes outputs over inputs, by their positions."""
    session = onnxruntime.InferenceSession(node.save(path), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(x.copy()) for name, x in node.fed().items()}
    for name, value in held.items():
        binding.bind_ortvalue_input(name, value)
    for position in range(len(node.outputs)):
        if position in shared:
            binding.bind_ortvalue_output(f"y{position}", held[f"x{shared[position]}"])
        else:
            binding.bind_output(f"y{position}")
    session.run_with_iobinding(binding)
    found: list[Any] = binding.copy_outputs_to_cpu()
    return found


def defined(node: Node, path: Path) -> list[Any]:
    """Return the results of the definition, run by onnxruntime."""
    found = ps.load(node.save(path))(*node.fed().values())
    return list(found) if isinstance(found, tuple) else [found]


def check_node(node: Node, folder: Path, *, order: int = 2, tolerance: float = 2e-5, step: float = 1e-2) -> None:
    """The definition's value is the kernel's; the gradients are right up to `order`.

    Where the first size of the first input is a symbol, the value is the kernel's for a size of 1 too, and there is one
    for a size of 0.
    """
    node = ranked(node, kernel(node, folder / "kernel.onnx"))
    for given in (node, *cuts(node, 1)):
        expected = kernel(given, folder / "kernel.onnx")
        found = defined(given, folder / "node.onnx")
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    for given in cuts(node, 0):
        assert defined(given, folder / "node.onnx")[0].size == 0
    if order:
        check_gradient(node, folder, order=order, step=step)


def cuts(node: Node, size: int) -> list[Node]:
    """The node on inputs whose first symbolic size, that of the first input, is this one."""
    symbol = next((d for d in node.declared.get(0) or () if isinstance(d, str)), None)
    if symbol is None:
        return []
    inputs = list(node.inputs)
    for position, shape in node.declared.items():
        for axis, dim in enumerate(shape or ()):
            if dim == symbol:
                inputs[position] = np.take(inputs[position], range(size), axis)
    return [replace(node, inputs=inputs)]


def check_gradient(node: Node, folder: Path, *, order: int = 2, tolerance: float = 1e-6, step: float = 1e-2) -> None:
    """The gradients agree with central differences in float64, where the value is that of float32."""
    narrow = defined(node, folder / "narrow.onnx")
    program = ps.load(node.wide().save(folder / "wide.onnx"))
    given = list(node.wide().fed().values())
    made = program(*given)
    for wide, short in zip(made if isinstance(made, tuple) else (made,), narrow, strict=True):
        np.testing.assert_allclose(wide, short, rtol=1e-4, atol=1e-4)
    check_grads(program, *given, order=order, symbolic=False, tolerance=tolerance, step=step)


def microsoft(
    name: str,
    *inputs: np.ndarray | None,
    declared: dict[int, Any] | None = None,
    constant: Sequence[int] = (),
    outputs: int = 1,
    **attributes: Any,
) -> Node:
    """A node of com.microsoft with these attributes; `constant` are the positions of inputs that are initializers."""
    results = ("float32",) * outputs
    return Node(f"com.microsoft::{name}", inputs, attributes, results, declared or {}, frozenset(constant))


def title(row: Node) -> str:
    """The node's operator and attributes."""
    return f"{row.kind.rpartition('::')[2]}-{','.join(f'{k}={v}' for k, v in row.attributes.items())}"


def loaded_with_constants(
    folder: Path, kind: str, arrays: list[np.ndarray], rank: int, dtype: str, **attributes: Any
) -> ps.Program:
    """A model of one node of com.microsoft whose inputs after the first are initializers, loaded."""
    node = helper.make_node(kind, [f"x{i}" for i in range(len(arrays))], ["y"], domain="com.microsoft", **attributes)
    code = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x0", code, list(arrays[0].shape))],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [None] * rank)],
        [numpy_helper.from_array(a, f"x{i}") for i, a in enumerate(arrays) if i],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / "model.onnx")
    return ps.load(str(folder / "model.onnx"))
