"""Products with a Hessian, and whole Hessians: onnxruntime beside jax.jit of the same, in one run.

    python -m tools.bench.products [--budget SECONDS] [--only NAME] [--model NAME]

One core. `value, gradient, product` is the file of all three, `product alone` that of `ps.hvp`; both are told over the
file of value and gradient, in time and in multiply-adds of matrix products, which time cannot be far below. The aim is
2.5 at most for the product. The Hessian is that of a function of 200 parameters, all directions at once and in chunks.
Every result is compared with JAX's before it is timed. `models` tells both ratios for every file in models/ with one
scalar result. Needs `pip install -e ".[compare]"`.
"""

import argparse
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.calls import Calls, as_numbers, bound
from tools.bench.fixed import leaves_of, mlp, mlp_data, regression, regression_data
from tools.bench.peers import use_cores
from tools.bench.timing import compare, print_table

Arrays = dict[str, Any]
MODELS = Path(__file__).parents[2] / "models"


def multiply_adds(program: Any) -> int:
    """Return the number of multiplications in the matrix products of a program of literal sizes, as in its file."""
    from primsplit.ir import walk
    from primsplit.rewrites.rewriting import literal_shape
    from primsplit.targets.finish import finish

    total = 0
    for op in walk(finish(program.block, program.gradients)):
        if op.kind in {"Gemm", "MatMul"} and op.inputs[0] is not None:
            left, made = literal_shape(op.inputs[0].type), literal_shape(op.outputs[0].type)
            assert left is not None
            assert made is not None
            total += math.prod(made) * left[0 if op.attributes.get("transA") else -1]
    return total


def product_bench(title: str, model: Any, params: Arrays, data: Arrays, budget: float) -> None:
    """Gradient and product of a model with nested parameters, ours and JAX's."""
    import primsplit as ps
    from primsplit.programs.export import derive

    random = np.random.default_rng(2)
    keys = sorted(params)
    vector = {k: np.asarray(random.standard_normal(params[k].shape), params[k].dtype) for k in keys}

    def function(p: Any, *rest: Any) -> Any:
        return model(np, p, *rest)

    leaves = leaves_of(params, data)
    made: Any = derive(function, params, *data.values(), mode="hvp", wrt="p")
    programs = {
        "gradient": ps.split(function, params, *data.values(), wrt="p").joint(),
        "value, gradient, product": made.joint(),
        "product alone": ps.hvp(function).program(params, *data.values(), vector),
    }
    moved = [*leaves, *(vector[k] for k in keys)]
    ours = {name: bound(p, leaves if name == "gradient" else moved) for name, p in programs.items()}
    theirs, wanted = jax_calls(model, params, vector, list(data.values()))
    tolerance = 1e-4 if params[keys[0]].dtype == np.float32 else 1e-8
    for name, before in (("value, gradient, product", 1 + len(keys)), ("product alone", 0)):
        check([wanted[k] for k in keys], as_numbers(ours[name]())[before:], tolerance)
    times = compare({**ours, **{f"jax.jit {name}": call for name, call in theirs.items()}}, budget=budget)
    print_table(title, times, "gradient")
    least = {name: multiply_adds(program) for name, program in programs.items()}
    for name in ("value, gradient, product", "product alone"):
        ratio = times[name].least / times["gradient"].least
        peer = times[f"jax.jit {name}"].least / times["jax.jit gradient"].least
        adds = least[name] / least["gradient"]
        print(f"  {name} / gradient: {ratio:.2f} (multiply-adds {adds:.2f}), jax.jit {peer:.2f}")


