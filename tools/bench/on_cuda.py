"""The fixed benches on a GPU: files for CUDA in onnxruntime beside torch and jax.jit on the same device, in one run.

    python -m tools.bench.on_cuda [--only NAME]

Needs onnxruntime-gpu, and torch and JAX for CUDA. Inputs and outputs stay on the device, and a call ends when the
device is done. Products of float32 are taken without TensorFloat-32 everywhere. "CUDA graph" is the same file with
onnxruntime's `enable_cuda_graph`, which replays the launches of a file that has neither loops nor branches. `lstm` is
that of `loops.py`, beside torch's by cuDNN. Gradients are compared before anything is timed.
"""

import argparse
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tools.bench import fixed, loops
from tools.bench.calls import Call, Calls
from tools.bench.timing import compare, print_table

Arrays = Sequence[np.ndarray[Any, Any]]


class OnDevice:
    """A session of a file on CUDA whose inputs and outputs stay there. A call waits for the device."""

    def __init__(self, model: Any, leaves: Arrays, values: Arrays, **options: str) -> None:
        import onnxruntime

        told = onnxruntime.SessionOptions()
        told.enable_mem_pattern = False
        told.log_severity_level = 4
        cuda = ("CUDAExecutionProvider", {"use_tf32": "0", **options})
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), told, providers=[cuda, "CPUExecutionProvider"]
        )
        self.binding = self.session.io_binding()
        to_device = partial(onnxruntime.OrtValue.ortvalue_from_numpy, device_type="cuda", device_id=0)
        for given, array in zip(self.session.get_inputs(), leaves, strict=True):
            self.binding.bind_ortvalue_input(given.name, to_device(np.asarray(array, order="C")))
        self.outputs = [to_device(value) for value in values]
        for output, value in zip(self.session.get_outputs(), self.outputs, strict=True):
            self.binding.bind_ortvalue_output(output.name, value)

    def __call__(self) -> None:
        self.session.run_with_iobinding(self.binding)
        self.binding.synchronize_outputs()

    def read(self) -> list[np.ndarray[Any, Any]]:
        """Return the results of the last call."""
        return [value.numpy() for value in self.outputs]


def ours(made: Any, leaves: Arrays, *, graph: bool) -> dict[str, OnDevice]:
    """The joint file of a split on CUDA, checked against the file for the CPU, and the same as a CUDA graph."""
    joint = made.joint()
    values = joint.session()(*leaves)
    model = joint.to_onnx("cuda")
    found = {"primsplit": OnDevice(model, leaves, values)}
    if graph:
        found["primsplit, CUDA graph"] = OnDevice(model, leaves, values, enable_cuda_graph="1")
    for run in found.values():
        run()
        run()
        for value, wanted in zip(run.read(), values, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=0, atol=2e-4 * max(1, float(np.abs(wanted).max())))
    return found


def waiting(alternatives: Calls) -> Calls:
    """Calls of torch that end when the device is done."""
    import torch

    def waits(call: Call) -> Call:
        def run() -> Any:
            found = call()
            torch.cuda.synchronize()
            return found

        return run

    return {name: waits(call) for name, call in alternatives.items()}


def bench_fixed(name: str) -> None:
    """One of the fixed benches."""
    bench = fixed.BENCHES[name]
    found = ours(*bench.split(), graph=True)
    peers = waiting(fixed.torch_alternatives(bench, os.cpu_count() or 1, "cuda")) | fixed.jax_alternative(bench)
    print_table(f"{name} on CUDA, value and gradient", compare({**found, **peers}, budget=3.0), "primsplit")


def bench_lstm() -> None:
    """The LSTM, whose loops launch every operator of every step."""
    import scipy.special

    import primsplit as ps

    data = loops.lstm_data()
    function = partial(loops.lstm, np, ps.scan, scipy.special.expit)
    found = ours(ps.split(function, *data.values()), list(data.values()), graph=False)
    peers = waiting(loops.lstm_torch(data, "cuda"))
    print_table("lstm on CUDA, value and gradient", compare({**found, **peers}, budget=3.0), "primsplit")


def main() -> None:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[*sorted(fixed.BENCHES), "lstm"])
    asked = parser.parse_args()
    for name in fixed.BENCHES:
        if asked.only in {None, name}:
            bench_fixed(name)
    if asked.only in {None, "lstm"}:
        bench_lstm()


if __name__ == "__main__":
    main()
