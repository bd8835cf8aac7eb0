"""Finds the definition of a function in its source file, by its name, first line and columns."""

import itertools
import types

from primsplit.ir.definitions import Definition, Index, first_line, last_of, matching, parameters, parsed, text_of


class SourceError(Exception):
    """The definition of a function cannot be read."""


def definition_of(function: types.FunctionType) -> Definition:
    """Return the definition of a function. Raises SourceError if its source cannot be read."""
    code = function.__code__
    text = text_of(code.co_filename, function.__globals__)
    if not text:
        raise SourceError(f"the source of {function.__qualname__} ({code.co_filename}) cannot be read")
    index = parsed(code.co_filename, text).definitions
    definition = matching(code, index.get((code.co_name, code.co_firstlineno), ()))
    if definition is None and code.co_filename == "<string>":  # `exec` of a text, in a program of `python -c`
        raise SourceError(f"the source of {function.__qualname__} (<string>) cannot be read")
    if definition is None:
        raise SourceError(
            f"the source of {function.__qualname__} is not at {code.co_filename}:{code.co_firstlineno} any more"
        )
    return definition


def is_in_source(filename: str, line: int) -> bool:
    """Whether the source of a file has a function that includes this line."""
    definitions = itertools.chain.from_iterable(parsed(filename, text_of(filename)).definitions.values())
    return any(first_line(node) <= line <= last_of(node)[0] for node, *_ in definitions)


def like(own: Definition, code: types.CodeType, index: Index) -> Definition | None:
    """Return the definition in a rewritten tree at the position of the user's own; None if there is none.

    The rewrite may wrap a lambda in another one at the same position: the innermost is the user's.
    """
    candidates = index.get((code.co_name, code.co_firstlineno), ())
    place = own.node.lineno, own.node.col_offset, *last_of(own.node)
    there = [d for d in candidates if (d.node.lineno, d.node.col_offset, *last_of(d.node)) == place]
    return next((d for d in reversed(there) if parameters(d.node) == parameters(own.node)), None)
