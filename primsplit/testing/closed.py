"""Checks that a Split is closed: two op lists and the values passed between them, without Python objects."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op, Var, check, free, walk
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.notation.listing import constants, listing
from primsplit.ir.notation.parsing import parse
from primsplit.ir.parts import Split
from primsplit.rewrites.inline import inline_calls
from primsplit.testing.failures import CheckFailed

PLAIN = (bool, int, float, str, bytes)


def assert_closed(split: Split, expected_listing: str | None = None) -> None:
    """Raise CheckFailed if a Split holds a Python object, reads a value it does not own, or cannot be listed.

    `expected_listing` is compared with the split's listing, apart from comments and blank lines.
    """
    for block in (split.primal, split.pullback):
        _check_values(inline_calls(block))
        _check_round_trip(block)
    try:
        check(split.joint())
    except PrimsplitError as error:
        raise CheckFailed("closed", str(error)) from None
    _check_captures(split)
    if expected_listing is not None and code_lines(expected_listing) != code_lines(listing(split)):
        raise CheckFailed("closed", f"the listing is\n{listing(split)}")


def code_lines(text: str) -> list[str]:
    """The lines of a listing without comments, columns and blank lines."""
    lines = [" ".join(line.split("#")[0].split()) for line in text.splitlines()]
    return [line for line in lines if line]


def _check_values(block: Block) -> None:
    for op in walk(block):
        for value in op.inputs:
            if isinstance(value, Const) and value.type.dtype.kind == "O":
                raise CheckFailed("closed", f"{op.kind} reads an array of Python objects")
        for name, value in _attributes(op):
            if not _is_plain(value):
                raise CheckFailed("closed", f"attribute {name} of {op.kind} is a {type(value).__name__}")


def _attributes(op: Op) -> Iterator[tuple[str, Any]]:
    return ((n, v) for n, v in op.attributes.items() if not isinstance(v, Block))


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(v) for v in value)
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind != "O")
    return isinstance(value, PLAIN)


def _check_captures(split: Split) -> None:
    primal = split.primal
    defined = {*primal.params, *(v for op in primal.ops for v in op.outputs)}
    if foreign := [c for c in split.captures if c not in defined]:
        raise CheckFailed("closed", f"the pullback captures {foreign}, which the primal does not define")
    if unknown := free(split.pullback):
        raise CheckFailed("closed", f"the pullback reads {unknown}, which are neither captures nor cotangents")
    bare = Block(split.pullback.name, (), split.pullback.ops, split.pullback.results)
    read = set(free(bare))
    if unread := [c for c in split.captures if c not in read]:
        raise CheckFailed("closed", f"the captures {unread} are never read")
    if len(set(split.captures)) != len(split.captures):
        raise CheckFailed("closed", "a value is captured twice")
    for capture in split.captures:
        kind = split.kind(capture)
        is_kind = {"input": capture in primal.params, "output": _is_result(capture, primal)}
        if is_kind["input"] != (kind == "input") or (kind == "output" and not is_kind["output"]):
            raise CheckFailed("closed", f"the capture {capture} is called {kind}")


def _is_result(capture: Var, block: Block) -> bool:
    return any(capture is r for r in block.results)


def _check_round_trip(block: Block) -> None:
    """Check that parsing the listing gives the same block."""
    flat = inline_calls(block)
    if parse(listing(flat), constants(flat)) != flat:
        raise CheckFailed("closed", f"parsing its listing does not give the block back:\n{listing(flat)}")
