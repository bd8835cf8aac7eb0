"""The files that a first gradient passes: these numbers may fall, and not grow."""

import subprocess
import sys

import pytest

ENTERED = {"layer": 146, "branches": 189}
"""The most files whose functions the first gradient of a program enters."""


IMPORTED = {"layer": 76, "branches": 113}
"""The most files that it imports."""


@pytest.mark.parametrize("program", ENTERED)
def test_a_first_gradient_enters_and_imports_no_more_files_than_it_did(program: str) -> None:
    line = [sys.executable, "-m", "tools.first_gradient", program]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    entered, imported = int(done.stdout.split()[1]), int(done.stdout.split()[4].rstrip(","))
    for most, found in ((ENTERED[program], entered), (IMPORTED[program], imported)):
        assert most - 10 < found <= most, "lower the number where the gradient passes fewer"
