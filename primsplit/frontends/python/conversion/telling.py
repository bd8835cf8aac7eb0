"""Finds functions that distinguish Python's own values from traced ones; joined branches rewrite them in any file."""

import builtins
import dis
import functools
import itertools
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from primsplit.ir.caching.fingerprint import objects_read
from primsplit.ir.caching.held import function_in, is_written_by_python
from primsplit.ir.scoped import Scoped
from primsplit.tracing import is_library

_told = Scoped(bool)


def are_told() -> bool:
    """Return whether this thread rewrites functions that distinguish Python's own values from traced ones."""
    return _told.value


def functions_told() -> AbstractContextManager[object]:
    """Let this thread rewrite functions that distinguish Python's own values from traced ones."""
    return _told.set_to(True)


def functions_that_tell(run: Callable[..., Any]) -> list[types.FunctionType]:
    """Return the user's functions, among those that `run` reads, that test the identity or class of a value."""
    return [f for f in _users_functions(run) if _tells(f.__code__)]


def functions_that_compare_truths(run: Callable[..., Any]) -> list[types.FunctionType]:
    """Return the user's functions that compare by `is` with a value that may be True or False."""
    return [f for f in _users_functions(run) if any(_may_be_truth(each, f) for each in _compared(f.__code__))]


def _users_functions(run: Callable[..., Any]) -> list[types.FunctionType]:
    read = [f for value in objects_read(run) for f in _functions_of(value)]
    return [f for f in {id(f): f for f in read}.values() if not is_library(f.__code__.co_filename)]


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    members = vars(value).copy().values() if isinstance(value, type) else (value,)
    for member in members:
        inner = function_in(member)
        if isinstance(inner, types.FunctionType):
            yield inner


_ASKING = frozenset({"isinstance", "hasattr", "type", "__class__"})


@functools.lru_cache(maxsize=4096)
def _tells(code: types.CodeType) -> bool:
    """Whether the code compares by `is`, matches patterns or tests classes."""
    if is_written_by_python(code):
        return False
    if not _ASKING.isdisjoint(code.co_names):
        return True
    if any(_asks(each.opname) for each in dis.get_instructions(code)):
        return True
    return any(_tells(const) for const in code.co_consts if isinstance(const, types.CodeType))


def _asks(name: str) -> bool:
    return name == "IS_OP" or name.startswith("MATCH_") or name.endswith(("_NONE", "_NOT_NONE"))


@functools.lru_cache(maxsize=4096)
def _compared(code: types.CodeType) -> tuple[tuple[dis.Instruction, dis.Instruction], ...]:
    """Return, for each comparison by `is`, the last two instructions that compute its right operand."""
    if is_written_by_python(code):
        return ()
    listed = [*dis.get_instructions(code)]
    operands = ((listed[k - 2], listed[k - 1]) for k in range(2, len(listed)) if listed[k].opname == "IS_OP")
    inner = (_compared(const) for const in code.co_consts if isinstance(const, types.CodeType))
    return (*operands, *itertools.chain.from_iterable(inner))


def _may_be_truth(given: tuple[dis.Instruction, dis.Instruction], function: types.FunctionType) -> bool:
    """Whether the operand may be a bool: not if it is a constant, global or module attribute with another value."""
    owner, last = given
    if last.opname == "LOAD_CONST":
        return isinstance(last.argval, bool)
    if last.opname in _GLOBAL:
        return isinstance(_meaning(last, function), bool)
    if last.opname == "LOAD_ATTR" and owner.opname in _GLOBAL:
        module = _meaning(owner, function)
        return not isinstance(module, types.ModuleType) or isinstance(getattr(module, last.argval, True), bool)
    return True


_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


def _meaning(given: dis.Instruction, function: types.FunctionType) -> Any:
    return function.__globals__.get(given.argval, getattr(builtins, given.argval, True))
