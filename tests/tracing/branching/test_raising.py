"""A check that fails in the run: its value, its error, and its derivatives."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import checked, zero_unless

X = np.array([0.5, -0.0, 2.0])
FAILS = "raises ValueError: q is above 1"


def scaled(x: Any, q: Any) -> Any:
    """3 x, which needs q to be at most 1."""
    return checked(3.0 * x, q > 1, ValueError("q is above 1"))


def test_a_checked_array_keeps_every_bit() -> None:
    program = ps.trace(lambda x, q: checked(x, q > 1, ValueError("q is above 1")), X, 0.5)
    found = program(X, 0.5)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(X))


def test_a_run_that_meets_what_is_wrong_raises_the_error_at_the_users_line() -> None:
    with pytest.raises(RunError, match=FAILS) as caught:
        ps.trace(scaled, X, 0.5)(X, 2.0)
    assert "test_raising.py" in str(caught.value)


def test_any_wrong_element_of_an_array_fails() -> None:
    program = ps.trace(scaled, X, X)
    np.testing.assert_allclose(program(X, np.zeros(3)), 3 * X)
    with pytest.raises(RunError, match=FAILS):
        program(X, np.array([0.0, 0.0, 2.0]))


def test_no_element_is_not_wrong() -> None:
    program = ps.trace(scaled, X, ps.spec("f64", ["N"]))
    np.testing.assert_allclose(program(X, np.zeros(0)), 3 * X)


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "float32", "float16"])
def test_arrays_of_every_kind_can_be_checked(dtype: str) -> None:
    x = np.array([0, 1, 1]).astype(dtype)
    program = ps.trace(lambda x, q: checked(x, q > 1, ValueError("q is above 1")), x, 0.5)
    found = program(x, 0.5)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, x)
    with pytest.raises(RunError, match=FAILS):
        program(x, 2.0)


def test_what_is_known_to_be_wrong_raises_while_tracing() -> None:
    def refused(x: Any) -> Any:
        return x + zero_unless(as_array(np.array([False, True])), ValueError("it is known"))

    with pytest.raises(ValueError, match="it is known"):
        ps.trace(refused, X)


def test_one_example_of_a_batch_that_is_wrong_fails_the_batch() -> None:
    batch = ps.vmap(scaled)
    rows = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(batch(rows, np.array([0.5, 0.6])), 3 * rows)
    with pytest.raises(RunError, match=FAILS):
        batch(rows, np.array([0.5, 2.0]))


def test_a_users_handler_is_a_branch() -> None:
    def either(x: Any, q: Any) -> Any:
        try:
            return scaled(x, q)
        except ValueError:
            return 7.0 * x

    program = ps.trace(either, X, 0.5)
    np.testing.assert_allclose(program(X, 0.5), 3 * X)
    np.testing.assert_allclose(program(X, 2.0), 7 * X)
    gradient = ps.grad(lambda x, q: np.sum(either(x, q)))
    np.testing.assert_allclose(gradient(X, 2.0), np.full(3, 7.0))


def test_a_side_that_is_not_taken_is_not_checked() -> None:
    def guarded(x: Any, q: Any) -> Any:
        return x if q > 0.9 else scaled(x, q)

    np.testing.assert_allclose(ps.trace(guarded, X, 0.5)(X, 2.0), X)


def test_a_step_of_a_scan_fails() -> None:
    def steps(x: Any, q: Any) -> Any:
        return ps.scan(lambda carry, q: (scaled(carry, q), carry[0]), x, q)[0]

    program = ps.trace(steps, X, np.zeros(2))
    np.testing.assert_allclose(program(X, np.zeros(2)), 9 * X)
    with pytest.raises(RunError, match="ValueError"):
        program(X, np.array([0.0, 2.0]))


def test_the_file_fails_without_primsplit(tmp_path: Any) -> None:
    path = tmp_path / "checked.onnx"
    ps.export(lambda x, q: np.sum(scaled(x, q)), X, 0.5, wrt="x", path=str(path))
    code = """
import sys, numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
x = np.array([0.5, 0.0, 2.0])
print(session.run(None, {"x": x, "q": np.array(0.5)})[1])
try:
    session.run(None, {"x": x, "q": np.array(2.0)})
except Exception:
    print("failed")
"""
    found = subprocess.run([sys.executable, "-I", "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[3. 3. 3.]", "failed"]
