"""Compile a definition again, in place of the code that was compiled from it, and compare the two.

The source of a function may have been changed since it was loaded. Where an answer that is read in the source must be
right, `compiles_to` says whether the source is still that of the code.
"""

import ast
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from primsplit.ir.definitions import Definition, copied

Code = types.CodeType


def compiles_to(definition: Definition, code: Code) -> bool:
    """Whether the definition compiles to this code. Code with pytest's rewritten asserts is accepted."""
    try:
        again = recompiled(definition._replace(node=copied(definition.node)), code, ast.fix_missing_locations)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return _is_same(code, renamed(again, code, {}))


def recompiled(definition: Definition, code: Code, prepared: Callable[[ast.Module], ast.Module]) -> Code:
    """Return the code of a definition with the free variables of `code`, and with a name of its own.

    The node of the definition is changed. `prepared` is called with the tree before it is compiled.
    """
    node = definition.node
    if isinstance(node, ast.Lambda):
        body = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(_function(code.co_name, node.args, [body]), node)
    node.returns = None  # decorators stay: they determine the first line
    node.args.defaults = [ast.copy_location(ast.Constant(None), d) for d in node.args.defaults]
    node.args.kw_defaults = [d and ast.copy_location(ast.Constant(None), d) for d in node.args.kw_defaults]
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    node.name = _NAME
    inside: ast.stmt = node
    if definition.private:
        inside = ast.ClassDef(definition.private, [], [], [node], [])
        _without_type_parameters(inside)
    free = [name for name in code.co_freevars if name != "__class__"]
    before: list[ast.stmt] = []
    if definition.private and definition.private not in free:
        before.append(ast.Global([definition.private]))
    if others := [name for name in free if name != definition.private]:
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in others]
        before.append(ast.Assign(targets, ast.Constant(None)))
    outer = _function("_outer", None, [*before, inside])
    tree = prepared(ast.Module([*definition.imports, outer], []))
    whole = compile(tree, code.co_filename, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    return next(c for c in _codes(whole) if c.co_name == _NAME)


_NAME = "_converted"
_FUTURES = 0x1000000
"""The flag of `from __future__ import annotations`."""


def _function(name: str, args: ast.arguments | None, body: list[ast.stmt]) -> ast.FunctionDef:
    no_arguments = ast.arguments([], [], None, [], [], None, [])
    definition = ast.FunctionDef(name, args or no_arguments, body, [], None, None)
    _without_type_parameters(definition)
    return definition


def _without_type_parameters(node: ast.FunctionDef | ast.ClassDef) -> None:
    """Add the field of function and class nodes that Python 3.12 introduced."""
    if "type_params" in node._fields:
        vars(node)["type_params"] = []


def _codes(code: Code) -> Iterator[Code]:
    for const in code.co_consts:
        if isinstance(const, Code):
            yield const
            yield from _codes(const)


def renamed(new: Code, code: Code, constants: Mapping[str, Any]) -> Code:
    """Return new code with the names of `code`, and with other values for some of its texts."""
    prefix, own = new.co_qualname, code.co_qualname

    def named(text: str) -> str:
        return own + text.removeprefix(prefix) if text.startswith(prefix) else text

    def finished(part: Code) -> Code:
        consts = tuple(map(constant, part.co_consts))
        return part.replace(co_consts=consts, co_qualname=named(part.co_qualname))

    def constant(const: Any) -> Any:
        if isinstance(const, Code):
            return finished(const)
        return constants.get(const, named(const)) if isinstance(const, str) else const

    return finished(new).replace(co_name=code.co_name)


def _is_same(code: Code, compiled_again: Code) -> bool:
    if any(name.startswith("@py") for name in (*code.co_varnames, *code.co_names, *code.co_freevars)):
        return True
    if code.co_code != compiled_again.co_code or code.co_names != compiled_again.co_names:
        return False
    own, other = code.co_consts, compiled_again.co_consts
    return len(own) == len(other) and all(
        _is_same(a, b) if isinstance(a, Code) and isinstance(b, Code) else _is_same_constant(a, b)
        for a, b in zip(own, other, strict=True)
    )


def _is_same_constant(own: Any, other: Any) -> bool:
    return type(own) is type(other) and (own == other or repr(own) == repr(other))
