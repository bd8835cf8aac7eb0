"""Python branches on traced values: the function is run once for each path, and the paths become one tree of Ifs.

A condition that only the run knows is answered first with True; the function is then run again with the other answer,
until every path has been recorded. What two paths record before they part is the same, and is kept once.
"""

import dis
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from primsplit import dims, tracing, trees
from primsplit.array import FUNCTIONS, Array, implements
from primsplit.branching.paths import Path, check_number
from primsplit.branching.tree import PathTree
from primsplit.branching.whole_numbers import numbers_told
from primsplit.dims import Dim, Size
from primsplit.errors import IndexingError, NumberAsked, Place, PrimsplitError, ShapeError, TraceError, errors_made
from primsplit.ir import Value
from primsplit.lifting import as_array
from primsplit.ops import op


@implements("condition")
def scalar_condition(value: Any) -> Value:
    """A predicate as a bool without axes. Raises ShapeError for one with several elements."""
    array = as_array(value)
    if array.dtype != np.bool_:
        array = op.Cast(array, to=np.bool_)
    if array.shape == ():
        return array.value
    if all(dims.is_one(d) for d in array.shape):
        return op.Reshape(array, np.zeros(0, np.int64)).value
    raise ShapeError(
        f"a condition must be one truth value, not {array.type}",
        place=tracing.user_place(),
        cure="Reduce it with np.all or np.any, or choose by elements with np.where.",
    )


Run = Callable[[], tuple[Sequence[Array], trees.TreeSpec]]


def explored(run: Run) -> tuple[list[Array], trees.TreeSpec]:
    """What `run` returns, recorded in the current recording, whatever its branches depend on.

    Where it asks a traced value for a number, it is run again with `substitutes` for the functions that ask; and again
    where it writes to an array of known numbers, which is a traced one then; and at last, where there are examples,
    with the whole numbers that they tell.
    Raises what the run raised that came further, of two at one place the second: it knows what the place means.
    """
    into = tracing.current()
    before = into.snapshot()
    written: frozenset[Hashable] = frozenset()
    try:
        return _explored(run, before)
    except PrimsplitError as error:
        substituted = FUNCTIONS["again"](run, written) if error.again else None
        if substituted is None:
            raise
        first, count = error, len(into.ops)
    told = False
    while substituted is not None:
        into.restore(before)
        try:
            with substituted, numbers_told(into.examples if told else None):
                return _explored(run, before)
        except PrimsplitError as error:
            second = error
        is_new = second.made_at is not None and second.made_at not in written
        written |= {second.made_at} if is_new else set()
        if not is_new and not told and second.again and into.examples is not None:
            told = is_new = True
        substituted = FUNCTIONS["again"](run, written) if is_new else None
    raise (second if len(into.ops) >= count or second.place == first.place else first) from None


def _explored(run: Run, before: tracing.Snapshot) -> tuple[list[Array], trees.TreeSpec]:
    """What `run` returns, recorded in the current recording after what it held `before`.

    `run` makes its own handles of the arguments, calls the function, and returns the leaves of the result and their
    structure. It is called once for each path. Raises ConcretizationError where the paths do not end or `branches` is
    "error", TraceError where paths give results of another structure.
    """
    into = tracing.current()
    paths: list[Path] = []
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        path = Path(pending.pop())
        into.restore(before)
        _follow(path, run)
        paths.append(path)
        answers = [d.outcome for d in path.taken]
        unknown = [i for i, d in enumerate(path.taken) if i >= len(path.answers) and not d.settled]
        pending += [(*answers[:i], False) for i in unknown]
        check_number(paths, len(pending))
    if len(paths) == 1 and (not paths[0].taken or paths[0].failure is not None):
        return _only(paths[0])
    into.restore(before)
    return PathTree(paths, len(before[0])).record()


def _only(path: Path) -> tuple[list[Array], trees.TreeSpec]:
    if path.failure is not None:
        raise path.failure
    if path.spec is None:
        raise TraceError("the function was not run")
    return path.results, path.spec


def _ends(error: BaseException) -> bool:
    """True for an error of the user's function itself, as opposed to one of a library that was given traced values.

    That is what a `raise` of the user's raises, and what Python raises for the user's own names, places and numbers; of
    types and attributes, where no traced array is named. It is np.linalg.LinAlgError, which is raised where NumPy does.
    """
    if isinstance(error, np.linalg.LinAlgError):
        return True
    if not _is_users(error.__traceback__):
        return False
    if isinstance(error, TypeError | AttributeError) and not _is_raised(error.__traceback__):
        return Array.__name__ not in str(error) and "traced" not in str(error)
    return isinstance(error, _OF_PYTHON) or _is_raised(error.__traceback__)


_OF_PYTHON = (
    AssertionError, ValueError, ArithmeticError, RuntimeError, LookupError, NameError, StopIteration, Warning,
)  # fmt: skip
"""What Python raises for values, places and names."""


def _is_raised(trace: TracebackType | None) -> bool:
    """True for an error that a `raise` statement raised."""
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def _follow(path: Path, run: Run) -> None:
    """Run the function along a path. An error that the function itself raises belongs to the path."""
    into = tracing.current()
    into.path = path if into.explores else None
    active = () if into.examples is None else into.examples.active
    try:
        with _errors_of_elements(), _errors_not_caught():
            results, path.spec = run()
        path.results = [as_array(r) for r in results]
        path.values = [a.value for a in path.results]
    except PrimsplitError:
        raise
    except (Exception, SystemExit) as error:
        if not path.taken or not _ends(error):
            if (asked := _asked_by_scipy(error)) is not None:
                raise asked from error
            raise
        path.failure = error
        path.failed_at = _last_place(error.__traceback__, _is_no_substitutes)
    finally:
        into.path = None
        if into.examples is not None:
            into.examples.active = active
    path.ops = into.ops


