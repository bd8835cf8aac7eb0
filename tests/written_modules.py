"""Run a written module of NumPy in a fresh Python that has no primsplit, beside onnxruntime on the file itself."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.written import Written, read_written

Arrays = Sequence[np.ndarray[Any, Any]]
RUN = """
import runpy, sys
import numpy as np
sys.modules["primsplit"] = None  # its import is an ImportError
functions, given = runpy.run_path(sys.argv[1]), np.load(sys.argv[2])
run = functions.get("value_and_grad") or functions.get("run") or functions["forward"]
found = run(*(given[f"arr_{i}"] for i in range(len(given.files))))
found = found if isinstance(found, tuple) else (found,)
assert all(isinstance(v, (np.ndarray, np.generic)) for v in found), list(map(type, found))
np.savez(sys.argv[3], *found)
"""


def run_module(path: str | Path, inputs: Arrays, folder: Path) -> list[np.ndarray[Any, Any]]:
    """What a module's function returns for these inputs, in a Python that cannot import primsplit."""
    np.savez(folder / "inputs.npz", *inputs)
    (folder / "run_it.py").write_text(RUN)
    told = [sys.executable, "-I", folder / "run_it.py", path, folder / "inputs.npz", folder / "results.npz"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(told, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = np.load(folder / "results.npz")
    return [found[name] for name in found.files]


def write_module(files: Sequence[Written], path: Path) -> str:
    """Write the module of files, with its arrays; return its text."""
    module = to_numpy(files)
    path.write_text(module.text)
    if module.arrays:
        np.savez(path.with_suffix(".npz"), **module.arrays)
    return module.text


def assert_module_computes(path: str | Path, inputs: Arrays, folder: Path, units: float = 200) -> str:
    """The module of a file computes what onnxruntime computes of the file, to some units of the dtype's rounding.

    Rounding is measured against the largest number of a result. Returns the text of the module.
    """
    file = read_written(str(path))
    text = write_module([file], folder / "module.py")
    found = run_module(folder / "module.py", inputs, folder)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = session.run(None, dict(zip(file.inputs, inputs, strict=True)))
    assert_same(found, expected, units)
    return text


def assert_same(found: Arrays, expected: Arrays, units: float) -> None:
    """Arrays have the same dtypes and shapes, and are equal to some units of rounding."""
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind == "f" and b.size:
            finite = b[np.isfinite(b)]
            scale = float(np.max(np.abs(finite), initial=np.finfo(b.dtype).tiny))
            np.testing.assert_allclose(a, b, rtol=0, atol=units * np.finfo(b.dtype).eps * scale)
        else:
            np.testing.assert_array_equal(a, b)
