"""The files that a first gradient passes: these numbers may fall, and not grow."""

import subprocess
import sys

import pytest

ENTERED = {"layer": 180, "branches": 210}
"""The most files whose functions the first gradient of a program enters."""


@pytest.mark.parametrize("program", ENTERED)
def test_a_first_gradient_enters_no_more_files_than_it_did(program: str) -> None:
    line = [sys.executable, "-m", "tools.first_gradient", program]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    entered = int(done.stdout.split()[1])
    assert ENTERED[program] - 10 < entered <= ENTERED[program], "lower the number where the gradient enters fewer"
