"""The watch of checks: what a check that passes went through, and nothing of one that fails."""

import json
import subprocess
import sys

SCRIPT = """
import json
import numpy as np
import primsplit as ps
from primsplit import testing
from tools.watching import Watcher

watcher = Watcher()
watcher.install()

def seen(function):
    watcher.clear()
    try:
        testing.check_grads(function, np.array([0.3, 0.7]), order=2)
    except AssertionError:
        pass
    return {key: sorted(watcher.seen[key]) for key in ("traced", "checked", "differentiated", "written")}

right = seen(np.sin)
complex_ = seen(lambda x: np.real(1j * x * x))
wrong = seen(lambda x: np.cos(ps.stop_gradient(x)) * x)
print(json.dumps([right, complex_, wrong]))
"""


def test_a_check_that_passes_shows_its_functions_and_operators_and_one_that_fails_nothing() -> None:
    """In a process of its own, as a watch cannot be undone."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    right, of_parts, wrong = json.loads(done.stdout.splitlines()[-1])
    assert right["traced"] == right["checked"] == ["np.sin"]
    assert {"Sin", "Cos"} <= {*right["differentiated"]}
    assert {"Sin", "Cos"} <= {*right["written"]}
    assert "np.real" in of_parts["traced"]
    assert set(map(tuple, wrong.values())) == {()}
