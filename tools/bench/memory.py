"""Measure the memory of a gradient file in onnxruntime, by the order of its ops and the memory pattern.

    python -m tools.bench.memory [LAYERS]

A perceptron with layers of 256 x 256 on a batch of 4096: each layer's activations are 4 MB. Each row is a process of
its own; the numbers are the peak of its resident memory over what it was before the first run, after one run and after
three. `as recorded` has each weight gradient beside its layer's cotangent.
"""

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, BATCH = 256, 4096
ACTIVATIONS = {"tanh": np.tanh, "maximum": lambda x: np.maximum(x, 0.0)}


def write(folder: Path, layers: int) -> list[Path]:
    """The gradient files, one for each activation and order."""
    import primsplit as ps
    from primsplit.programs.doors import save_models

    paths = []
    for name, activation in ACTIVATIONS.items():

        def loss(weights: Any, x: Any, activation: Any = activation) -> Any:
            for w, b in weights:
                x = activation(x @ w + b)
            return np.mean(x * x)

        pairs = [(ps.spec("float32", [WIDTH, WIDTH]), ps.spec("float32", [WIDTH]))] * layers
        made = ps.split(loss, pairs, ps.spec("float32", [BATCH, WIDTH]), wrt="weights").joint()
        orders = {"gradients last": made.named, "as recorded": dataclasses.replace(made.named, gradients=())}
        for order, named in orders.items():
            paths.append(folder / f"{name}, {order}.onnx")
            save_models([(named, str(paths[-1]))])
    return paths


def run(path: str, pattern: bool) -> None:
    """Print the two peaks in megabytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_mem_pattern = pattern
    session = onnxruntime.InferenceSession(path, options)
    random = np.random.default_rng(0)
    feeds = {i.name: (random.standard_normal(i.shape) / 16).astype(np.float32) for i in session.get_inputs()}
    before, peaks = resident("VmRSS"), []
    for _ in range(3):
        session.run(None, feeds)
        peaks.append(resident("VmHWM") - before)
    print(f"{peaks[0]:8.0f} MB {peaks[-1]:8.0f} MB")


def resident(field: str) -> float:
    """Megabytes of resident memory now (VmRSS) or at its peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main() -> None:
    """Print the table, or be one row's process."""
    if len(sys.argv) == 3:
        run(sys.argv[1], sys.argv[2] == "on")
        return
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print(f"{layers} layers: the activations are {layers * 4} MB\n{'':42s}{'first run':>11s}{'third run':>12s}")
    with tempfile.TemporaryDirectory() as folder:
        for path in write(Path(folder), layers):
            for pattern in ("off", "on"):
                told = subprocess.run(
                    [sys.executable, "-m", "tools.bench.memory", str(path), pattern],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                print(f"{f'{path.stem}, memory pattern {pattern}':42s}{told.stdout.rstrip()}")


if __name__ == "__main__":
    main()
