"""Products with a Hessian, and whole Hessians: onnxruntime beside jax.jit of the same, in one run.

    python tools/bench/products.py [--budget SECONDS] [--only NAME]

One core. `hvp / gradient` is the time of the file of value, gradient and product over that of value and gradient; the
aim is 2.5 at most. The Hessian is that of a function of 200 parameters, all directions at once and in chunks. Every
result is compared with JAX's before it is timed. Needs `pip install -e ".[compare]"`.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from fixed import bound, mlp, mlp_data, regression, regression_data
from peers import use_cores
from timing import compare, print_table

Call = Callable[[], Any]


def session(program: Any, leaves: list[Any]) -> Call:
    """A call of a program in onnxruntime with its inputs bound."""
    from primsplit.runtime import Session

    return bound(Session(program.to_onnx(), threads=1, plan_memory=True), leaves)


def product_bench(title: str, model: Any, params: dict[str, Any], data: dict[str, Any], budget: float) -> None:
    """Gradient and product of a model with nested parameters, ours and JAX's."""
    import jax
    import jax.numpy as jnp

    import primsplit as ps
    from primsplit.programs.modes import derive

    random = np.random.default_rng(2)
    keys = sorted(params)
    vector = {k: np.asarray(random.standard_normal(params[k].shape), params[k].dtype) for k in keys}

    def function(p: Any, *rest: Any) -> Any:
        return model(np, p, *rest)

    leaves = [*(params[k] for k in keys), *data.values()]
    gradient = session(ps.split(function, params, *data.values(), wrt="p").joint(), leaves)
    made: Any = derive(function, params, *data.values(), mode="hvp", wrt="p")
    product = session(made.joint(), [*leaves, *(vector[k] for k in keys)])

    jax.config.update("jax_enable_x64", True)
    rest = [jnp.asarray(v) for v in data.values()]
    p, v = ({k: jnp.asarray(a[k]) for k in keys} for a in (params, vector))
    value_and_grad = jax.value_and_grad(lambda q, *r: model(jnp, q, *r))
    jax_gradient = jax.jit(value_and_grad)
    jax_product = jax.jit(lambda q, t, *r: jax.jvp(lambda s: value_and_grad(s, *r), (q,), (t,)))
    ((_, _), (_, wanted)) = jax_product(p, v, *rest)
    found = [o.numpy() for o in product()][1 + len(keys) :]
    check([wanted[k] for k in keys], found, 1e-4 if params[keys[0]].dtype == np.float32 else 1e-8)
    times = compare(
        {
            "gradient": gradient,
            "hvp (value, gradient, product)": product,
            "jax.jit gradient": lambda: jax.block_until_ready(jax_gradient(p, *rest)),
            "jax.jit hvp": lambda: jax.block_until_ready(jax_product(p, v, *rest)),
        },
        budget=budget,
    )
    print_table(title, times, "gradient")
    ours = times["hvp (value, gradient, product)"].median / times["gradient"].median
    theirs = times["jax.jit hvp"].median / times["jax.jit gradient"].median
    print(f"  hvp / gradient: {ours:.2f} (aim 2.5), jax.jit {theirs:.2f}")


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


def hessian_bench(budget: float) -> None:
    """The Hessian of a function of 200 parameters."""
    import jax
    import jax.numpy as jnp

    import primsplit as ps

    random = np.random.default_rng(3)
    x, features, targets = (
        random.standard_normal(200) * 0.3,
        random.standard_normal((256, 10)),
        random.standard_normal(256),
    )
    leaves = [x, features, targets]

    def function(*args: Any) -> Any:
        return network(np, *args)

    alternatives = {
        f"hessian, {told}": session(ps.trace(ps.hessian(function, chunk=chunk), *leaves), leaves)
        for told, chunk in (("all at once", None), ("chunks of 50", 50), ("chunks of 8", 8), ("one by one", 1))
    }
    jax.config.update("jax_enable_x64", True)
    given = [jnp.asarray(a) for a in leaves]
    jax_hessian = jax.jit(jax.hessian(lambda *a: network(jnp, *a)))
    for call in alternatives.values():
        check([jax_hessian(*given)], [call()[0].numpy()], 1e-10)
    alternatives["jax.jit(jax.hessian)"] = lambda: jax.block_until_ready(jax_hessian(*given))
    alternatives["gradient"] = session(ps.trace(ps.value_and_grad(function), *leaves), leaves)
    print_table("Hessian of 200 parameters", compare(alternatives, budget=budget), "hessian, all at once")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each alternative")
    parser.add_argument("--only", choices=["mlp", "regression32", "regression64", "hessian"])
    asked = parser.parse_args()
    use_cores(1)
    benches: dict[str, Call] = {
        "mlp": lambda: product_bench("mlp, float32", mlp, *mlp_data(), asked.budget),
        "regression32": lambda: product_bench(
            "regression, float32", regression, *regression_data("float32"), asked.budget
        ),
        "regression64": lambda: product_bench(
            "regression, float64", regression, *regression_data("float64"), asked.budget
        ),
        "hessian": lambda: hessian_bench(asked.budget),
    }
    for name, bench in benches.items():
        if asked.only in {None, name}:
            bench()


if __name__ == "__main__":
    main()
