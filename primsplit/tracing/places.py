"""Find the user's line: the innermost frame outside of primsplit and the libraries that it stands in for."""

import ast
import functools
import inspect
import linecache
import os
import re
import weakref
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np
import optree

from primsplit.ir.errors import Place
from primsplit.ir.parsing import undisturbed
from primsplit.tracing.call_stack import frame_out, innermost_frame
from primsplit.tracing.paths import path_to
from primsplit.tracing.source_nodes import nodes_at
from primsplit.tracing.variables import CALL_BACK, assigned, called_name, returned_part

_LIBRARIES = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
    os.path.dirname(os.path.abspath(optree.__file__)) + os.sep,
)
"""The folders of primsplit, NumPy and optree, which builds complex arrays from their parts."""
_SCIPY = f"{os.sep}site-packages{os.sep}scipy{os.sep}"
_POLYNOMIALS = os.path.join(_LIBRARIES[1], "polynomial") + os.sep
_OF_ANYTHING = frozenset({inspect.unwrap(np.isscalar).__code__, inspect.unwrap(np.bmat).__code__})
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
"""Python's own library, whose folder also holds the installed packages."""


@functools.lru_cache(4096)
def is_library(filename: str) -> bool:
    """Whether the file is one of primsplit, NumPy, SciPy or Python, whose lines are not the user's."""
    return _is_pythons(filename) or filename.startswith(_LIBRARIES) or _SCIPY in filename


def is_scipys(filename: str) -> bool:
    """Whether the file is one of SciPy."""
    return _SCIPY in filename


_OPERATORS = os.path.join(_LIBRARIES[0], "frontends", "python", "converter") + os.sep


def is_operator(filename: str) -> bool:
    """Whether the file is one of the operators that converted code calls."""
    return filename.startswith(_OPERATORS)