@contextmanager
def _errors_not_caught() -> Iterator[None]:
    """Raise the first error that only a recording has, and that the user's own `except` caught."""
    with errors_made() as made:
        try:
            yield
        finally:
            for error in made:
                trace = error.__traceback__
                if _is_recordings(error) and trace is not None and _is_users_file(trace.tb_frame.f_code.co_filename):
                    raise error


def _is_recordings(error: PrimsplitError) -> bool:
    """True for an error in whose place NumPy would go on; False for one that NumPy has too, of a shape or an index."""
    return (error.again or isinstance(error, TraceError)) and not isinstance(error, IndexingError)


@contextmanager
def _errors_of_elements() -> Iterator[None]:
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
    """The error that compiled code, such as functools.reduce, replaced by this one of its own, at the same line."""
    last = next((e for e in reversed(made) if _is_recordings(e)), None)
    here = _last_place(error.__traceback__, _is_users_file)
    return last if last is not None and last.place is not None and last.place.whole_line == here else None


def _size_asked(error: Exception) -> NumberAsked | None:
    """The error for a function of NumPy that would not take a size which only the run knows; None for any other."""
    frame = next((frame for frame, _ in reversed(list(walk_tb(error.__traceback__)))), None)
    if frame is None or not str(frame.f_globals.get("__name__")).startswith("numpy"):
        return None
    size = next((v for v in frame.f_locals.values() if isinstance(v, Size)), None)
    if size is None:
        return None
    return NumberAsked(
        f"np.{frame.f_code.co_name} takes no size that is known only at run time: {error}",
        place=_last_place(error.__traceback__, _is_users_file),
        because=(f"it was given {size}",),
        cure="Give the axis a fixed size in the spec, or write it with np.arange and the size.",
    )


def _array_asked(error: Exception) -> NumberAsked | None:
    """The error for a compiled function that takes NumPy's own arrays alone; None for any other."""
    if str(error) == "Error setting single item of array.":  # by `known.flat[i] = x`, which hides what x said
        return NumberAsked(
            "a traced value is written into a NumPy array", place=_last_place(error.__traceback__, _is_users_file)
        )
    told = str(error)
    if told.startswith("expected a sequence of integers") and f"'{Array.__name__}(" in told:  # by np.zeros(n)
        return NumberAsked(
            "a size is known only at run time",
            place=_last_place(error.__traceback__, _is_users_file),
            cure="Make the array as large as it may get, take np.arange(n), or loop with ps.fori_loop.",
        )
    if not isinstance(error, TypeError) or not (
        told.endswith(f"not {Array.__name__}") or told.startswith("Iterator operand")
    ):
        return None
    return NumberAsked(
        f"a compiled function cannot take a traced array: {error}",
        place=_last_place(error.__traceback__, _is_users_file),
        cure="Call a function that is served (spsolve for splu, say), or give it a rule: @ps.primitive, @ps.rrule.",
    )


def _asked_by_scipy(error: BaseException) -> NumberAsked | None:
    """The error for a function of SciPy that failed on what is known only at run time; None for any other's."""
    name, place = "", None
    for frame, line in walk_tb(error.__traceback__):
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        if not tracing.is_library(code.co_filename):
            name, place = "", Place(code.co_filename, line, code.co_name)
        elif not name and module.startswith("scipy."):
            name = f"{module}.{code.co_qualname}"
    if not name or place is None:
        return None
    return NumberAsked(
        f"{name} raised {type(error).__name__} for values that are known only at run time",
        place=place,
        because=(str(error).partition("\n")[0],),
        cure="Put the line into a function with @ps.primitive and give it a rule with @ps.rrule.",
    )


def _is_no_substitutes(filename: str) -> bool:
    return not filename.startswith(_SUBSTITUTES)


def _is_users_file(filename: str) -> bool:
    return not tracing.is_library(filename)


def _last_place(trace: TracebackType | None, where: Callable[[str], bool] = lambda _: True) -> Place | None:
    """The innermost place of a traceback in such a file."""
    found = [(frame.f_code, line) for frame, line in walk_tb(trace) if where(frame.f_code.co_filename)]
    if not found:
        return None
    code, line = found[-1]
    return Place(code.co_filename, line, code.co_name)


def _is_users(trace: TracebackType | None) -> bool:
    """True for an error raised on a line of the user's, or by a function of Python's that has a substitute."""
    place = _last_place(trace, _is_no_substitutes)
    return place is not None and _is_users_file(place.filename)


def decide_size(a: Dim, relation: str, b: Dim) -> bool | None:
    """The answer of the path to a comparison of sizes on a line of the user's; None elsewhere."""
    if not tracing.is_recording() or tracing.current().path is None or not _asked_by_user():
        return None
    left, right = as_array(a), as_array(b)
    compared = {"==": op.Equal, "<": op.Less, "<=": op.LessOrEqual}[relation](left, right)
    return bool(Array(compared.value))


_SIZES = os.path.dirname(dims.__file__) + os.sep
_SUBSTITUTES = os.path.join(os.path.dirname(tracing.__path__[0]), "substitutes") + os.sep


def _asked_by_user() -> bool:
    """True where the innermost frame outside of `dims` and this module is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(_SIZES)):
        frame = frame.f_back
    return frame is not None and not tracing.is_library(frame.f_code.co_filename)


Size.decide = staticmethod(decide_size)
