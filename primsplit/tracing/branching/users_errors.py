"""Classify errors of a recorded function: the user's own, NumPy's, and those that only a recording raises.

A user's `except` catches only what NumPy raises too. Errors that only a recording raises are noted where they are
constructed (`ir.errors.errors_made`), and one that the user's code caught is raised when the function has returned. A
path may end in any error that Python or the user raises.
"""

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from traceback import walk_tb
from types import FrameType, ModuleType, TracebackType

import numpy as np

from primsplit import tracing
from primsplit.ir.caching.fingerprint import objects_read, package_of
from primsplit.ir.dims import Size
from primsplit.ir.errors import IndexingError, NumberAsked, Place, PrimsplitError, TraceError, errors_made, last_made
from primsplit.ir.scoped import as_block
from primsplit.tracing.array import Array
from primsplit.tracing.converting import is_converted
from primsplit.tracing.places import is_scipys
from primsplit.tracing.source_nodes import nodes_at

_SUBSTITUTES = os.path.join(os.path.dirname(tracing.__path__[0]), "frontends", "python", "overrides") + os.sep


def is_the_functions(error: BaseException) -> bool:
    """Whether an error is the user's function's own, and not one of a library that received traced values.

    So are: what a `raise` of the user's, or of a copy of SciPy's own code, raises; what Python raises for the user's
    own names, indices and numbers, or for types and attributes if the message names no traced array;
    np.linalg.LinAlgError, which is raised where NumPy does; and the ZeroDivisionError of a polynomial's quotient.
    """
    if isinstance(error, np.linalg.LinAlgError | ZeroDivisionError):
        return True
    if _is_raised(error) and _is_of_copy(error.__traceback__):
        return True
    if not _is_users(error.__traceback__):
        return False
    if isinstance(error, TypeError | AttributeError) and not _is_raised(error):
        return Array.__name__ not in text_of(error) and "traced" not in text_of(error)
    return isinstance(error, OF_PYTHON) or _is_raised(error)


OF_PYTHON = (
    AssertionError, ValueError, ArithmeticError, RuntimeError, LookupError, NameError, StopIteration, Warning,
)  # fmt: skip
"""Classes that Python raises for values, indices and names."""


def _is_raised(error: BaseException) -> bool:
    """Whether a `raise` statement raised the error.

    Without the source, whether its class is none that Python or a function in C raises.
    """
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    nodes = nodes_at(trace.tb_frame.f_code, trace.tb_lasti)
    if not nodes:
        return type(error) is Exception or bool(type(error).__flags__ & _CREATED)
    return isinstance(nodes[-1], ast.Raise)


def _is_of_copy(trace: TracebackType | None) -> bool:
    """Whether the innermost frame runs a converted copy of SciPy's own code."""
    codes = [frame.f_code for frame, _ in walk_tb(trace)]
    return bool(codes) and is_scipys(codes[-1].co_filename) and is_converted(codes[-1])


_CREATED = 1 << 9
"""The flag of classes that a `class` statement created (Py_TPFLAGS_HEAPTYPE)."""


@as_block
def errors_not_caught() -> Iterator[None]:
    """Raise the first error that only a recording raises, if the user's own `except` caught it.

    Code around this sees no other: if another run answers the first, the others were those of an abandoned run.
    """
    with errors_made() as made:
        try:
            yield
        finally:
            if (first := next(filter(_is_caught, made), None)) is not None:
                made[:] = [first]
                raise first


def text_of(error: BaseException) -> str:
    """Return the text of an error, also where that is the text of a traced value, at which the user must not look."""
    return str.__str__(str(error))


def _is_caught(error: PrimsplitError) -> bool:
    """Whether an error is a recording's, and the user's code caught it."""
    trace = error.__traceback__
    return _is_recordings(error) and trace is not None and _is_users_file(trace.tb_frame.f_code.co_filename)


def _is_recordings(error: PrimsplitError) -> bool:
    """Whether NumPy would go on where this error was raised; errors of shapes and indices are NumPy's too."""
    is_recordings = error.again or isinstance(error, TraceError)
    return is_recordings and error.numpys is None and not isinstance(error, IndexingError)


@as_block
def errors_of_elements() -> Iterator[None]:
    """Raise the error that NumPy hides behind one of its own: of an array's elements, of a size, of an attribute."""
    made: list[PrimsplitError] = []
    try:
        with errors_made() as made:
            yield
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, PrimsplitError):
            raise
        hidden = error.__cause__ or error.__context__
        if isinstance(hidden, PrimsplitError):
            raise hidden from None
        if (asked := _size_asked(error) or _array_asked(error) or _replaced(made, error)) is not None:
            raise asked from error
        raise


