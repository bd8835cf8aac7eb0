"""Reports a command's failure: a few red lines on stderr with the user's line, exit status 1, and JSON with --json.

Errors in the command line itself, such as an unknown option or a missing argument, have exit status 2.
"""

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from types import FrameType, TracebackType
from typing import Any

import typer
from typer.core import TyperGroup

from primsplit.cli.groups import ungrouped
from primsplit.cli.output import print_error, print_json
from primsplit.ir.errors import Place, PrimsplitError
from primsplit.ir.plain_text import in_one_line
from primsplit.tracing import is_library
from primsplit.tracing.call_stack import frame_out

TRACEBACK = "PRIMSPLIT_TRACEBACK"
MOST_LINES = 9
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""The errors of writing to a full or failing device."""
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


class NotRightError(Exception):
    """Ends a command that did its work and whose answer is no: exit status 1, everything is printed already."""


class Group(TyperGroup):
    """The commands. With --json, errors of the command line's parser are printed as JSON too."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the options before the command. Refuses a NUL character: Python's calls raise ValueError for one."""
        with _safe_to_print():
            for text in args:
                if "\0" in text:
                    raise typer.BadParameter(f"{text!r} has a NUL character, which no name may have")
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, context: Any) -> Any:
        """Read the command's own arguments, and run it."""
        with _safe_to_print():
            return super().invoke(context)

    def main(self, *args: Any, **named: Any) -> Any:
        """Read the command line and run its command."""
        try:
            return super().main(*args, **named)
        except SystemExit as end:
            tell = getattr(end.__context__, "format_message", None)  # the error that the parser has shown
            given = named.get("args", args[0] if args else None)
            if tell is not None and "--json" in (sys.argv[1:] if given is None else given):
                _print_error("UsageError", tell())
            raise
        except OSError as error:  # of --help and --version, which are no commands
            if error.errno not in _NO_ROOM or error.filename is not None:
                raise
            print_error(_not_written(error))
            sys.exit(1)


@contextmanager
def _safe_to_print() -> Iterator[None]:
    """Escape what the parser quotes from the command line: it may be a file name that a shell's pattern matched."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):
            vars(error)["message"] = in_one_line(str(vars(error).get("message", "")))
        raise


def _print_error(kind: str, text: str) -> None:
    with suppress(OSError):  # the output that cannot be written to may be the error
        print_json({"error": {"kind": kind, "text": text}})


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn errors of a command into a short text on stderr and exit status 1; with Python's traceback if requested.

    A parameter that is a group of options stands for these: see `groups.ungrouped`.
    """
    return failing_with(1)(function)


def failing_with(status: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return `command` for a command whose errors have this exit status."""

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def told(*args: Any, **named: Any) -> None:
            try:
                function(*args, **named)
            except NotRightError:
                raise typer.Exit(1) from None
            except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
                raise
            except (Exception, SystemExit) as error:  # a user's file may raise anything, or end the process
                above = _files_above()
                if isinstance(error, SystemExit) and _user_line(error.__traceback__, above) is None:
                    raise  # a library's way out, where nobody reads the output any more
                _tell(error, describe(error, above), json=bool(named.get("json")))
                raise typer.Exit(status) from None

        return ungrouped(told)

    return decorated


def _tell(error: BaseException, text: str, *, json: bool) -> None:
    print_error(traceback.format_exc().rstrip() if os.environ.get(TRACEBACK) else text)
    if json:
        _print_error(type(error).__name__, text)


def describe(error: BaseException, above: frozenset[str] = frozenset()) -> str:
    """The error in under ten lines, with the user's line.

    `above` are the files of the command's callers: lines in them are not the user's.
    """
    if isinstance(error, PrimsplitError):
        if error.place is not None and error.place.filename in {"", *above}:
            error.place = None
        if error.place is None:
            error.place = _user_line(error.__traceback__, above)
        return _first_lines(str(error))
    place = _user_line(error.__traceback__, above)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if place is None and isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
        return _not_written(error)
    if place is None:
        return _first_lines(f"{what}\n  inside primsplit; {TRACEBACK}=1 shows where")
    told = f"  at {place}" + (f":  {place.quoted}" if place.quoted else "")
    return _first_lines(what, MOST_LINES - 1) + f"\n{told}"


def _not_written(error: OSError) -> str:
    return f"cannot write the answer: {error.strerror}"


def _first_lines(text: str, most: int = MOST_LINES) -> str:
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= most else [*lines[: most - 1], "  ..."])


def _user_line(found: TracebackType | None, above: frozenset[str]) -> Place | None:
    """The innermost line of a traceback that is in a user's file: neither a library's nor the front end's."""
    place = None
    for frame, line in traceback.walk_tb(found):
        code = frame.f_code
        if code.co_filename not in above and not is_library(code.co_filename) and not _is_installed(code.co_filename):
            place = Place(code.co_filename, line, code.co_name)
    return place


def _is_installed(filename: str) -> bool:
    """Return whether this is a file of Python or an installed package, or code without a file."""
    return filename.startswith(_PYTHON) or "site-packages" in filename or not os.path.exists(filename)


def _files_above() -> frozenset[str]:
    """The files of everything on the call stack now: the front end, not the user's functions."""
    files = set()
    frame: FrameType | None = frame_out(1)
    while frame is not None:
        files.add(frame.f_code.co_filename)
        frame = frame.f_back
    return frozenset(files)


@contextmanager
def user_output_to_stderr() -> Iterator[None]:
    """Send what a user's file prints to stderr, not into a command's own output."""
    with redirect_stdout(sys.stderr):
        yield
