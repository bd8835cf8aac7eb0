"""Find the variables that a function's bytecode only appends to or counts up, as in `calls += 1`, and never reads."""

import dis
import functools
import types
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

_LOADS = frozenset({
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS",
})  # fmt: skip
_CONSTANT = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_ELEMENT = frozenset({"BINARY_SUBSCR", "BINARY_OP"})
_ADD_TO_ELEMENT = (
    _CONSTANT, {"COPY"}, {"COPY"}, _ELEMENT, _CONSTANT, {"BINARY_OP"}, {"SWAP"}, {"SWAP"}, {"STORE_SUBSCR"},
)  # fmt: skip
"""The instructions after the name in `counts["calls"] += 1`."""
_ADD_TO_NAME = (_CONSTANT, {"BINARY_OP"}, {"STORE_GLOBAL", "STORE_DEREF"})
"""The instructions after the name in `calls += 1` and in `calls = calls + 1`."""
_KINDS = frozenset({list, dict, defaultdict, Counter, int, float})


def is_note(value: Any) -> bool:
    """Whether appending to the value, or counting with it, can do nothing else."""
    return type(value) in _KINDS


@functools.lru_cache(4096)
def only_noted(code: types.CodeType) -> frozenset[str]:
    """Return the outer names that the code, and the functions inside it, use only to append to or to count with."""
    noted, read = set[str](), set[str]()
    for part in _parts(code):
        ops = [i for i in dis.get_instructions(part) if i.opname not in {"CACHE", "EXTENDED_ARG"}]
        for k, load in enumerate(ops):
            if load.opname in _LOADS:
                (noted if _notes(load.argval, ops[k + 1 : k + 10]) else read).add(load.argval)
    return frozenset(noted - read)


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _parts(const)


def _notes(name: str, after: Sequence[dis.Instruction]) -> bool:
    """Whether the instructions after a load of the name append to it or add to it."""
    if _is_like(_ADD_TO_NAME, after):
        return after[1].argrepr in {"+", "+="} and after[2].argval == name
    if _is_like(_ADD_TO_ELEMENT, after):
        return after[3].argrepr in {"", "[]"} and after[5].argrepr == "+="
    return bool(after) and after[0].argval == "append" and _is_called(after[0])


def _is_like(pattern: Sequence[set[str] | frozenset[str]], ops: Sequence[dis.Instruction]) -> bool:
    pairs = zip(pattern, ops, strict=False)
    return len(ops) >= len(pattern) and all(op.opname in names for names, op in pairs)


def _is_called(loaded: dis.Instruction) -> bool:
    """Whether the method is loaded to be called at once, not to be kept."""
    return loaded.opname == "LOAD_METHOD" or (loaded.opname == "LOAD_ATTR" and "NULL" in loaded.argrepr)
