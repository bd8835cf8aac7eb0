"""Fixed benches: value and gradient in onnxruntime beside jax.jit, torch eager and torch.compile, in one run.

    python -m tools.bench.fixed [--cores 1] [--only NAME] [--memory]

`mlp`: 784-1024-1024-10, batch 256, cross entropy, float32, with respect to all parameters. `regression`: a robust
(Student-t) regression log density, 100,000 x 50, with respect to coefficients and log scale, in float32 and float64.
`transformer` and `convnet`: see their files. Needs `pip install -e ".[compare]"`. Every alternative's gradients are
compared with ours before it is timed. `--memory` tells instead the peak of resident memory in three runs over what it
was before them, each alternative in a process of its own that has run it before, so that code is loaded and compiled;
what onnxruntime holds on to between runs counts, as it comes from a new session.
"""

import argparse
import ctypes
import gc
import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench import convnet, transformer
from tools.bench.calls import Call, Calls, as_numbers, bound
from tools.bench.memory import resident
from tools.bench.peers import use_cores
from tools.bench.timing import compare, print_table

Arrays = dict[str, np.ndarray[Any, Any]]


def mlp_data() -> tuple[Arrays, Arrays]:
    """Parameters and a batch."""
    random = np.random.default_rng(0)
    sizes = [784, 1024, 1024, 10]
    params: Arrays = {}
    for layer, (before, after) in enumerate(itertools.pairwise(sizes)):
        params[f"w{layer}"] = (random.standard_normal((before, after)) / np.sqrt(before)).astype(np.float32)
        params[f"b{layer}"] = np.zeros(after, np.float32)
    images = random.standard_normal((256, 784)).astype(np.float32)
    labels = random.integers(0, 10, 256)
    return params, {"images": images, "targets": np.eye(10, dtype=np.float32)[labels]}


def mlp(xp: Any, p: dict[str, Any], images: Any, targets: Any) -> Any:
    """Cross entropy of a perceptron with two hidden layers, in any library with NumPy's names."""
    hidden = xp.maximum(images @ p["w0"] + p["b0"], 0.0)
    hidden = xp.maximum(hidden @ p["w1"] + p["b1"], 0.0)
    logits = hidden @ p["w2"] + p["b2"]
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(shifted), axis=1)) - xp.sum(shifted * targets, axis=1))


def regression_data(dtype: str) -> tuple[Arrays, Arrays]:
    """Parameters and observations."""
    random = np.random.default_rng(1)
    features = random.standard_normal((100_000, 50)).astype(dtype)
    truth = random.standard_normal(50).astype(dtype)
    noise = random.standard_t(4, 100_000).astype(dtype)
    params = {"coefficients": np.zeros(50, dtype), "log_scale": np.zeros((), dtype)}
    return params, {"features": features, "targets": features @ truth + noise}


def regression(xp: Any, p: dict[str, Any], features: Any, targets: Any) -> Any:
    """Log density of residuals with four degrees of freedom, up to a constant."""
    scaled = (targets - features @ p["coefficients"]) * xp.exp(-p["log_scale"])
    return -2.5 * xp.sum(xp.log1p(scaled * scaled / 4.0)) - targets.shape[0] * p["log_scale"]


@dataclass(frozen=True)
class Bench:
    """Parameters and data, and the loss of them as it is written for each library."""

    data: Callable[[], tuple[Arrays, Arrays]]
    in_numpy: Callable[..., Any]
    in_jax: Callable[..., Any]
    in_torch: Callable[..., Any]

    def split(self) -> tuple[Any, list[np.ndarray[Any, Any]]]:
        """Its split with respect to all parameters, and the arrays that its programs take."""
        import primsplit as ps

        params, data = self.data()
        return ps.split(self.in_numpy, params, *data.values(), wrt="p"), leaves_of(params, data)


def leaves_of(params: Arrays, data: Arrays) -> list[np.ndarray[Any, Any]]:
    """The arrays in the order in which a program takes them: the parameters by name, and the data."""
    return [*(params[k] for k in sorted(params)), *data.values()]


def ours(bench: Bench, threads: int) -> Calls:
    """The exported joint file, and the forward pass alone, in onnxruntime."""
    made, leaves = bench.split()
    return {
        "primsplit": bound(made.joint(), leaves, threads),
        "onnxruntime, forward only": bound(made.program, leaves, threads),
    }


def jax_alternative(bench: Bench) -> Calls:
    """jax.jit(value_and_grad), compiled."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    params, data = bench.data()
    p = {k: jnp.asarray(v) for k, v in params.items()}
    rest = [jnp.asarray(v) for v in data.values()]
    function = jax.jit(jax.value_and_grad(bench.in_jax)).lower(p, *rest).compile()
    return {"jax.jit": lambda: jax.block_until_ready(function(p, *rest))}


class TorchNames:
    """NumPy's names over torch, where they differ."""

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def maximum(self, x: Any, y: float) -> Any:
        """ReLU, as a torch user would write it."""
        return self.torch.relu(x)

    def max(self, x: Any, axis: int, keepdims: bool) -> Any:
        """The maximum along an axis."""
        return self.torch.amax(x, dim=axis, keepdim=keepdims)


