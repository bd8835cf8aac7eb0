"""Errors that a function is run again for: they are raised, and printed by nobody on the way."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from primsplit.ir.errors import PrimsplitError


@contextmanager
def unprinted() -> Iterator[None]:
    """Print nothing of an error that a function may do without, run again.

    Extension modules of SciPy print what is raised inside of a function that they call, by `sys.excepthook`, and
    raise another error. Where none of SciPy is loaded, the hook of the process stays as it is.
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