def _replaced(made: Sequence[PrimsplitError], error: Exception) -> PrimsplitError | None:
    """Return the error that compiled code, such as functools.reduce, replaced by this one at the same line."""
    return _at_its_line(next((e for e in reversed(made) if _is_recordings(e)), None), error)


def _at_its_line(last: PrimsplitError | None, error: BaseException) -> PrimsplitError | None:
    """Return the recording's last error if it is of the user's line that the other error went through last."""
    here = _last_place(error.__traceback__, _is_users_file)
    return last if last is not None and last.place is not None and last.place.whole_line == here else None


def _size_asked(error: Exception) -> NumberAsked | None:
    """Return the error for a NumPy function that refused a symbolic size; None for any other error."""
    frame = next((frame for frame, _ in reversed(list(walk_tb(error.__traceback__)))), None)
    if frame is None or not str(frame.f_globals.get("__name__")).startswith("numpy"):
        return None
    size = next((v for v in frame.f_locals.values() if isinstance(v, Size) or _is_whole_number(v)), None)
    if size is None:
        return None
    return NumberAsked(
        f"np.{frame.f_code.co_name} takes no size that is known only at run time: {error}",
        place=_last_place(error.__traceback__, _is_users_file),
        because=(f"it was given {size}",),
        cure="Give the axis a fixed size in the spec, or write it with np.arange and the size.",
    )


def _is_whole_number(value: object) -> bool:
    return isinstance(value, Array) and not value.shape and value.dtype.kind in "iu"


_OF_FITTED_MODELS = "A fitted model is a function too: ps.load what skl2onnx.to_onnx writes of it."
_NOT_TAKEN = re.compile(rf"(not|got|convert) '?{Array.__name__}\b|^object supporting the buffer API required")
"""The errors by which compiled functions refuse a type."""


def _array_asked(error: Exception) -> NumberAsked | None:
    """Return the error for a compiled function that takes only NumPy's own arrays; None for any other error."""
    if text_of(error) == "Error setting single item of array.":  # by `known.flat[i] = x`, which hides what x said
        return NumberAsked(
            "a traced value is written into a NumPy array", place=_last_place(error.__traceback__, _is_users_file)
        )
    message = text_of(error)
    if message == "object __array__ method not producing an array":  # which made a traced one
        return NumberAsked(
            "an object's __array__ gives a traced array, where NumPy's compiled code wants one of its own",
            place=_last_place(error.__traceback__, _is_users_file),
            cure="Read the array from the object itself, without np.asarray.",
        )
    if message.startswith("expected a sequence of integers") and f"'{Array.__name__}(" in message:  # by np.zeros(n)
        return NumberAsked(
            "a size is known only at run time",
            place=_last_place(error.__traceback__, _is_users_file),
            cure="Make the array as large as it may get, take np.arange(n), or loop with ps.fori_loop.",
        )
    if not isinstance(error, TypeError) or not (_NOT_TAKEN.search(message) or message.startswith("Iterator operand")):
        return None
    return NumberAsked(
        f"a compiled function cannot take a traced array: {error}",
        place=_last_place(error.__traceback__, _is_users_file),
        cure=(
            "Call a function that is served, or give it a rule: @ps.primitive, @ps.rrule.",
            *([_OF_FITTED_MODELS] if "sklearn" in _packages(error) else []),
        ),
    )


def asked_by_library(error: BaseException) -> NumberAsked | None:
    """Return the error for a SciPy function that failed on a traced value; None for the user's own error.

    Likewise for an installed package whose error names the class of traced arrays, and for a function of Python's own
    library that received one and refuses its type.
    """
    name, place = "", None
    is_told = re.search(rf"\b{Array.__name__}\b", text_of(error)) is not None
    if not is_told and _is_raised(error) and _is_of_copy(error.__traceback__):
        return None
    for frame, line in walk_tb(error.__traceback__):
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        is_packages = (is_told and bool(package_of(module))) or _is_of_pythons_library(error, frame)
        if not tracing.is_library(code.co_filename) and not is_packages:
            name, place = "", Place(code.co_filename, line, code.co_name)
        elif not name and (is_packages or module.startswith("scipy.")):
            name = f"{module}.{code.co_qualname}"
    if not name and is_told and not _is_raised(error):
        name = "a library's function"  # which leaves no frames of its own
    if not name:
        return None  # the place is none for a library's function that is traced itself
    return NumberAsked(
        f"{name} raised {type(error).__name__} for values that are known only at run time",
        place=place,
        because=(text_of(error).partition("\n")[0],),
        cure="Put the line into a function with @ps.primitive and give it a rule with @ps.rrule.",
    )