def asking_frame(depth: int = 1) -> FrameType:
    """Return the frame `depth` calls out from the caller's, or the first behind it that is no operator's."""
    frame = frame_out(depth + 1)
    while is_operator(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


@functools.lru_cache(4096)
def _is_pythons(filename: str) -> bool:
    return filename.startswith((_STANDARD, "<frozen ")) and "-packages" not in filename


_COMMANDS = os.path.join(_LIBRARIES[0], "cli") + os.sep
"""The folder of the command line, which nothing of the user's has called."""


def user_place() -> Place | None:
    """Return the innermost line outside of primsplit, NumPy, SciPy and Python's own library.

    None for what a command does outside of the user's functions.
    """
    frame: FrameType | None = frame_out(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_library(filename):
            return _place_in(frame)
        if filename.startswith(_COMMANDS):
            return None
        frame = frame.f_back
    return None


def place_of_array(array: object) -> Place | None:
    """Return the user's place, with the expression that is this array in `variables`, such as `w` or `MODEL.w`."""
    frame = innermost_frame(is_library)
    if frame is None:
        return None
    path = path_to(array, frame)
    return _place_in(frame)._replace(variables=(path,) if path else ())


class Instruction(NamedTuple):
    """An instruction of the user's program, which runs once or many times."""

    code: CodeType
    at: int


def user_instruction() -> Instruction | None:
    """Return the instruction that the innermost frame outside of libraries is at."""
    frame = innermost_frame(is_library)
    return None if frame is None else Instruction(frame.f_code, frame.f_lasti)


class _Places(NamedTuple):
    """The known places in a code object, held weakly: another object at the same address is not taken for it.

    `returned` has the places whose result is returned, by the variables that callers assign it to, `parts` which of how
    many results it is; `called` the names of the functions that callers call.
    """

    code: weakref.ref[CodeType]
    columns: list[int | None]
    at: dict[int, Place]
    returned: dict[int, dict[tuple[str, ...], Place]]
    called: dict[int, str]
    parts: dict[int, tuple[int, int]]


PLACES: dict[int, _Places] = {}
"""By the `id` of the code object; an entry is removed with its code object, before another can get that `id`."""


def _places_of(code: CodeType) -> _Places:
    key = id(code)
    places = PLACES.get(key)
    if places is None or places.code() is not code:
        own = weakref.ref(code, lambda _: PLACES.pop(key, None))
        places = PLACES[key] = _Places(own, [position[2] for position in code.co_positions()], {}, {}, {}, {})
    return places


def _place_in(frame: FrameType) -> Place:
    """Return the line and the column that the frame is at, and what its result is assigned to, here or by a caller."""
    code, index = frame.f_code, frame.f_lasti
    places = _places_of(code)
    place = places.at.get(index)
    if place is None:
        # Two bytes an instruction. The column is not known where Python was told to keep none.
        column = (places.columns[index // 2] if index // 2 < len(places.columns) else None) or 0
        nodes = nodes_at(code, index)
        place = Place(code.co_filename, frame.f_lineno, code.co_name, column, assigned(nodes))
        if (part := returned_part(nodes)) is not None:
            places.parts[index] = part
            places.returned.setdefault(index, {})
        places.at[index] = place  # last: another thread that finds it reads the others
    if index not in places.returned:
        return place
    variables = _assigned_by_caller(frame)
    at, count = places.parts[index]
    if count > 1:
        variables = variables[at : at + 1] if len(variables) == count else ()
    return places.returned[index].setdefault(variables, place._replace(variables=variables))


def _assigned_by_caller(frame: FrameType) -> tuple[str, ...]:
    """Return the variables of a caller of the user's that take what the frame returns; empty for other callers."""
    caller = frame.f_back
    while caller is not None and is_operator(caller.f_code.co_filename):
        caller = caller.f_back
    if caller is None or is_library(caller.f_code.co_filename):
        return ()
    variables = _place_in(caller).variables
    called, index = _places_of(caller.f_code).called, caller.f_lasti
    if variables and index not in called:
        called[index] = called_name(nodes_at(caller.f_code, index))
    return () if variables and called[index] in CALL_BACK else variables


_TYPE_CALL = re.compile(r"(?<![.\w{])type(\(|\s*[,)\]])")
"""Matches `type(x)` and `map(type, values)`; `{type(x)}` in a text informs a reader, and decides nothing."""


@functools.lru_cache(4096)
def line_with_type(code: CodeType) -> int | None:
    """Return the number of a line of the code, or of a function in it, that calls `type(x)`; None if there is none.

    `type` does not tell traced arrays apart. Lines that only raise an error are left out.
    """
    inner = (line_with_type(c) for c in code.co_consts if isinstance(c, CodeType))
    inner_line = next((line for line in inner if line is not None), None)
    if inner_line is not None or "type" not in code.co_names:
        return inner_line
    lines = undisturbed(lambda: [(number, linecache.getline(code.co_filename, number)) for number in _lines(code)])
    if not any(text for _, text in lines):
        return code.co_firstlineno
    return next((n for n, text in lines if _TYPE_CALL.search(text) and not text.lstrip().startswith("raise ")), None)


def _lines(code: CodeType) -> range:
    """Return the numbers of the lines that the code is on."""
    numbers = [line for *_, line in code.co_lines() if line] or [code.co_firstlineno]
    return range(min(numbers), max(numbers) + 1)


def is_asked_by_user(frame: FrameType | None) -> bool:
    """Whether the frame is the user's code, or a library's that acts on behalf of the user's code that called it.

    A function of `functools.singledispatch` that is traced itself, and so called from here, counts as the user's.
    """
    called: FrameType | None = None
    while frame is not None and is_library(frame.f_code.co_filename):
        if is_operator(frame.f_code.co_filename):
            frame = frame.f_back
            continue
        if not _asks_for_its_caller(frame.f_code):
            return called is not None and called.f_code.co_filename == functools.__file__
        called, frame = frame, frame.f_back
    return frame is not None


def is_users_own(filename: str) -> bool:
    """Whether the file belongs to no library, and to none of the installed packages."""
    return "-packages" not in filename and not is_library(filename)


def _asks_for_its_caller(code: CodeType) -> bool:
    """Whether the code is Python's own library, or NumPy's Python code that accepts any arguments."""
    return _is_pythons(code.co_filename) or code.co_filename.startswith(_POLYNOMIALS) or code in _OF_ANYTHING


def users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the frames of a traceback that are the user's; all with PRIMSPLIT_TRACEBACK=1."""
    if os.environ.get("PRIMSPLIT_TRACEBACK") == "1":
        return traceback
    kept: TracebackType | None = None
    every: list[TracebackType] = []
    while traceback is not None:
        every.append(traceback)
        traceback = traceback.tb_next
    for each in reversed(every):
        if not is_library(each.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return kept


def called_function() -> str:
    """Return the library function, other than primsplit's, that the user's line called and that led here.

    "" for none.
    """
    frame: FrameType | None = frame_out(1)
    called: FrameType | None = None
    while frame is not None and is_library(frame.f_code.co_filename):
        called, frame = called if is_operator(frame.f_code.co_filename) else frame, frame.f_back
    if called is None or called.f_code.co_filename.startswith(_LIBRARIES[0]):
        return ""
    return f"{called.f_globals.get('__name__', '')}.{called.f_code.co_qualname}"


def defined_at(function: Any) -> Place | None:
    """Return the line where a function is defined; None if it has none, like a library's function in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Place(code.co_filename, code.co_firstlineno, code.co_name)


def is_in_call_of(name: str) -> bool:
    """Whether the innermost frame outside of libraries is at a call, in code that uses this name.

    Functions that are not written in Python have no frame, so that their caller seems to do what they do.
    """
    instruction = user_instruction()
    if instruction is None or name not in instruction.code.co_names:
        return False
    nodes = nodes_at(*instruction)
    return not nodes or isinstance(nodes[-1], ast.Call)
