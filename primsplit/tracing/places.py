"""The user's line: the innermost one outside primsplit and the libraries it stands in for."""

import dis
import functools
import inspect
import linecache
import os
import re
import sys
import weakref
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np
import optree

from primsplit.ir.errors import Place
from primsplit.tracing.variables import assigned

_LIBRARIES = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
    os.path.dirname(os.path.abspath(optree.__file__)) + os.sep,
)
"""The folders of primsplit, NumPy and optree, which makes complex arrays of their parts."""
_SCIPY = f"{os.sep}site-packages{os.sep}scipy{os.sep}"
_POLYNOMIALS = os.path.join(_LIBRARIES[1], "polynomial") + os.sep
_OF_ANYTHING = frozenset({inspect.unwrap(np.isscalar).__code__, inspect.unwrap(np.bmat).__code__})
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
"""Python's own library, in whose folder the installed packages lie too."""


@functools.lru_cache(4096)
def is_library(filename: str) -> bool:
    """True for a file of primsplit, NumPy, SciPy or Python, whose lines are none of the user's."""
    return _is_pythons(filename) or filename.startswith(_LIBRARIES) or _SCIPY in filename


@functools.lru_cache(4096)
def _is_pythons(filename: str) -> bool:
    return filename.startswith((_STANDARD, "<frozen ")) and "-packages" not in filename


def user_place() -> Place | None:
    """The innermost line outside primsplit, NumPy, SciPy and Python's own library."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            return _place_in(frame)
        frame = frame.f_back
    return None


class Instruction(NamedTuple):
    """An instruction of the user's program, which is run once or many times."""

    code: CodeType
    at: int


def user_instruction() -> Instruction | None:
    """The instruction that the innermost frame outside of libraries is at."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else Instruction(frame.f_code, frame.f_lasti)


class _Places(NamedTuple):
    """The places met so far in a code object, which it may outlive: no other object is taken for it."""

    code: weakref.ref[CodeType]
    columns: list[int | None]
    at: dict[int, Place]


PLACES: dict[int, _Places] = {}
"""By the `id` of the code object. An entry goes with its code object, before another can get that `id`."""


def _places_of(code: CodeType) -> _Places:
    key = id(code)
    found = PLACES.get(key)
    if found is None or found.code() is not code:
        own = weakref.ref(code, lambda _: PLACES.pop(key, None))
        found = PLACES[key] = _Places(own, [position[2] for position in code.co_positions()], {})
    return found


def _place_in(frame: FrameType) -> Place:
    """The line and the column that the frame is at, and what its result is assigned to."""
    code, index = frame.f_code, frame.f_lasti
    places = _places_of(code)
    found = places.at.get(index)
    if found is None:
        # Two bytes an instruction. The column is not known where Python was told to keep none.
        column = (places.columns[index // 2] if index // 2 < len(places.columns) else None) or 0
        found = Place(code.co_filename, frame.f_lineno, code.co_name, column, assigned(code, index))
        places.at[index] = found
    return found


_TYPE_CALL = re.compile(r"(?<![.\w{])type(\(|\s*[,)\]])")
"""`type(x)` and `map(type, values)`; in a text, `{type(x)}` tells a reader what x is, and decides nothing."""


@functools.lru_cache(4096)
def line_with_type(code: CodeType) -> int | None:
    """The number of a line of the code, or of a function in it, that calls `type(x)`; None where there is none.

    `type` tells no traced array from another. Lines that only raise an error are left out.
    """
    inner = (line_with_type(c) for c in code.co_consts if isinstance(c, CodeType))
    found = next((line for line in inner if line is not None), None)
    if found is not None or "type" not in code.co_names:
        return found
    lines = [(number, linecache.getline(code.co_filename, number)) for number in _lines(code)]
    if not any(text for _, text in lines):
        return code.co_firstlineno
    return next((n for n, text in lines if _TYPE_CALL.search(text) and not text.lstrip().startswith("raise ")), None)


def _lines(code: CodeType) -> range:
    """The numbers of the lines that the code is on."""
    numbers = [line for *_, line in code.co_lines() if line] or [code.co_firstlineno]
    return range(min(numbers), max(numbers) + 1)


def is_asked_by_user(frame: FrameType | None) -> bool:
    """True for a frame of the user's code, or of a library that asks on its behalf where that was called by it.

    A function of `functools.singledispatch` that is traced itself, and so called from here, is the user's too.
    """
    called: FrameType | None = None
    while frame is not None and is_library(frame.f_code.co_filename):
        if not _asks_for_its_caller(frame.f_code):
            return called is not None and called.f_code.co_filename == functools.__file__
        called, frame = frame, frame.f_back
    return frame is not None


def is_users_own(filename: str) -> bool:
    """True for a file of no library at all, also none of the installed packages."""
    return "-packages" not in filename and not is_library(filename)


def _asks_for_its_caller(code: CodeType) -> bool:
    """True for Python's own library, and for NumPy's Python code that takes whatever its arguments are."""
    return _is_pythons(code.co_filename) or code.co_filename.startswith(_POLYNOMIALS) or code in _OF_ANYTHING


def users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that are the user's; all with PRIMSPLIT_TRACEBACK=1."""
    if os.environ.get("PRIMSPLIT_TRACEBACK") == "1":
        return traceback
    told: TracebackType | None = None
    every: list[TracebackType] = []
    while traceback is not None:
        every.append(traceback)
        traceback = traceback.tb_next
    for each in reversed(every):
        if not is_library(each.tb_frame.f_code.co_filename):
            told = TracebackType(told, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return told


def called_function() -> str:
    """The function of a library, other than this one, that the user's line called and that led here; "" for none."""
    frame: FrameType | None = sys._getframe(1)
    called: FrameType | None = None
    while frame is not None and is_library(frame.f_code.co_filename):
        called, frame = frame, frame.f_back
    if called is None or called.f_code.co_filename.startswith(_LIBRARIES[0]):
        return ""
    return f"{called.f_globals.get('__name__', '')}.{called.f_code.co_qualname}"


def defined_at(function: Any) -> Place | None:
    """The line where a function is defined; None for what has none, such as a function of a library in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Place(code.co_filename, code.co_firstlineno, code.co_name)


def is_in_call_of(name: str) -> bool:
    """True where the innermost frame outside of libraries is at a call, in code that knows this name.

    Functions that are not written in Python have no frame, so that what they do seems to be done by their caller.
    """
    found = user_instruction()
    return found is not None and "CALL" in dis.opname[found.code.co_code[found.at]] and name in found.code.co_names
