"""Time the overhead of a call: gradients and programs of tiny arrays, beside onnxruntime's own call.

    python -m tools.bench.overhead

`ps.grad(f)(x)` looks for a program for the same signature and the same state of everything that `f` reads; the rows
with captured arrays show the cost of checking that. The second table is of products prepared once, `(x, v) -> (value,
gradient, H v)`: the overhead beyond onnxruntime's is to stay under 10 us.
"""

import functools
from typing import Any

import numpy as np

import primsplit as ps
from tools.bench.timing import compare, print_table

TINY = np.linspace(0.0, 1.0, 4)
SMALL, LARGE = np.ones(100), np.ones(1_000_000)


def plain(x: Any) -> Any:
    """A function that reads nothing but its argument."""
    return np.sum(x * x)


def helped(x: Any) -> Any:
    """One that calls another, which reads a small global array."""
    return plain(x) + _weighed(x)


def _weighed(x: Any) -> Any:
    return np.sum(x * SMALL[:4])


def closed_over(array: Any) -> Any:
    """One that holds an array."""

    def function(x: Any) -> Any:
        return np.sum(x * array[:4])

    return function


def main() -> None:
    """Print the table."""
    program = ps.split(plain, TINY).joint()
    session = program.session()
    name = session.inputs[0]
    gradient, pair = ps.grad(plain), ps.value_and_grad(plain)
    tree = ps.grad(lambda p: np.sum(p["a"] * p["b"]) + np.sum(p["c"][0]))
    nested = {"a": TINY, "b": TINY, "c": [TINY, TINY]}
    print_table(
        "calls on four float64 numbers",
        compare(
            {
                "onnxruntime's session.run": functools.partial(session.session.run, None, {name: TINY}),
                "Session": functools.partial(session, TINY),
                "Program": functools.partial(program, TINY),
                "ps.grad(f)(x)": functools.partial(gradient, TINY),
                "ps.value_and_grad(f)(x)": functools.partial(pair, TINY),
                "ps.grad(f)(x), f calls and reads": functools.partial(ps.grad(helped), TINY),
                "ps.grad(f)(dict of four arrays)": functools.partial(tree, nested),
                "ps.grad(f)(x), f holds 800 B": functools.partial(ps.grad(closed_over(SMALL)), TINY),
                "ps.grad(f)(x), f holds 8 MB": functools.partial(ps.grad(closed_over(LARGE)), TINY),
            }
        ),
        "onnxruntime's session.run",
    )
    print_products()


def print_products() -> None:
    """Print the table of products with a Hessian, of two inputs and three results."""
    product = ps.value_grad_and_hvp(plain)
    program = product.program(TINY, TINY)
    session = program.session().session
    named = ps.trace(product, ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    _, linear = ps.linearize(plain, TINY)
    feeds = dict(zip(program.inputs, (TINY, TINY), strict=True))
    print_table(
        "products with a Hessian, four float64 numbers",
        compare(
            {
                "onnxruntime's session.run": functools.partial(session.run, None, feeds),
                "prepared.program(x, v)": functools.partial(program, TINY, TINY),
                "the same, for sizes with names": functools.partial(named, TINY, TINY),
                "ps.value_grad_and_hvp(f)(x, v)": functools.partial(product, TINY, TINY),
                "ps.hvp(f, (x,), v)": functools.partial(ps.hvp, plain, (TINY,), TINY),
                "ps.linearize(f, x)[1](v)": functools.partial(linear, TINY),
            },
            rounds=60,
        ),
        "onnxruntime's session.run",
    )


if __name__ == "__main__":
    main()
