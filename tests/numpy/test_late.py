"""The tables of functions find the special functions, whose modules are imported when the first is asked for."""

import subprocess
import sys


def test_special_functions_are_imported_when_a_table_lacks_a_name() -> None:
    code = (
        "import sys; from primsplit.numpy.ufuncs import ELEMENTWISE; from primsplit import numpy;"
        "print('primsplit.special.families' in sys.modules);"
        "print(callable(ELEMENTWISE['erf']), 'primsplit.special.families' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
