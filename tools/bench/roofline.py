"""The limits of this processor: matrix products, memory, elementwise functions, in one run.

    python -m tools.bench.roofline [--cores 1] [--quick] [--json]

`MLAS` are onnxruntime's kernels, `OpenBLAS` those of NumPy, `MKL` those of torch where it is installed. Alternatives
take turns; a rate is that of the least time, on one core of the processor's time. Products are in GFLOP/s by size and
dtype, copies of arrays far larger than the caches in GB/s (read and written bytes), functions in 10^9 elements a
second, calls of kernels in microseconds. `bound` is what a piece of work takes at least at these rates.
"""

import argparse
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tools.bench.calls import Call, Calls
from tools.bench.peers import use_cores
from tools.bench.timing import clock_of, take_turns
from tools.bench.work import Work

SIZES = (64, 256, 512, 1024)
LARGE = 1 << 24
"""The elements of an array for copies, 64 MB of float32."""
SMALL = 1 << 14
"""The elements of an array for functions, 64 KB of float32."""
FUNCTIONS = ("Exp", "Log", "Tanh", "Erf", "Sin")
WITHOUT_KERNEL = {("Erf", "float64")}
"""Functions that onnxruntime does not compute in this dtype."""
CHAIN = 500
"""The kernels of a chain on one number."""
DTYPES = ("float32", "float64")
ROUNDS = 15
"""Rounds in which alternatives take turns."""


@dataclass(frozen=True)
class Bound:
    """The least seconds of a piece of work on this processor, and what sets it: products, memory or functions.

    `calls` are the seconds that onnxruntime spends on calling its kernels.
    """

    seconds: float
    by: str
    calls: float


def bound(work: Work, limits: Mapping[str, Any]) -> Bound:
    """Return what the work takes at least: the longest of its products, its bytes and its functions.

    Each is taken at the best rate of any library, as if the three overlapped perfectly.
    """
    best = {
        "products": sum(n / (1e9 * fastest(limits["products"], dtype)) for dtype, n in work.products.items()),
        "memory": work.moved / (1e9 * max(limits["memory"].values())),
        "functions": sum(n / (1e9 * fastest(limits["functions"], dtype)) for dtype, n in work.functions.items()),
    }
    by = max(best, key=lambda name: best[name])
    return Bound(best[by], by, work.calls * 1e-6 * float(limits["call"]))


def fastest(rates: Mapping[str, float], dtype: str) -> float:
    """Return the best of the rates of a dtype, whose names are "MLAS float32 1024"."""
    return max(rate for name, rate in rates.items() if name.split()[1] == dtype)


def measure(threads: int, *, is_quick: bool = False) -> dict[str, Any]:
    """Return the limits of this process's cores."""
    sizes = SIZES[:1] if is_quick else SIZES
    budget = 0.02 if is_quick else 0.5
    large = LARGE >> 8 if is_quick else LARGE
    return {
        "products": _rates(
            {k: v for n in sizes for k, v in products(n, threads).items()}, budget, threads, _product_work
        ),
        "memory": _rates(copies(large, threads), budget, threads, lambda _: 8 * large),
        "functions": _rates(functions(SMALL, threads), budget, threads, lambda _: SMALL),
        "call": round(call_of_a_kernel(budget), 3),
    }


def _product_work(name: str) -> float:
    return 2.0 * float(name.rsplit(maxsplit=1)[-1]) ** 3


def _rates(calls: Calls, budget: float, threads: int, work: Any) -> dict[str, float]:
    """Return billions a second of each call; those with the same end of their names take turns."""
    groups: dict[str, Calls] = {}
    for name, call in calls.items():
        groups.setdefault(name.partition(" ")[2], {})[name] = call
    found = {}
    for group in groups.values():
        samples = take_turns(group, rounds=ROUNDS, budget=budget, clock=clock_of(threads))
        for name, seconds in samples.items():
            found[name] = round(work(name) / min(seconds) / 1e9, 3)
    return found


def products(n: int, threads: int) -> Calls:
    """Products of two matrices of n rows."""
    import numpy as np

    found: Calls = {}
    for dtype in DTYPES:
        a, b = (np.random.default_rng(s).standard_normal((n, n)).astype(dtype) for s in (0, 1))
        found[f"MLAS {dtype} {n}"] = in_onnxruntime("MatMul", [a, b], threads)
        found[f"OpenBLAS {dtype} {n}"] = partial(np.matmul, a, b, out=np.empty_like(a))
        found |= _in_torch(f"MKL {dtype} {n}", "mm", [a, b], threads)
    return found


def copies(elements: int, threads: int) -> Calls:
    """Copies of an array that no cache holds."""
    import numpy as np

    array, other = np.ones(elements, np.float32), np.zeros(elements, np.float32)
    return {
        "MLAS float32 copy": in_onnxruntime("Neg", [array], threads),
        "NumPy float32 copy": partial(np.copyto, other, array),
        **_in_torch("torch float32 copy", "neg", [array], threads),
    }


