"""Whether a gradient file computes what the model does: its values, and its derivative along a direction.

The model is run by onnxruntime alone. The derivative is a central difference, which is trusted where two step widths
agree.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

from primsplit.onnx.versions import version_of

Arrays = Mapping[str, np.ndarray[Any, Any]]
LARGEST = float(np.finfo(np.float32).max)
STRAY = ("Random", "Bernoulli", "Multinomial", "Dropout", "Quantize", "Round", "Ceil", "Floor", "ArgMax", "ArgMin")
"""Operators whose values are drawn, or jump where numbers are equal but for rounding, or whose gradient is not their
derivative on purpose."""


def original() -> Any:
    """A session of `model.onnx`, None where onnxruntime does not take it, or where values cannot be compared.

    onnxruntime takes some attributes that are NaN for those that are not given, and reads a function in the opset of
    the model, where it imports another one itself.
    """
    with open("model.onnx", "rb") as file:
        data = file.read()
    if any(name.encode() in data for name in STRAY):
        return None
    model = onnx.load_from_string(data)
    if any(np.isnan(a.f) for node in model.graph.node for a in node.attribute):
        return None
    if any(version_of(function) != version_of(model) for function in model.functions):
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession("model.onnx", options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  # onnxruntime raises classes that share no ancestor of its own
        return None
    ends = (*session.get_inputs(), *session.get_outputs())
    return session if all(e.type.startswith("tensor(") for e in ends) else None


def run_alone(session: Any, feeds: Arrays) -> Sequence[Any] | str | None:
    """Return the results of the model, or its error; None if it takes other inputs, or refuses these."""
    inputs = [i.name for i in session.get_inputs()]
    if any(name not in feeds for name in inputs):
        return None
    try:
        found: Sequence[Any] = session.run(None, {name: feeds[name] for name in inputs})
    except Exception as error:  # noqa: BLE001  # see above
        told = str(error)
        return None if "INVALID_ARGUMENT" in told else f"the model fails: {told[:300]}"
    return found


def difference(session: Any, feeds: Arrays, expected: Sequence[Any], names: Sequence[str], found: Sequence[Any]) -> str:
    """Return the difference of a run of the gradient file from the model; `names` are those of the file's outputs."""
    given = {i.name: feeds[i.name] for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    for name, wanted, made in zip(outputs, expected, found, strict=False):
        if not _is_alike(wanted, made):
            return f"value {name}: {_told(made)} and not {_told(wanted)}"
    gradients = dict(zip(names[len(outputs) :], found[len(outputs) :], strict=True))
    cotangents = {n: a for n, a in feeds.items() if n not in given}
    shapes = {f"d_{n}": v.shape for n, v in zip(outputs, expected, strict=True)}
    if any(shapes.get(n) != a.shape for n, a in cotangents.items()):
        return ""
    if any(v.dtype.kind == "f" and not np.all(np.abs(v) < LARGEST) for v in expected):
        return ""  # the lowest float32 stands for -inf, which has no differences
    return _slope(session, given, cotangents, gradients)


def _is_alike(wanted: Any, made: Any) -> bool:
    if wanted.dtype.kind not in "fiub" or made.dtype.kind not in "fiub":
        return True
    if wanted.shape != made.shape:
        return False
    rough = 2e-2 if np.float16 in {wanted.dtype, made.dtype} else 1e-3
    with np.errstate(all="ignore"):
        # onnxruntime masks by the lowest float32, where the standard has -inf.
        wanted, made = (np.clip(a, -LARGEST, LARGEST) if a.dtype.kind == "f" else a for a in (wanted, made))
        scale = np.max(np.abs(wanted), initial=0, where=np.abs(wanted) < LARGEST)
        return bool(np.allclose(made, wanted, rtol=rough, atol=rough * (1e-3 + float(scale)), equal_nan=True))


def _slope(session: Any, given: Arrays, cotangents: Arrays, gradients: Arrays) -> str:
    """Return the slope by the gradients along a direction, if two differences agree on another one."""
    outputs = [o.name for o in session.get_outputs()]
    moved = {n: gradients[f"d_{n}"] for n in given if f"d_{n}" in gradients}
    if not cotangents or not moved or any(v.dtype.itemsize < 4 or v.dtype.kind != "f" for v in moved.values()):
        return ""
    for name, slope in moved.items():
        if slope.shape != given[name].shape:
            return f"shape of d_{name}: {slope.shape} and not {given[name].shape}"
    random = np.random.default_rng(1)
    along = {n: random.standard_normal(given[n].shape) for n in moved}
    told = float(sum(np.sum(along[n] * moved[n].astype(np.float64)) for n in moved))

    def value(step: float) -> float:
        at = {n: (v + step * along[n]).astype(v.dtype) if n in along else v for n, v in given.items()}
        made = dict(zip(outputs, session.run(None, at), strict=True))
        return float(sum(np.sum(made[n[2:]].astype(np.float64) * a) for n, a in cotangents.items()))

    try:
        with np.errstate(all="ignore"):
            sides = [(value(h) - value(0.0)) / h for h in (1e-2, -1e-2, 5e-3, -5e-3)]
    except Exception:  # noqa: BLE001  # the data decide what can be run
        return ""
    scale = max(map(abs, sides))
    if not np.isfinite(sides).all() or np.ptp(sides) > 0.03 * scale + 1e-3 or not scale < 1e6:
        return ""
    if not np.isfinite(told):
        return ""
    wanted = (sides[0] + sides[1]) / 2
    return "" if abs(told - wanted) < 0.06 * scale + 5e-3 else f"slope {told:.5g} and not {wanted:.5g}"


def _told(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)} {np.array2string(array.reshape(-1)[:6], precision=6)}"
