"""What is generated is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.mark.parametrize("tool", ["make_ops_stub.py", "kernel_table.py"])
def test_a_generated_file_is_what_its_command_writes(tool: str) -> None:
    done = subprocess.run([sys.executable, str(TOOLS / tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
