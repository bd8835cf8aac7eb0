"""Dequantized values that are moved and read in a branch: onnxruntime ends the process while it loads them."""

import subprocess
import sys

PROGRAM = """
import numpy as np, primsplit as ps
from primsplit.ops import op

def read(x, *scale):
    return op.DequantizeLinear(op.QuantizeLinear(x, *scale), *scale)

def f(x, last):
    scale = np.float32(0.5), np.uint8(100)
    turned = np.transpose(read(x, *scale))
    one = np.reshape(read(last, *scale), ())
    return ps.cond(one > 0, lambda: np.sum(turned[0] * one), lambda: np.sum(turned * turned * one))

x = np.arange(-3, 3, dtype="float32").reshape(2, 3)
program = ps.split(f, ps.spec("float32", ["N", 3]), ps.spec("float32", [1]), wrt="x").joint()
for last, slope in ((2, [[2, 0, 0], [2, 0, 0]]), (-1, -2 * x)):
    np.testing.assert_array_equal(program(x, np.array([last], "float32"))[1], slope)
print("alive")
"""


def test_a_file_whose_branches_read_such_values_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["alive"], done.stderr
