"""`primsplit check` where a comparison has limits: what it is made with, and what the row says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps

CALLS_A_MODEL = """
import os
import numpy as np
import primsplit as ps

model = ps.load(os.path.join(os.path.dirname(__file__), "inner.onnx"))

def loss(x, w):
    return np.sum(model(x) * w, dtype=np.float32)

def example_inputs():
    return np.array([0.3, 0.7, -1.9], np.float32), np.float32(0.5)
"""


@pytest.mark.parametrize("mode", ["gradient", "jvp", "hvp"])
def test_a_function_that_calls_a_model_of_float32_is_checked_by_its_program_in_float64(
    primsplit: Callable[..., Any], model: Callable[..., Path], mode: str
) -> None:
    path = model(CALLS_A_MODEL)
    ps.trace(np.tanh, ps.spec("float32", [3])).save(str(path.parent / "inner.onnx"))
    done = primsplit("check", path, "--mode", mode, "--json")
    assert done.status == 0, done.out
    rows = {r["name"]: r for r in done.json["rows"]}
    assert rows.pop("y")["against"] == "plain NumPy"
    assert {r["note"] for r in rows.values()} == {"of the program: the function refuses float64"}


def test_a_file_of_an_older_model_is_not_called_right(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(CALLS_A_MODEL)
    ps.trace(np.sin, ps.spec("float32", [3])).save(str(path.parent / "inner.onnx"))
    assert primsplit("export", path, "--onnx", tmp_path / "old.onnx").status == 0
    ps.trace(np.tanh, ps.spec("float32", [3])).save(str(path.parent / "inner.onnx"))
    done = primsplit("check", path, "--onnx", tmp_path / "old.onnx", "--json")
    assert done.status == 1
    assert [r["verdict"] for r in done.json["rows"]] == ["wrong", "wrong", "wrong"]


def test_a_function_that_draws_anew_in_each_call_is_not_called_right(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        generator = np.random.default_rng(0)

        def loss(x):
            return np.sum((x + 0.1 * generator.normal(size=3)) ** 2)

        def example_inputs():
            return (np.ones(3),)
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 1
    value = done.json["rows"][0]
    assert (value["verdict"], value["note"]) == ("unclear", "the function gives another value in each call")


def test_a_mask_that_is_drawn_and_may_be_the_same_in_two_calls_is_not_called_right(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import itertools
        import numpy as np

        masks = itertools.cycle([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

        def loss(x):
            return np.sum(np.array(next(masks)) * x)

        def example_inputs():
            return (np.array([1.0, 2.0]),)
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 1
    told = "the function gives another value in each call"
    assert [(row["verdict"], row["note"]) for row in done.json["rows"]] == [("unclear", told)] * 2


SEARCH = """
import numpy as np
from scipy.optimize import minimize

def loss(p):
    return minimize(lambda x: np.sum((x - p) ** 4 + x**2), np.zeros(3), method="BFGS", options={"gtol": GTOL}).x

def example_inputs():
    return (np.array([0.3, 1.0, 2.0]),)
"""


@pytest.mark.parametrize(("gtol", "verdict"), [("1e-5", "ok"), ("1e-2", "unclear")])
def test_a_minimum_is_as_far_from_numpys_as_scipys_search_ends_sooner(
    primsplit: Callable[..., Any], model: Callable[..., Path], gtol: str, verdict: str
) -> None:
    told = primsplit("check", model(SEARCH.replace("GTOL", gtol)), "--json").json
    row = next(r for r in told["rows"] if r["name"] == "y")
    assert (row["verdict"], row["note"]) == (verdict, "SciPy's own search ends sooner")


EQUATION = """
import numpy as np
from scipy.integrate import odeint, solve_ivp

def loss(k):
    turn = lambda t, y: np.stack([y[1], -k * y[0]])
    odes = odeint(turn, [1.0, 0.0], np.linspace(0.0, 3.0, 5), tfirst=True)[:, 0]
    return odes + solve_ivp(turn, (0, 3.0), [1.0, 0.0], "METHOD", np.linspace(0.5, 3.0, 5)).y[0]

def example_inputs():
    return (2.0,)
"""


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("method", "verdict"), [("RK45", "ok"), ("LSODA", "unclear")])
def test_an_equation_is_as_far_from_numpys_as_other_steps_explain(
    primsplit: Callable[..., Any], model: Callable[..., Path], method: str, verdict: str
) -> None:
    told = primsplit("check", model(EQUATION.replace("METHOD", method)), "--json").json
    row = next(r for r in told["rows"] if r["name"] == "y")
    assert (row["verdict"], row["note"]) == (verdict, "SciPy takes other steps")


def test_values_that_are_not_finite_are_not_called_ok(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        def loss(x):
            return np.log(x).sum()

        def example_inputs():
            return (np.array([0.0, 1.0]),)
        """)
    done = primsplit("check", path, "--json")
    assert done.status == 1
    assert done.json["rows"][0]["verdict"] != "ok"


def test_the_line_whose_pullback_is_not_finite_first_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        def loss(x):
            r = np.sqrt(np.sum(x**2, axis=1))
            return np.sum(np.exp(-r))

        def example_inputs():
            return (np.array([[0.0, 0.0], [1.0, 2.0]]),)
        """)
    row = primsplit("check", path, "--json").json["rows"][1]
    assert (row["verdict"], row["note"]) == ("wrong", "not finite: pullback of Sqrt, model.py:4")