def jax_calls(model: Any, params: Arrays, vector: Arrays, data: list[Any]) -> tuple[Calls, Arrays]:
    """The three programs in JAX, compiled, and the product that they give."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    rest = [jnp.asarray(v) for v in data]
    p, v = ({k: jnp.asarray(array) for k, array in arrays.items()} for arrays in (params, vector))
    value_and_grad = jax.value_and_grad(lambda q, *r: model(jnp, q, *r))
    gradient = jax.jit(value_and_grad)
    product = jax.jit(lambda q, t, *r: jax.jvp(lambda s: value_and_grad(s, *r), (q,), (t,)))
    alone = jax.jit(lambda q, t, *r: jax.jvp(lambda s: value_and_grad(s, *r)[1], (q,), (t,))[1])
    ((_, _), (_, wanted)) = product(p, v, *rest)
    calls = {
        "gradient": lambda: jax.block_until_ready(gradient(p, *rest)),
        "value, gradient, product": lambda: jax.block_until_ready(product(p, v, *rest)),
        "product alone": lambda: jax.block_until_ready(alone(p, v, *rest)),
    }
    return calls, wanted


def check(wanted: list[Any], found: list[Any], tolerance: float) -> None:
    """Stop where two results differ."""
    for a, b in zip(wanted, found, strict=True):
        wrong = float(np.max(np.abs(np.asarray(a) - b)) / max(np.max(np.abs(b)), 1e-12))
        if wrong > tolerance:
            raise SystemExit(f"the results differ by {wrong:.1e}")


def network(xp: Any, x: Any, features: Any, targets: Any) -> Any:
    """Squared error of a small network whose 200 weights are one vector."""
    first, second = x[:150].reshape(10, 15), x[150:165]
    hidden = xp.tanh(features @ first + x[165:180])
    scores = xp.tanh(hidden * second) @ x[180:195]
    return xp.mean((scores + xp.sum(x[195:] ** 2) - targets) ** 2)


def hessian_data() -> list[np.ndarray[Any, Any]]:
    """Return the parameters of `network`, and its data."""
    random = np.random.default_rng(3)
    return [0.3 * random.standard_normal(200), random.standard_normal((256, 10)), random.standard_normal(256)]


def case(name: str) -> tuple[Any, Arrays, Arrays, Arrays]:
    """Return a model, its parameters, its data, and the vector of the product."""
    model = mlp if name == "mlp" else regression
    params, data = mlp_data() if name == "mlp" else regression_data("float32" if name.endswith("32") else "float64")
    random = np.random.default_rng(2)
    vector = {k: np.asarray(random.standard_normal(params[k].shape), params[k].dtype) for k in sorted(params)}
    return model, params, data, vector


def hessian_bench(budget: float) -> None:
    """The Hessian of a function of 200 parameters."""
    import jax
    import jax.numpy as jnp

    import primsplit as ps

    leaves = hessian_data()

    def function(*args: Any) -> Any:
        return network(np, *args)

    alternatives = {
        f"hessian, {told}": bound(ps.trace(ps.hessian(function, chunk=chunk), *leaves), leaves)
        for told, chunk in (("all at once", None), ("chunks of 50", 50), ("chunks of 8", 8), ("one by one", 1))
    }
    jax.config.update("jax_enable_x64", True)
    given = [jnp.asarray(a) for a in leaves]
    jax_hessian = jax.jit(jax.hessian(lambda *a: network(jnp, *a)))
    for call in alternatives.values():
        check([jax_hessian(*given)], as_numbers(call())[:1], 1e-10)
    alternatives["jax.jit(jax.hessian)"] = lambda: jax.block_until_ready(jax_hessian(*given))
    alternatives["gradient"] = bound(ps.trace(ps.value_and_grad(function), *leaves), leaves)
    print_table("Hessian of 200 parameters", compare(alternatives, budget=budget), "hessian, all at once")


def models_bench(budget: float) -> None:
    """The product, with value and gradient and alone, over value and gradient for the models, at ones as the vector.

    Each model has a process of its own: memory that the sessions of others have left makes loops slower.
    """
    print("models, over the gradient: value, gradient, product; product alone", flush=True)
    for path in sorted(MODELS.glob("*.py")):
        command = [sys.executable, "-m", "tools.bench.products", "--model", path.stem, "--budget", str(budget)]
        subprocess.run(command, check=True)


def model_bench(path: Path, budget: float) -> None:
    """The row of a model; none for one that has no scalar result."""
    import primsplit as ps
    from primsplit.programs.export import derive
    from primsplit.programs.plain import arrays_of
    from primsplit.programs.userfile import load

    file = load(str(path))
    example = file.example()
    if example is None:
        return
    made = ps.split(file.function, *example.args, wrt=file.wrt, seed="ones")
    if made.program.block.results[0].type.shape != () or file.mode == "value":
        return
    gradient: Any = made.joint()
    product: Any = derive(file.function, *example.args, mode="hvp", wrt=file.wrt)
    leaves = arrays_of(made.program, (example.args, {}))
    moved = [*leaves, *(np.ones(t.shape, t.dtype) for t in product.joint().types[len(leaves) :])]
    whole = product.joint()
    calls = {
        "gradient": bound(gradient, leaves),
        "product": bound(whole, moved),
        "alone": bound(last_results(whole, len(product.pushed.wrt)), moved),
    }
    times = compare(calls, budget=budget)
    ratios = (times[name].least / times["gradient"].least for name in ("product", "alone"))
    print(f"  {path.stem:24s}{'  '.join(f'{ratio:6.2f}' for ratio in ratios)}")


def last_results(program: Any, count: int) -> Any:
    """The program with its last results alone, and only what they need."""
    from primsplit.programs.flat import flat_program

    block = replace(program.block, results=program.block.results[-count:])
    return flat_program(block, program.inputs, program.outputs[-count:], range(count), program.defaults)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each alternative")
    parser.add_argument("--only", choices=["mlp", "regression32", "regression64", "hessian", "models"])
    parser.add_argument("--model", choices=sorted(path.stem for path in MODELS.glob("*.py")), help="one row of models")
    asked = parser.parse_args()
    use_cores(1)
    if asked.model is not None:
        model_bench(MODELS / f"{asked.model}.py", asked.budget)
        return
    benches: Calls = {
        "mlp": lambda: product_bench("mlp, float32", mlp, *mlp_data(), asked.budget),
        "regression32": lambda: product_bench(
            "regression, float32", regression, *regression_data("float32"), asked.budget
        ),
        "regression64": lambda: product_bench(
            "regression, float64", regression, *regression_data("float64"), asked.budget
        ),
        "hessian": lambda: hessian_bench(asked.budget),
        "models": lambda: models_bench(asked.budget),
    }
    for name, bench in benches.items():
        if asked.only in {None, name}:
            bench()


if __name__ == "__main__":
    main()
