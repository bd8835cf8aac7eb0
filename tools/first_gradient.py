"""Count the files of the package that a first gradient passes: those whose functions it enters, and those it imports.

    python -m tools.first_gradient            the numbers
    python -m tools.first_gradient --files    the files that it enters, with the functions in each

Whoever follows one gradient through the package reads so many files. `tests/tools/test_first_gradient.py` holds the
numbers that must not grow.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import primsplit as ps

PACKAGE = str(Path(ps.__file__).parent)
WEIGHTS = np.ones((3, 4))


def layer(x: Any) -> Any:
    """A layer, summed."""
    return np.tanh(x @ WEIGHTS).sum()


def branches(x: Any) -> Any:
    """Twelve branches, one after the other."""
    for i in range(12):
        x = x * 2 if x.sum() > i else x + 1
    return x.sum()


PROGRAMS: dict[str, Callable[[Any], Any]] = {"layer": layer, "branches": branches}


def passed(function: Callable[[Any], Any]) -> tuple[dict[str, set[str]], set[str]]:
    """Return the functions entered by the first call of a gradient, by file, and the files that it imports.

    A function that runs while a module is imported counts for the import.
    """
    entered: dict[str, set[str]] = defaultdict(set)
    imported: set[str] = set()
    importing = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal importing
        code = frame.f_code
        is_ours = code.co_filename.startswith(PACKAGE)
        if code.co_name == "<module>" and event in {"call", "return"}:
            importing += 1 if event == "call" else -1
            if is_ours:
                imported.add(code.co_filename)
        elif event == "call" and is_ours and not importing:
            entered[code.co_filename].add(code.co_qualname)

    gradient = ps.grad(function)
    sys.setprofile(note)
    try:
        gradient(np.ones((5, 3)))
    finally:
        sys.setprofile(None)
    return entered, imported


def main() -> None:
    """Print what the gradient of one program passes: the process must not have differentiated before."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", nargs="?", default="layer", choices=PROGRAMS)
    parser.add_argument("--files", action="store_true")
    asked = parser.parse_args()
    entered, imported = passed(PROGRAMS[asked.program])
    print(f"enters {len(entered)} files, imports {len(imported)}, passes {len(entered.keys() | imported)}")
    for file, names in sorted(entered.items()) if asked.files else ():
        print(f"  {file.removeprefix(PACKAGE)}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()
