"""docs/from_scratch.py: its derivatives equal differences, in both modes and to second order; it runs, and is short."""

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "docs" / "from_scratch.py"
KERNEL = SimpleNamespace(**runpy.run_path(str(FILE)))
random = np.random.default_rng(0)
X, Y, ROW, W = (random.uniform(0.5, 1.5, shape) for shape in ((2, 3), (2, 3), (3,), (3, 4)))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (lambda x, r: np.sum(np.sin(x + r)), (X, ROW)),
    "subtract": (lambda x, r: np.sum(np.sin(r - x)), (X, ROW)),
    "multiply": (lambda x, r: np.sum(np.sin(x * r)), (X, ROW)),
    "divide": (lambda x, r: np.sum(np.sin(x / r)), (X, ROW)),
    "negative": (lambda x: np.sum(np.exp(-x)), (X,)),
    "sin": (lambda x: np.sum(np.sin(x) * x), (X,)),
    "cos": (lambda x: np.sum(np.cos(x) * x), (X,)),
    "log": (lambda x: np.sum(np.log(x) * x), (X,)),
    "exp": (lambda x: np.sum(np.exp(x) * x), (X,)),
    "tanh": (lambda x: np.sum(np.tanh(x) * x), (X,)),
    "matmul": (lambda x, w: np.sum(np.cos(x @ w)), (X, W)),
    "transpose": (lambda x: np.sum(np.transpose(x) @ np.sin(x)), (X,)),
    "reshape": (lambda x: np.sum(np.sin(np.reshape(x, (3, 2))) @ x), (X,)),
    "broadcast_to": (lambda r, x: np.sum(np.sin(np.broadcast_to(r, (2, 3)) * x)), (ROW, X)),
    "sum": (lambda x: np.sum(np.exp(np.sum(x, axis=0))) + np.sum(x / np.sum(x, axis=1, keepdims=True) * x), (X,)),
    "a value that is used twice, and one that is not used": (lambda x, y: np.sum(x * x * np.sin(x)), (X, Y)),
    "a layer": (KERNEL.loss, (W, X)),
}


def slope(function: Callable[..., Any], arrays: Any, directions: Any) -> Any:
    """A five-point central difference along a direction."""
    h = 1e-3
    at = [function(*(a + k * h * d for a, d in zip(arrays, directions, strict=True))) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_modes_and_the_second_derivative_are_the_differences(name: str) -> None:
    function, arrays = FUNCTIONS[name]
    directions = [random.standard_normal(a.shape) for a in arrays]
    block = KERNEL.trace(function, *arrays)
    made, gradient = KERNEL.split(block), KERNEL.gradient(block)

    wanted = slope(function, arrays, directions)
    value, *found = KERNEL.evaluate(KERNEL.joint(made), *arrays, 1.0)
    np.testing.assert_allclose(value, function(*arrays), rtol=1e-13)
    np.testing.assert_allclose(sum(np.sum(g * d) for g, d in zip(found, directions, strict=True)), wanted, rtol=1e-9)
    np.testing.assert_allclose(KERNEL.evaluate(KERNEL.pushforward(made), *arrays, *directions), [value, wanted], 1e-9)

    def gradients(*at: Any) -> Any:
        return np.concatenate([np.ravel(g) for g in KERNEL.evaluate(gradient, *at)])

    np.testing.assert_allclose(gradients(*arrays), np.concatenate([np.ravel(g) for g in found]), rtol=1e-13)
    products = KERNEL.evaluate(KERNEL.pushforward(KERNEL.split(gradient)), *arrays, *directions)[len(arrays) :]
    second = np.concatenate([np.ravel(p) for p in products])
    np.testing.assert_allclose(second, slope(gradients, arrays, directions), rtol=1e-8, atol=1e-9)


def test_every_operator_has_a_kernel_a_rule_and_a_test() -> None:
    assert set(KERNEL.KERNELS) == set(KERNEL.RULES)
    assert set(KERNEL.RULES) <= set(FUNCTIONS)


def test_a_gradient_that_nobody_asks_for_is_not_computed_and_what_the_pullback_reads_is_kept() -> None:
    made = KERNEL.split(KERNEL.trace(lambda x: np.tanh(np.sin(x)), 1.0))
    kinds = [op.kind for op in made.primal.ops]
    assert kinds == ["sin", "tanh"]
    makers = {op.output: op.kind for op in made.primal.ops}
    assert [makers.get(v, "input") for v in made.pullback.captures] == ["tanh", "input"]


def test_it_prints_its_listing() -> None:
    done = subprocess.run([sys.executable, str(FILE)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("program(w, x):  # captures: none\n  a: [2, 4] = matmul(x, w)\n")
    assert "program(d_y):  # captures: b, w, x\n" in done.stdout


def test_it_is_short() -> None:
    assert len(FILE.read_text().splitlines()) < 300
