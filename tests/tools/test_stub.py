"""Generated files are up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.versions import since

TOOLS = Path(__file__).parents[2] / "tools"


LISTS_TYPES = since("onnx", "1.21", "Python is not told the dtypes of an operator's inputs")


@pytest.mark.parametrize("tool", ["make_ops_stub.py", pytest.param("kernel_table.py", marks=LISTS_TYPES)])
def test_a_generated_file_is_what_its_command_writes(tool: str) -> None:
    done = subprocess.run([sys.executable, str(TOOLS / tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
