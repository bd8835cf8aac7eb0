"""The onnx package's nine networks: the gradient beside the forward pass, and beside torch's autograd.

    python -m tools.bench.light [NAME ...] [--cores 1] [--rounds 5]

Image and learned weights are inputs and differentiated, one picture of 224 x 224. The gradient of the image alone is
another regime: there the weights are constants of the file, which onnxruntime lays out as it likes. torch walks the
same graph with its own functions, and its gradients are compared with ours before anything is timed. The alternatives
take turns; the least time of each is told. Needs `pip install -e ".[compare]"`.
"""

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tests.networks import NAMES, Arrays, learned, light_network, random_inputs
from tools.bench import peers
from tools.bench.calls import Call, Calls, as_numbers, bound


def sessions(model: onnx.ModelProto, inputs: Arrays, cotangent: Any, threads: int) -> Calls:
    """The forward pass, and the gradient of all learned weights and the image."""
    made = split(model, [next(iter(inputs)), *learned(model)])
    joint = made.joint()
    values = {**inputs, joint.inputs[-1]: cotangent}
    return {"forward": _bound(made.program, values, threads), "gradient": _bound(joint, values, threads)}


def image_sessions(model: onnx.ModelProto, inputs: Arrays, cotangent: Any, threads: int) -> Calls:
    """The same with constant weights and the image's gradient alone."""
    constant = onnx.ModelProto()
    constant.CopyFrom(model)
    image, *weights = inputs
    del constant.graph.input[1:]
    constant.graph.initializer.extend(numpy_helper.from_array(inputs[name], name) for name in weights)
    made = split(constant, [image])
    joint = made.joint()
    values = {image: inputs[image], joint.inputs[-1]: cotangent}
    return {
        "forward, constant": _bound(made.program, values, threads),
        "image, constant": _bound(joint, values, threads),
    }


def split(model: onnx.ModelProto, wrt: list[str]) -> Any:
    """Return the split of a model with respect to these inputs."""
    import primsplit as ps

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        onnx.save(model, path)
        program = ps.load(str(path))
        return ps.split(program, wrt=wrt)


def _bound(program: Any, values: Mapping[str, Any], threads: int) -> Call:
    return bound(program, [values[name] for name in program.inputs], threads)


def torch_calls(model: onnx.ModelProto, inputs: Arrays, cotangent: Any, threads: int) -> Calls:
    """torch's forward pass without a tape, and with the gradient of the same inputs."""
    import torch

    from tools.bench.network_in_torch import run_in_torch

    torch.set_num_threads(threads)
    asked = {next(iter(inputs)), *learned(model)}
    tensors = {name: torch.tensor(value, requires_grad=name in asked) for name, value in inputs.items()}
    given, seed = [tensors[name] for name in inputs if name in asked], torch.tensor(cotangent)

    def forward() -> Any:
        with torch.no_grad():
            return run_in_torch(model, tensors)

    def gradient() -> Any:
        value = run_in_torch(model, tensors)
        return value.detach(), *torch.autograd.grad(value, given, seed)

    return {"torch forward": forward, "torch gradient": gradient}


def least(calls: Calls, rounds: int) -> dict[str, float]:
    """The least time of a call of each, over rounds in which each runs three times in turn, the first not counted.

    Threads that another library left waiting take a core for a while.
    """
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            for _ in range(2):
                start = time.perf_counter()
                call()
                found[name] = min(found[name], time.perf_counter() - start)
    return found


def measure(name: str, threads: int, rounds: int) -> dict[str, float]:
    """The times for one network, once its gradients are found to be torch's."""
    model = light_network(name)
    inputs = random_inputs(model)
    shape = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
    cotangent = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    calls = sessions(model, inputs, cotangent, threads) | torch_calls(model, inputs, cotangent, threads)
    ours, theirs = (as_numbers(calls[key]()) for key in ("gradient", "torch gradient"))
    pairs = zip(ours, theirs, strict=True)
    wrong = max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs)
    if wrong > 1e-2:
        raise SystemExit(f"{name}: a gradient differs from torch's by {wrong:.1e} of its length")
    times = least(calls, rounds)
    del calls
    return times | least(image_sessions(model, inputs, cotangent, threads), rounds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="networks, by default all nine")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    peers.use_cores(asked.cores)
    columns = ["forward", "gradient", "gradient/forward", "torch's/ours", "image/forward"]
    print(f"{asked.cores} core(s), milliseconds, and ratios; image/forward: with constant weights")
    print(f"{'':14s}" + "".join(f"{c:>18s}" for c in columns))
    for name in asked.names or NAMES:
        t = measure(name, asked.cores, asked.rounds)
        ratios = [
            t["gradient"] / t["forward"],
            t["torch gradient"] / t["gradient"],
            t["image, constant"] / t["forward, constant"],
        ]
        cells = [f"{1e3 * t[k]:.1f}" for k in ("forward", "gradient")] + [f"{r:.2f}" for r in ratios]
        print(f"{name:14s}" + "".join(f"{c:>18s}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