def functions(elements: int, threads: int) -> Calls:
    """Elementwise functions of an array in the cache."""
    import numpy as np
    import scipy.special

    found: Calls = {}
    for kind in FUNCTIONS:
        for dtype in DTYPES:
            x = np.linspace(0.5, 1.5, elements).astype(dtype)
            told = f"{dtype} {kind}"
            name = kind.lower()
            if (kind, dtype) not in WITHOUT_KERNEL:
                found[f"MLAS {told}"] = in_onnxruntime(kind, [x], threads)
            function = scipy.special.erf if kind == "Erf" else getattr(np, name)
            found[f"NumPy {told}"] = partial(function, x, out=np.empty_like(x))
            found |= _in_torch(f"torch {told}", name, [x], threads)
    return found


def call_of_a_kernel(budget: float) -> float:
    """Return the microseconds of a call of a kernel on one number, in a chain of them."""
    import numpy as np

    one = np.ones((1,), np.float32)
    calls = {
        str(count): in_onnxruntime("Neg", [one], 1, count=count) for count in (CHAIN, 2 * CHAIN)
    }  # the difference leaves out what a run takes once
    samples = take_turns(calls, rounds=ROUNDS, budget=max(budget, 0.1), clock=clock_of(1))
    return (min(samples[str(2 * CHAIN)]) - min(samples[str(CHAIN)])) / CHAIN * 1e6


def in_onnxruntime(kind: str, arrays: Any, threads: int, *, count: int = 1) -> Call:
    """Return a run of a chain of one operator, its inputs and results bound."""
    import onnxruntime
    from onnx import TensorProto, helper

    dtype = TensorProto.FLOAT if str(arrays[0].dtype) == "float32" else TensorProto.DOUBLE
    inputs = [helper.make_tensor_value_info(f"x{i}", dtype, a.shape) for i, a in enumerate(arrays)]
    nodes = [helper.make_node(kind, [f"x{i}" for i in range(len(arrays))], ["v0"])]
    nodes += [helper.make_node(kind, [f"v{i}"], [f"v{i + 1}"]) for i in range(count - 1)]
    last = helper.make_tensor_value_info(f"v{count - 1}", dtype, arrays[0].shape)
    model = helper.make_model(
        helper.make_graph(nodes, "chain", inputs, [last]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for i, array in enumerate(arrays):
        binding.bind_cpu_input(f"x{i}", array)
    binding.bind_output(f"v{count - 1}")
    return partial(session.run_with_iobinding, binding)


def _in_torch(name: str, function: str, arrays: Any, threads: int) -> Calls:
    """Return the call of a function of torch; none without torch, or of a product that is not MKL's."""
    from tools.bench.rows import is_installed

    if not is_installed("torch"):
        return {}
    import torch

    if name.startswith("MKL") and not torch.backends.mkl.is_available():
        return {}
    torch.set_num_threads(threads)
    tensors = [torch.from_numpy(a) for a in arrays]
    out = torch.empty_like(tensors[0])
    return {name: partial(getattr(torch, function), *tensors, out=out)}


def processor() -> str:
    """Return the processor's name, with family and model where they are known, and its widest vectors."""
    fields: dict[str, str] = {}
    path = Path("/proc/cpuinfo")
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return named(fields) or platform.processor() or platform.machine()


def named(fields: Mapping[str, str]) -> str:
    """Return the name of a processor from the fields of /proc/cpuinfo; "" without them."""
    if "model name" not in fields:
        return ""
    flags = fields.get("flags", "").split()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{fields['model name']}, family {fields.get('cpu family')}, model {fields.get('model')}, {vectors}"


def print_limits(limits: Mapping[str, Any]) -> None:
    """Print the rates, each library a column."""
    for part, unit in (("products", "GFLOP/s"), ("memory", "GB/s"), ("functions", "10^9 elements/s")):
        print(f"\n{part}, {unit}")
        groups: dict[str, dict[str, float]] = {}
        for name, rate in limits[part].items():
            library, _, what = name.partition(" ")
            groups.setdefault(what, {})[library] = rate
        for what, rates in groups.items():
            print(f"  {what:20s}" + "".join(f"{library:>10s} {rate:8.2f}" for library, rate in rates.items()))
    print(f"\na call of a kernel: {limits['call']:.2f} us")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = str(asked.cores)
    use_cores(asked.cores)
    limits = measure(asked.cores, is_quick=asked.quick)
    if asked.json:
        print(json.dumps(limits))
        return
    print(f"{processor()}, {asked.cores} core(s)")
    print_limits(limits)


if __name__ == "__main__":
    main()
