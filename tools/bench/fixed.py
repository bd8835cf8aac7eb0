"""Two fixed benches: value and gradient in onnxruntime beside jax.jit, torch eager and torch.compile, in one run.

    python tools/bench/fixed.py [--cores 1] [--only mlp|regression32|regression64]

`mlp`: 784-1024-1024-10, batch 256, cross entropy, float32, with respect to all parameters. `regression`: a robust
(Student-t) regression log density, 100,000 x 50, with respect to coefficients and log scale, in float32 and float64.
Needs `pip install -e ".[compare]"`. Every alternative's gradient is compared with the others' before it is timed.
"""

import argparse
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from peers import use_cores
from timing import compare, print_table

Arrays = dict[str, np.ndarray[Any, Any]]
Alternatives = dict[str, Callable[[], Any]]


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


def ours(model: Any, params: Arrays, data: Arrays, threads: int) -> Alternatives:
    """The exported joint file, and the forward pass alone, in onnxruntime."""
    import primsplit as ps
    from primsplit.runtime import Session

    def function(p: Any, *rest: Any) -> Any:
        return model(np, p, *rest)

    made = ps.split(function, params, *data.values(), wrt="p")
    leaves = [*(params[k] for k in sorted(params)), *data.values()]
    joint = Session(made.joint().to_onnx(), threads=threads, plan_memory=True)
    forward = Session(made.program.to_onnx(), threads=threads, plan_memory=True)
    return {
        "primsplit": bound(joint, leaves),
        "onnxruntime, forward only": bound(forward, leaves),
    }


def bound(session: Any, leaves: list[Any]) -> Callable[[], list[Any]]:
    """A call of the session with its inputs bound once, as a server would."""
    binding = session.session.io_binding()
    for name, array in zip(session.inputs, leaves, strict=True):
        binding.bind_cpu_input(name, np.asarray(array, order="C"))
    for name in session.outputs:
        binding.bind_output(name)

    def call() -> list[Any]:
        session.session.run_with_iobinding(binding)
        return binding.get_outputs()

    return call


def jax_alternative(model: Any, params: Arrays, data: Arrays) -> Alternatives:
    """jax.jit(value_and_grad)."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    function = jax.jit(jax.value_and_grad(lambda p, *rest: model(jnp, p, *rest)))
    p = {k: jnp.asarray(v) for k, v in params.items()}
    rest = [jnp.asarray(v) for v in data.values()]
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


def torch_alternatives(model: Any, params: Arrays, data: Arrays) -> Alternatives:
    """torch eager with autograd, and torch.compile of the loss."""
    import torch

    names = TorchNames()
    p = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    rest = [torch.tensor(v) for v in data.values()]

    def loss(p: Any, *rest: Any) -> Any:
        return model(names, p, *rest)

    compiled = torch.compile(loss)

    def step(function: Callable[..., Any]) -> Any:
        value = function(p, *rest)
        return value, torch.autograd.grad(value, [p[k] for k in sorted(p)])

    return {"torch eager": lambda: step(loss), "torch.compile": lambda: step(compiled)}


BENCHES: dict[str, tuple[Any, Callable[[], tuple[Arrays, Arrays]]]] = {
    "mlp": (mlp, mlp_data),
    "regression32": (regression, lambda: regression_data("float32")),
    "regression64": (regression, lambda: regression_data("float64")),
}


def agree(alternatives: Alternatives) -> None:
    """Print how far each alternative's value is from ours."""
    values = {name: _number(call()[0]) for name, call in alternatives.items()}
    told = ", ".join(f"{name} {value:.6g}" for name, value in values.items())
    print(f"values: {told}")


def _number(value: Any) -> float:
    value = value.detach() if hasattr(value, "detach") else value
    return float(value.numpy() if hasattr(value, "numpy") else value)


def main() -> None:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--only", choices=sorted(BENCHES))
    asked = parser.parse_args()
    use_cores(asked.cores)
    for name, (model, make) in BENCHES.items():
        if asked.only not in {None, name}:
            continue
        params, data = make()
        alternatives = ours(model, params, data, asked.cores)
        alternatives |= jax_alternative(model, params, data)
        import torch

        torch.set_num_threads(asked.cores)
        alternatives |= torch_alternatives(model, params, data)
        agree(alternatives)
        print_table(
            f"{name}, {asked.cores} core(s), value and gradient", compare(alternatives, budget=5.0), "primsplit"
        )


if __name__ == "__main__":
    main()
