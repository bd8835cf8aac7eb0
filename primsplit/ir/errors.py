"""The error classes. Each says what went wrong, where (the user's line) and what to do next."""

import linecache
import os
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from primsplit.ir.parsing import undisturbed
from primsplit.ir.plain_text import in_lines, in_one_line
from primsplit.ir.scoped import Scoped, as_block

LONGEST_QUOTE = 160
"""The most characters of a line of the user's that an error shows."""


class Line(NamedTuple):
    """A line of the program that a file was written from, as that file tells it; `text` is "" where it does not."""

    filename: str
    line: int
    function: str
    text: str


class Place(NamedTuple):
    """A line of the user's program; `column` tells expressions on one line apart.

    `variables` are those that the expression is assigned to. `written` is, for a node of a model, the line of the
    program that the model was written from. `call` names the call of linear algebra that an op is a part of, with a
    number that no other call has: `cholesky 7`.
    """

    filename: str
    line: int
    function: str
    column: int = 0
    variables: tuple[str, ...] = ()
    written: Line | None = None
    call: str = ""

    @property
    def whole_line(self) -> "Place":
        """The place without its column: equal for all that is on the line."""
        return self._replace(column=0, variables=(), call="")

    @property
    def source(self) -> str:
        """The text of the line, or "" where it is not on disk, or is a node of a model whose file does not tell it."""
        if self.written is not None:
            return in_one_line(self.written.text)
        if self.filename.endswith(".onnx"):
            return ""
        return in_one_line(undisturbed(lambda: linecache.getline(self.filename, self.line)).strip())

    @property
    def quoted(self) -> str:
        """The text of the line, its beginning where it is long: written by a program, say."""
        source = self.source
        return source if len(source) <= LONGEST_QUOTE else source[: LONGEST_QUOTE - 3].rstrip() + "..."

    @property
    def short(self) -> str:
        """`file.py:12`, the file without its folders; for a node the line that it was written for, if that is known."""
        line = self.written or self
        return in_one_line(f"{os.path.basename(line.filename)}:{line.line}")

    def __str__(self) -> str:
        """`file.py:12 in f`, the file without its folders."""
        return in_one_line(f"{os.path.basename(self.filename)}:{self.line} in {self.function}")


