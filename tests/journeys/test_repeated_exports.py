"""A program is exported as the same bytes by each process, whatever its hashes of strings and its memory."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

EXPORT = """
import hashlib, sys
import numpy as np
import primsplit as ps
from models import gaussian_process

kept = [np.eye(32, dtype=bool) for _ in range(int(sys.argv[1]))]
del kept[::2]

hyperparameters = {
    "log_length_scales": ps.spec("float64", [10]),
    "log_amplitude": ps.spec("float64", []),
    "log_noise": ps.spec("float64", []),
}
data = ps.spec("float64", [64, 10]), ps.spec("float64", [64])
for i in range(3):
    made = ps.split(gaussian_process.log_marginal_likelihood, hyperparameters, *data, wrt="hyperparameters").joint()
    made.save(f"{i}.onnx")
    with open(f"{i}.onnx", "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest())
"""


def _digests(folder: Path, seed: str, arrays: str) -> list[str]:
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
    line = [sys.executable, "-c", EXPORT, arrays]
    found = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return found.stdout.split()


def test_processes_of_other_hashes_and_memory_export_a_model_as_the_same_bytes(tmp_path: Path) -> None:
    expected = _digests(tmp_path / "first", "0", "0")
    assert len(expected) == 3
    assert _digests(tmp_path / "second", "1", "9") == expected
