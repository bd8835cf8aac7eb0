"""Run a folder made by `write.py` with whatever onnxruntime is installed, and compare; primsplit is not needed.

    python tools/portability/run.py FOLDER [--provider cuda]

A line for each file that does not load, fails, or gives other numbers; then a count. Exits with 1 unless all are right.
On CUDA products of float32 are taken without TensorFloat-32, and what has no kernel there runs on the CPU.
"""

import argparse
import base64
import collections
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

PROVIDERS: dict[str, list[Any]] = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": [("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"],
}
TOLERANCES = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2}


def main() -> int:
    """Run every file; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--provider", choices=PROVIDERS, default="cpu")
    asked = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    verdicts: collections.Counter[str] = collections.Counter()
    for path in sorted(asked.folder.glob("*.onnx")):
        told = json.loads(path.with_suffix(".json").read_text())
        verdict, why = judge(path, told, PROVIDERS[asked.provider])
        verdicts[verdict] += 1
        if verdict != "right":
            print(f"{verdict}: {path.name} {told['name']}: {why}", flush=True)
    print(f"onnxruntime {onnxruntime.__version__}: {dict(verdicts)}")
    return int(set(verdicts) != {"right"})


def judge(path: Path, told: dict[str, Any], providers: list[Any]) -> tuple[str, str]:
    """A verdict on one file, and why."""
    options = onnxruntime.SessionOptions()
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # noqa: BLE001  # onnxruntime's errors share no ancestor of their own
        return "not loaded", brief(error)
    inputs, outputs = decoded(told["inputs"]), decoded(told["outputs"])
    try:
        found = session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})
    except Exception as error:  # noqa: BLE001  # see above
        return "failed", brief(error)
    for output, value in zip(session.get_outputs(), found, strict=True):
        wanted = outputs[output.name]
        if value.shape != wanted.shape:
            return "wrong", f"{output.name} has the shape {value.shape}, not {wanted.shape}"
        largest = float(np.max(np.abs(wanted), initial=1, where=np.isfinite(wanted)))
        tolerance = TOLERANCES.get(wanted.dtype.name, 0) * largest
        if not np.allclose(value, wanted, rtol=0, atol=tolerance, equal_nan=True):
            return "wrong", f"{output.name} is off by {np.max(np.abs(value - wanted)):.2g} of {largest:.2g}"
    return "right", ""


def decoded(arrays: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that JSON holds."""
    return {
        name: np.frombuffer(base64.b64decode(a["bytes"]), a["dtype"]).reshape(a["shape"]) for name, a in arrays.items()
    }


def brief(error: Exception) -> str:
    """The last words of an error."""
    return " ".join(str(error).split())[-200:]


if __name__ == "__main__":
    sys.exit(main())
