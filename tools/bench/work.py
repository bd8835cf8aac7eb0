"""Count the work of a file in onnxruntime, and where the time goes, from a profile of its runs.

    gradient.onnx  ->  multiply-adds of products by dtype, elements of functions, bytes of inputs and results,
                       calls of kernels, seconds by operator

A profile has one event for each call of a kernel, also in the bodies of loops and branches, with the shapes that it
saw. So the work is that of the graph as onnxruntime runs it, after its own fusions.
"""

import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PRODUCTS = frozenset({"MatMul", "FusedMatMul", "TransposeMatMul", "Gemm", "FusedGemm"})
CONVOLUTIONS = frozenset({"Conv", "FusedConv", "ConvTranspose"})
FUNCTIONS = frozenset({
    *("Exp", "Log", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Asin", "Acos", "Pow"),
    *("Softmax", "LogSoftmax", "Softplus", "Gelu", "QuickGelu", "FastGelu", "BiasGelu", "Elu", "Selu", "Mish"),
})  # fmt: skip
CONTROL = frozenset({"If", "Loop", "Scan"})
"""Kernels whose time is that of others."""
DTYPES = {"float": "float32", "double": "float64"}
RUNS = 8
"""Runs in a profile: of each kernel the least time is counted."""


@dataclass(frozen=True)
class Work:
    """The work of one run. `products` are floating-point operations (two for a multiply-add) by dtype, `functions`
    elements of transcendental functions by dtype, `moved` the bytes of inputs and results, `calls` the calls of
    kernels, `seconds` the time of kernels by operator.
    """  # noqa: D205

    products: Mapping[str, float] = field(default_factory=dict)
    functions: Mapping[str, float] = field(default_factory=dict)
    moved: float = 0.0
    calls: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)


def work_of(program: Any, arrays: Sequence[Any], threads: int = 1) -> Work:
    """Return the work of a program on these arrays."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.enable_profiling, options.log_severity_level = threads, True, 4
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "profile")
        model = program.to_onnx().SerializeToString()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        feeds = dict(zip(names, (np.asarray(a, order="C") for a in arrays), strict=True))
        results = [session.run(None, feeds) for _ in range(RUNS)][-1]
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    moved = sum(a.nbytes for a in [*feeds.values(), *results])
    return counted(least_run(events), moved)


def least_run(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the kernel events of a run, each with the least time that it took in any run of as many kernels.

    On one thread every run calls the same kernels in the same order; what else the machine does delays some of them.
    """
    runs = [e for e in events if e.get("name") == "model_run"]
    kernels = [e for e in events if str(e.get("name", "")).endswith("_kernel_time")]
    of_runs = [[e for e in kernels if r["ts"] <= e["ts"] <= r["ts"] + r["dur"]] for r in runs]
    alike = [each for each in of_runs if len(each) == len(of_runs[-1])]
    return [{**same[-1], "dur": min(e["dur"] for e in same)} for same in zip(*alike, strict=True)]


def counted(events: Sequence[Mapping[str, Any]], moved: float) -> Work:
    """Return the work of these kernel events."""
    products: defaultdict[str, float] = defaultdict(float)
    functions: defaultdict[str, float] = defaultdict(float)
    seconds: defaultdict[str, float] = defaultdict(float)
    calls = 0
    for event in events:
        told = event["args"]
        kind = told["op_name"]
        calls += 1
        if kind in CONTROL:
            continue
        seconds[kind] += float(event["dur"]) * 1e-6
        read, made = _shapes(told["input_type_shape"]), _shapes(told["output_type_shape"])
        if not made or made[0][0] not in DTYPES.values():
            continue
        dtype, shape = made[0]
        if kind in PRODUCTS:
            products[dtype] += product_operations(read[0][1], read[1][1], shape)
        elif kind in CONVOLUTIONS:
            products[dtype] += convolution_operations(kind, read[0][1], read[1][1], shape)
        elif kind in FUNCTIONS:
            functions[dtype] += math.prod(shape)
    return Work(dict(products), dict(functions), moved, calls, dict(seconds))


def product_operations(left: Sequence[int], right: Sequence[int], made: Sequence[int]) -> float:
    """Return the operations of a product, whichever of its operands are transposed.

    With batches A, B and C the sizes are A*M*K, B*K*N and C*M*N, so that K is the root of |left||right|C / (|made|AB).
    """
    sizes = [math.prod(shape) for shape in (left, right, made)]
    if 0 in sizes:
        return 0.0
    batches = [math.prod(shape[:-2]) for shape in (left, right, made)]
    inner = math.sqrt(sizes[0] * sizes[1] * batches[2] / (sizes[2] * batches[0] * batches[1]))
    return 2.0 * sizes[2] * inner


def convolution_operations(kind: str, image: Sequence[int], weights: Sequence[int], made: Sequence[int]) -> float:
    """Return the operations of a convolution: each element of its result is a sum over a window's channels."""
    if kind == "ConvTranspose":
        return 2.0 * math.prod(image) * math.prod(weights[1:])
    return 2.0 * math.prod(made) * math.prod(weights[1:])


def _shapes(told: Sequence[Mapping[str, Sequence[int]]]) -> list[tuple[str, tuple[int, ...]]]:
    return [(DTYPES.get(dtype, dtype), tuple(shape)) for each in told for dtype, shape in each.items()]
