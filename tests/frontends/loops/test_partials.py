"""The derivatives of scalar functions of nests: those of differences, for each function."""

import numpy as np
import pytest

from primsplit.frontends.loops.derivation import derive
from primsplit.frontends.loops.functions import FUNCTIONS
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.partials import FLAT, PARTIALS
from primsplit.frontends.loops.sizes import check
from tests.frontends.loops.running import assert_gradients_meet_differences, drawn

X, W, K = drawn(3, 5), drawn(4, 5), drawn(5, 3)
POINTS = {"arccosh": 2.0, "log": 1.0, "log2": 1.0, "log10": 1.0, "log1p": 1.0, "sqrt": 1.0, "cbrt": 1.0}
SMALL = {"arcsin", "arccos", "arctanh"}


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - FLAT))
def test_each_function_has_the_derivative_of_differences(name: str) -> None:
    x, y = np.array([0.31, 0.62, 0.83]), np.array([1.3, 0.45, 0.7])
    x = x + POINTS.get(name, 0.0) if name not in SMALL else x
    row = {1: "z[i] := {}(x[i])", 2: "z[i] := {}(x[i], y[i])", 3: "z[i] := {}(x[i] > 0.5, x[i], y[i])"}
    text = row[FUNCTIONS[name].arity].format(name) if name != "clip" else "z[i] := clip(x[i], 0.5, y[i])"
    arrays = {"x": x, "y": y} if "y[i]" in text else {"x": x}
    assert_gradients_meet_differences(parse_notation(text), arrays, threshold=0.0)
    assert_gradients_meet_differences(parse_notation(text), arrays, threshold=np.inf)


def test_each_function_has_a_row_or_is_flat() -> None:
    assert set(PARTIALS) | FLAT | {"where"} == set(FUNCTIONS)
    assert not set(PARTIALS) & FLAT
    assert all(len(row) == FUNCTIONS[name].arity for name, row in PARTIALS.items())


def test_a_function_of_the_users_has_a_derivative_by_its_name() -> None:
    nest = parse_notation("y[i] := softplus(x[i])*x[i]", functions=["softplus"])
    derivation = derive(nest, ["x"])
    functions = {"softplus": lambda x: np.logaddexp(0, x), "softplus'0": lambda x: 1 / (1 + np.exp(-x))}
    reverse = derivation.reverse
    forward = interpret(derivation.forward, {"x": X}, functions=functions)
    known = {"d_y": np.ones(5), "x": X, **forward}
    found = interpret(
        reverse, {n: known[n] for n, _ in reverse.arguments}, sizes=check(nest, {"x": (5,)}), functions=functions
    )
    np.testing.assert_allclose(found["d_x"], X / (1 + np.exp(-X)) + np.logaddexp(0, X))
    assert "softplus'0" in {line.function for line in reverse.operations}