def lines_of_cure(cure: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of a cure, each safe to print."""
    return tuple(map(in_one_line, (cure,) if isinstance(cure, str) and cure else cure))


_made = Scoped["list[PrimsplitError] | None"](lambda: None)
_is_quiet = Scoped(bool)


@as_block
def errors_made() -> "Iterator[list[PrimsplitError]]":
    """Collect the errors that are constructed inside, also those that are caught there."""
    outer, inside = _made.value, list[PrimsplitError]()
    try:
        with _made.set_to(inside):
            yield inside
    finally:
        if outer is not None:
            outer += inside


def last_made(where: Callable[["PrimsplitError"], bool]) -> "PrimsplitError | None":
    """Return the last error constructed inside `errors_made` for which `where` is true; None outside of it."""
    return next(filter(where, reversed(_made.value or ())), None)


def quietly() -> AbstractContextManager[object]:
    """Give no warnings of ours inside: what is run there was run before."""
    return _is_quiet.set_to(True)


class PrimsplitError(Exception):
    """An error with the user's line and the way out; prints in under ten lines.

    Parameters: `what` is one sentence; `place` the line that it is about; `because` more facts, one a line; `cure` what
    to do next, a line or several. Each line is safe to print: see `plain_text`. `tape` is the program that was
    recorded, or being differentiated, when it was raised: a `listing.Tape`, whose text is a listing. `again` is True if
    the function may succeed when run again with substitutes for NumPy's functions: see `exploring.explored`. `made_at`
    is the instruction that created a constant array that the function would write to: run again, that array may be a
    traced one. `numpys` is the error that NumPy raises here, whatever the numbers of the run are: one of several paths
    of a function may end in it.
    """

    again = False
    numpys: Exception | None = None
    made_at: Hashable | None = None

    def __init__(
        self, what: str, *, place: Place | None = None, because: tuple[str, ...] = (), cure: str | tuple[str, ...] = ""
    ) -> None:
        self.fill(what, place=place, because=because, cure=cure)
        super().__init__(self.what)

    def fill(
        self, what: str, *, place: Place | None = None, because: tuple[str, ...] = (), cure: str | tuple[str, ...] = ""
    ) -> None:
        """Set the error's texts without calling `__init__`: a user's class that it inherits from may have its own."""
        self.what = in_one_line(what)
        self.place = place
        self.because = tuple(map(in_one_line, because))
        self.cures = lines_of_cure(cure)
        self.tape: object = None
        if _made.value is not None:
            _made.value.append(self)

    def __str__(self) -> str:
        lines = [self.what]
        if self.place is not None:
            source = self.place.quoted
            lines.append(f"  at {self.place}" + (f":  {source}" if source else ""))
        lines.extend(f"  {in_one_line(line)}" for line in (*self.because, *self.cures))
        return "\n".join(lines)


class TraceError(PrimsplitError):
    """The function does something with a traced value that a recording cannot hold."""


class ConcretizationError(TraceError, TypeError):
    """A Python number, bool or NumPy array was asked of a value that is only known at run time."""


class NumberAsked(ConcretizationError):
    """A function that knows nothing of traced values asked one for its number."""

    again = True


class UndecidableSize(PrimsplitError, ValueError):
    """A comparison of sizes whose answer depends on the sizes at run time."""

    again = True


class ShapeError(PrimsplitError, ValueError):
    """Shapes that do not fit the operation."""


class IndexingError(PrimsplitError, IndexError):
    """An index that does not fit the array.

    SciPy's compiled functions take the first element of a number that they cannot read, and raise this anew.
    """

    again = True


class DtypeError(PrimsplitError, TypeError):
    """A dtype that the operation does not take."""


class MissingRule(PrimsplitError):
    """A gradient was asked through an operator that has no derivative rule."""


class RuleError(PrimsplitError):
    """A derivative rule broke its contract: wrong number, dtype or shape of cotangents."""


class UnsupportedFunction(TraceError, TypeError):
    """A NumPy function or operator that has no implementation for traced values."""


class MissingAttribute(TraceError, AttributeError):
    """An attribute of NumPy's arrays that traced values do not have."""


class SpecError(PrimsplitError, ValueError):
    """An input specification that is missing or cannot be read, or inputs that do not fit it."""


class ParseError(PrimsplitError, ValueError):
    """A listing or a loop nest that cannot be read."""


class RunError(PrimsplitError, RuntimeError):
    """onnxruntime refused or failed to run a program."""


class BranchError(RunError):
    """A branch goes another way than it did for the arrays that a program was recorded for."""


class FileError(PrimsplitError, OSError):
    """A file that cannot be read or written."""


class UnrolledLoopWarning(UserWarning):
    """A Python loop was recorded step by step, hundreds of times: right, but long to make and to load."""


class StoreWarning(UserWarning):
    """A file of a cached function's store is damaged, or cannot be written. The function is recorded as without it."""


class InterpretedNestWarning(UserWarning):
    """A loop nest has no form in ONNX, and is run in Python, one element after the other: right, but slow."""


class RestartedDrawsWarning(UserWarning):
    """A file of a training step draws random numbers with a seed: resumed, it draws other numbers than unbroken."""


class FrozenArrayWarning(UserWarning):
    """A large array from outside of the function became part of its program, and of every file of it."""


class ZeroGradientWarning(UserWarning):
    """A derivative is 0 whatever the argument is: it acts on the result by a comparison, a rounding or a choice."""


class FrozenNumberWarning(UserWarning):
    """A random number, the time or a number of the process was read in a trace: each run of the program has it."""


class FrozenBranchWarning(UserWarning):
    """A loaded model chooses by a condition that is a constant: an exporter may have frozen what depended on data."""


class PromotionWarning(UserWarning):
    """A program of float32 computes in float64 from some line on, since it meets a float64 of NumPy's there."""


_told: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""Python's registries of the warnings that it has shown, by file."""


def warn_at(place: Place, told: str, category: type[Warning]) -> None:
    """Warn at a user's line. Like any warning, the same one is shown once for a line unless a filter says otherwise."""
    if _is_quiet.value:
        return
    registry = _told.setdefault(place.filename, {})
    warnings.warn_explicit(in_lines(told), category, place.filename, place.line, registry=registry)
