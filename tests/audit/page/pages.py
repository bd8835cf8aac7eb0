"""Files to make pages of."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh

import primsplit as ps
from primsplit.audit.written import Written, read_written


def squares(h: Any) -> Any:
    return np.sum(h * h, axis=1)


def loss(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return squares(hidden)


def total(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(w * h + x)
        return h, h * x

    h, ys = ps.scan(step, np.float32(0), xs)
    return ps.cond(h > 0, lambda: h + np.sum(ys), lambda: h * 2)


SPECS = (ps.spec("float32", [3, 4]), ps.spec("float32", ["N", 3]))
STEPS = (ps.spec("float32", []), ps.spec("float32", ["T"]))


def written(folder: Path, function: Any, *args: Any, **options: Any) -> list[Written]:
    """Return the files that hold a function and its gradient."""
    return [read_written(path) for path in ps.export(function, *args, path=folder / "f.onnx", **options)]


def foreign(folder: Path, *nodes: onnx.NodeProto, version: int = 21) -> Written:
    """Return a file of another program with these nodes, from x of 3 numbers to y."""
    ends = [oh.make_tensor_value_info(name, 1, [3]) for name in ("x", "y")]
    opsets = [oh.make_opsetid("", version), oh.make_opsetid("com.microsoft", 1)]
    model = oh.make_model(oh.make_graph([*nodes], "g", ends[:1], ends[1:]), opset_imports=opsets, ir_version=10)
    onnx.save(model, folder / "g.onnx")
    return read_written(str(folder / "g.onnx"))
