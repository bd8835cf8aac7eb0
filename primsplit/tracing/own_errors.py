"""Turn errors of Python and of libraries that are raised inside of primsplit into primsplit's own.

A broken model makes NumPy, onnx or a rule raise an IndexError that does not mention the model. It becomes a
PrimsplitError with the operator and the node; the original stays its `__cause__`, and `PRIMSPLIT_TRACEBACK=1` shows it.
Errors that the user's own code raises stay as they are.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from primsplit.ir import Op
from primsplit.ir.errors import PrimsplitError

LIBRARIES = sys.stdlib_module_names - {"__main__"} | {
    "google", "ml_dtypes", "numpy", "onnx", "onnx_ir", "onnxruntime", "optree", "primsplit", "scipy", "sympy",
}  # fmt: skip
"""The packages whose code is not the user's."""
LONGEST = 200
"""The most characters of a foreign error that are shown."""


@contextmanager
def own_errors(what: str, kind: type[PrimsplitError] = PrimsplitError) -> Iterator[None]:
    """Raise foreign errors from inside as this kind of error, which says that `what` failed, at which operator."""
    try:
        yield
    except Exception as error:
        if not is_foreign(error):
            raise
        raise told(error, what, kind) from error


def is_foreign(error: Exception) -> bool:
    """Whether an error is neither primsplit's nor a warning, and passed through no code of the user's.

    Only frames since the error's traceback begins count.
    """
    is_own = isinstance(error, PrimsplitError | Warning) or type(error).__module__.partition(".")[0] == "primsplit"
    return not is_own and all(_is_of_library(frame) for frame in _frames(error.__traceback__))


def told(error: Exception, what: str, kind: type[PrimsplitError]) -> PrimsplitError:
    """Return an error of primsplit's for this one, at the op that was processed, if any."""
    op = _op_of(error)
    at = "" if op is None else f" at {op.kind.removeprefix('call::')}"
    return kind(
        f"{what}{at}: {type(error).__name__}{_reason(error)}",
        place=None if op is None else op.place,
        because=("Python, or a library, raised this: the model is not valid, or primsplit has a fault.",),
        cure="Its __cause__ has the traceback.",
    )


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f": {text[:LONGEST]}" if text else ""


def _frames(trace: TracebackType | None) -> list[FrameType]:
    """Return the frames of a traceback, the outermost first."""
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _is_of_library(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in LIBRARIES


def _op_of(error: Exception) -> Op | None:
    """Return the op, with a place, that the innermost function with such an op held."""
    for frame in reversed(_frames(error.__traceback__)):
        ops = [v for v in frame.f_locals.values() if isinstance(v, Op) and v.place is not None and v.place.filename]
        if ops:
            return ops[0]
    return None
