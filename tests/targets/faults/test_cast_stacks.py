"""Stacks that are transposed, cast, and multiplied: onnxruntime's own way ends the process while a file is loaded."""

import subprocess
import sys

HALF = """
x, w = np.arange(24.0).reshape(2, 3, 4).astype("float16") / 8, np.ones((2, 5), "float16")
f = lambda x, w: np.tanh(np.transpose(x, (1, 2, 0)) @ w + 1)
"""
CAST = """
x, w = np.arange(24.0).reshape(2, 3, 4) / 8, np.ones((2, 5), "float32")
f = lambda x, w: np.tanh(np.sqrt(np.transpose(x, (1, 2, 0)).astype("float32")) @ w + np.float32(1))
"""
RIGHT = """
x, w = np.arange(24.0).reshape(2, 3, 4).astype("float16") / 8, np.ones((5, 2), "float16")
f = lambda x, w: np.tanh(w @ np.swapaxes(x, 0, 1) + 1)
"""
CHECK = """
specs = [ps.spec(x.dtype, ["A", "B", "C"]), ps.spec(w.dtype, list(sizes))]
for given in ([x, w], specs):
    value, *_ = ps.split(lambda x, w: np.sum(f(x, w)), *given).joint()(x, w)
    assert abs(value - np.sum(f(x, w), dtype="float64")) < 2e-3 * value, value
print("alive")
"""


PROGRAMS = [(HALF, "AD"), (CAST, "AD"), (RIGHT, "DA")]


def test_a_file_that_multiplies_such_a_stack_is_loaded() -> None:
    each = "".join(f"sizes = {sizes!r}\n{program}{CHECK}" for program, sizes in PROGRAMS)
    code = f"import numpy as np, primsplit as ps\n{each}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["alive"] * 3, done.stderr