def asked_by_compiled(error: BaseException) -> PrimsplitError | None:
    """Return the error for a function of Python's that refused a traced value; None for one of the user's own.

    With a number of Python's in its place it would go on. The error's text names the class of traced arrays, or the
    function is one of Python's own library, or it replaced the error of a traced value that it asked for a number.
    """
    if not isinstance(error, _OF_TYPES) or isinstance(error, PrimsplitError) or not tracing.is_recording():
        return None
    is_compiled = not _is_raised(error)
    if is_compiled and (asked := _at_its_line(last_made(_is_recordings), error)) is not None:
        return asked
    is_told = _TRACED.search(text_of(error)) is not None and is_compiled
    if not is_told and not any(_is_of_pythons_library(error, frame) for frame, _ in walk_tb(error.__traceback__)):
        return None
    return NumberAsked(
        f"a function of Python's raised {type(error).__name__} for a value that is known only at run time",
        place=tracing.user_place(),
        because=(text_of(error).partition("\n")[0],),
        cure="Call it outside of the try statement, or put it into a function with @ps.primitive and @ps.rrule.",
    )


_OF_TYPES = (TypeError, ValueError, AttributeError, LookupError)
_TRACED = re.compile(rf"\b{Array.__name__}\b|{Array.__name__}\([^)]* #\d+\)")
"""Matches the class name of traced arrays in an error's text, or the text of a traced array."""


def _is_of_pythons_library(error: BaseException, frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__")).partition(".")[0]
    if not isinstance(error, TypeError) or module not in sys.stdlib_module_names:
        return False
    return any(isinstance(v, Array) for v in frame.f_locals.values())


def tell_caller(error: PrimsplitError) -> None:
    """Add the user's own line that called an installed package, if the error is about a line of that package."""
    if error.place is None or tracing.is_users_own(error.place.filename):
        return
    places = [_last_place(trace, _is_users_own) for trace in _traces(error)]
    called = next((place for place in places if place is not None), None)
    if called is not None and not any(line.startswith("called at") for line in error.because):
        source = called.source
        error.because = (f"called at {called}" + (f":  {source}" if source else ""), *error.because)


def _is_users_own(filename: str) -> bool:
    return tracing.is_users_own(filename) and _is_users_file(filename)


def _traces(error: BaseException) -> list[TracebackType]:
    """Return the tracebacks of the error and of the one that it replaced: compiled functions keep no frames."""
    return [e.__traceback__ for e in (error, error.__cause__, error.__context__) if e is not None and e.__traceback__]


def packages_read(run: Callable[..., object]) -> frozenset[str]:
    """Return the installed packages of the functions, classes and modules that a function reads."""
    modules = [o.__name__ if isinstance(o, ModuleType) else getattr(o, "__module__", None) for o in objects_read(run)]
    return frozenset(package for name in modules if isinstance(name, str) and (package := package_of(name)))


def packages_through(error: PrimsplitError) -> frozenset[str]:
    """Return the installed packages that the error went through, if substitutes may avoid it."""
    return _packages(error) if error.again or error.made_at else frozenset()


def _packages(error: BaseException) -> frozenset[str]:
    met = {str(frame.f_globals.get("__name__")) for trace in _traces(error) for frame, _ in walk_tb(trace)}
    return frozenset(package for module in met if (package := package_of(module)))


def _is_no_substitutes(filename: str) -> bool:
    return not filename.startswith(_SUBSTITUTES) and not tracing.is_operator(filename)


def _is_users_file(filename: str) -> bool:
    return not tracing.is_library(filename) and not filename.endswith(_CYTHONS)


_CYTHONS = (".pyx", ".pxd", "<stringsource>", "View.MemoryView")
"""File names that Cython's functions leave in a traceback, which are no lines that run."""


def place_of(error: BaseException) -> Place | None:
    """Return the innermost place that the error went through, outside of substitutes; of SciPy's own code, its call."""
    trace = error.__traceback__
    return _last_place(trace, _is_users_file if _is_of_copy(trace) else _is_no_substitutes)


def _last_place(trace: TracebackType | None, where: Callable[[str], bool] = lambda _: True) -> Place | None:
    """Return the innermost place of a traceback whose file passes `where`."""
    places = [(frame.f_code, line) for frame, line in walk_tb(trace) if where(frame.f_code.co_filename)]
    if not places:
        return None
    code, line = places[-1]
    return Place(code.co_filename, line, code.co_name)


def _is_users(trace: TracebackType | None) -> bool:
    """Whether the error was raised on a line of the user's, or by a function of Python's that has a substitute."""
    place = _last_place(trace, _is_no_substitutes)
    return place is not None and _is_users_file(place.filename)
