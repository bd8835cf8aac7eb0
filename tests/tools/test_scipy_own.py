"""The measurement traces SciPy's own code in place of a formula, and says why it does not serve."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_function_in_python_serves_and_a_compiled_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "test_samples.py").write_text(
        "import numpy as np\nimport scipy.stats\nimport scipy.ndimage\nfrom primsplit.testing import check_grads\n\n"
        "X = np.array([0.3, 1.2, 0.7, 2.5])\n\n\n"
        "def test_samples():\n"
        "    check_grads(lambda x: scipy.stats.zscore(x), X)\n"
        "    check_grads(lambda x: scipy.ndimage.correlate1d(x, [1.0, 2.0, 1.0]), X)\n"
    )
    results = tmp_path / "results.json"
    command = [sys.executable, "-m", "tools.scipy_own", "--results", str(results), str(tmp_path / "test_samples.py")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    found = json.loads(results.read_text())
    assert found["scipy.stats.zscore"]["why"] == ""
    formula, own = found["scipy.stats.zscore"]["nodes"][0]
    assert 0 < own <= 1.5 * formula
    assert found["scipy.ndimage.correlate1d"]["why"]
