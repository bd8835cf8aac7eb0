"""The models that inputs are made from: those of the tests, files that primsplit wrote, onnx's node cases."""

import contextlib
import functools
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

import primsplit as ps
from tests.onnx.seeds import SEEDS, perceptron

LONGEST = 20_000
"""The most bytes of a model: larger ones only take time."""


def _states() -> ps.Program:
    count = ps.state("count", np.zeros((), np.float32))

    def step(x: Any) -> Any:
        count[...] = count + 1.0
        return (x * count).sum()

    return ps.trace(step, ps.spec("float32", ["N", 3]))


def _saved(program: ps.Program, form: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/made.onnx"
        if form == "program":
            program.save(path)
        else:
            ps.split(program).save(path, form="functions" if form == "functions" else "joint")
        return Path(path).read_bytes()


def _loaded(model: onnx.ModelProto) -> ps.Program:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        onnx.save(model, path)
        return ps.load(path)


def _written() -> list[bytes]:
    """Files of primsplit's own: with remarks, places, states, functions, gradients."""
    found = [_saved(_states(), form) for form in ("program", "joint")]
    found += [_saved(_loaded(seed()), form) for seed in SEEDS for form in ("joint", "functions")]
    return found


@functools.cache
def models() -> dict[str, list[bytes]]:
    """The models by where they come from."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
        written = _written()
    nodes = [c.model.SerializeToString() for c in cases if c.model is not None]
    return {
        "seeds": [seed().SerializeToString() for seed in SEEDS],
        "written": written,
        "nodes": [data for data in nodes if len(data) <= LONGEST],
    }


def some_model(random: Random) -> onnx.ModelProto:
    """One of the models."""
    source = random.choice(("seeds", "written", "nodes", "nodes"))
    found: onnx.ModelProto = onnx.ModelProto.FromString(random.choice(models()[source]))
    return found


FUNCTION = b'''"""A loss."""
import numpy as np
import primsplit as ps

def example_inputs():
    return {"x": np.ones((4, 3), np.float32), "w": np.ones(3, np.float32)}

def loss(x, w):
    return np.sum(np.tanh(x @ w) ** 2)

wrt = ["w"]
'''

Maker = Callable[[Random], dict[str, bytes]]


def model_files(random: Random) -> dict[str, bytes]:
    """Return the files in the folder of a command line: a model, a Python file, arrays."""
    arrays = io.BytesIO()
    np.savez(arrays, x=np.ones((4, 3), np.float32), d_y=np.ones(4, np.float32))
    model = perceptron() if random.random() < 0.5 else some_model(random)
    return {"model.onnx": model.SerializeToString(), "loss.py": FUNCTION, "x.npz": arrays.getvalue()}
