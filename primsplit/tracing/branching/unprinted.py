"""Silence errors on their way to a second run: `sys.excepthook` prints none that a function is run again for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from primsplit.ir.errors import PrimsplitError


@contextmanager
def unprinted() -> Iterator[None]:
    """Print nothing of an error that is handled by running the function again.

    Extension modules of SciPy print what is raised inside of a function that they call, by `sys.excepthook`, and raise
    another error. If nothing of SciPy is loaded, the process's hook stays as it is.
    """
    if "scipy" not in sys.modules:
        yield
        return
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if not (isinstance(error, PrimsplitError) and error.again):
            before(kind, error, traceback)

    sys.excepthook = hook
    try:
        yield
    finally:
        if sys.excepthook is hook:
            sys.excepthook = before