def torch_alternatives(bench: Bench, threads: int, device: str = "cpu") -> Calls:
    """torch eager with autograd, and torch.compile of the loss."""
    import torch

    torch.set_num_threads(threads)
    params, data = bench.data()
    p = {k: torch.tensor(v, device=device, requires_grad=True) for k, v in params.items()}
    rest = [torch.tensor(v, device=device) for v in data.values()]
    compiled = torch.compile(bench.in_torch)

    def step(function: Callable[..., Any]) -> Any:
        value = function(p, *rest)
        return value.detach(), torch.autograd.grad(value, [p[k] for k in sorted(p)])

    return {"torch eager": lambda: step(bench.in_torch), "torch.compile": lambda: step(compiled)}


def _in_names(model: Callable[..., Any]) -> Bench:
    """The losses of a model that takes NumPy's names from any library."""

    def in_jax(*args: Any) -> Any:
        import jax.numpy as jnp

        return model(jnp, *args)

    return Bench(DATA[model], partial(model, np), in_jax, lambda *args: model(TorchNames(), *args))


DATA: dict[Any, Any] = {mlp: mlp_data, regression: partial(regression_data, "float64")}

BENCHES = {
    "mlp": _in_names(mlp),
    "regression32": replace(_in_names(regression), data=partial(regression_data, "float32")),
    "regression64": _in_names(regression),
    "transformer": Bench(transformer.data, transformer.in_numpy, transformer.in_jax, transformer.in_torch),
    "convnet": Bench(convnet.data, convnet.in_numpy, convnet.in_jax, convnet.in_torch),
}


def agree(alternatives: Calls) -> None:
    """Print how far each alternative's value and gradients are from ours, relative to the largest element of each."""
    values = {name: as_numbers(call()) for name, call in alternatives.items()}
    wanted = values.pop("primsplit")
    for name, found in values.items():
        pairs = zip(found, wanted, strict=False)
        wrong = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)
        print(f"{name}: {len(found)} arrays, within {wrong:.1e} of ours")


def kept_by_none(bench: Bench, threads: int, *, pattern: bool) -> Call:
    """A call of the joint file whose results are the caller's, as other libraries' are."""
    from primsplit.programs.runtime import Session

    made, leaves = bench.split()
    model = made.joint().to_onnx()
    Session(model, threads=threads, plan_memory=pattern)(*leaves)
    session = Session(model, threads=threads, plan_memory=pattern)
    return lambda: session(*leaves)


RUNS: dict[str, Callable[[Bench, int], Call]] = {
    "primsplit": lambda bench, cores: kept_by_none(bench, cores, pattern=False),
    "primsplit, memory pattern": lambda bench, cores: kept_by_none(bench, cores, pattern=True),
    "jax.jit": lambda bench, _: jax_alternative(bench)["jax.jit"],
    "torch eager": lambda bench, cores: torch_alternatives(bench, cores)["torch eager"],
    "torch.compile": lambda bench, cores: torch_alternatives(bench, cores)["torch.compile"],
}


def print_peak(bench: Bench, name: str, cores: int) -> None:
    """Print the megabytes that three runs add to the resident memory at its peak."""
    call = RUNS[name](bench, cores)
    if not name.startswith("primsplit"):
        call()
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    for _ in range(3):
        call()
    print(f"{resident('VmHWM') - before:8.1f} MB")


def print_peaks(name: str, cores: int) -> None:
    """Print the peak of each alternative, from a process of its own."""
    print(f"{name}, {cores} core(s), peak of resident memory over three runs")
    for run in RUNS:
        command = [sys.executable, "-m", "tools.bench.fixed", "--only", name, "--peak", run, "--cores", str(cores)]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"  {run:30s}{told.stdout.rstrip()}")


def main() -> None:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--only", choices=sorted(BENCHES))
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peak", choices=RUNS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    use_cores(asked.cores)
    for name, bench in BENCHES.items():
        if asked.only not in {None, name}:
            continue
        if asked.peak:
            print_peak(bench, asked.peak, asked.cores)
        elif asked.memory:
            print_peaks(name, asked.cores)
        else:
            alternatives = ours(bench, asked.cores) | jax_alternative(bench) | torch_alternatives(bench, asked.cores)
            agree(alternatives)
            title = f"{name}, {asked.cores} core(s), value and gradient"
            print_table(title, compare(alternatives, budget=5.0), "primsplit")


if __name__ == "__main__":
    main()
