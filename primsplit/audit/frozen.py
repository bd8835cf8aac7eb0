"""The values that a trace froze: arrays and numbers that the function read from elsewhere than its arguments.

A later change of them does not change the exported file; that is why they are listed.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.errors import Place
from primsplit.export import SplitProgram
from primsplit.ir import Const, walk
from primsplit.program import ARRAY


@dataclass(frozen=True, slots=True)
class Frozen:
    """One frozen value. `name` is what the user's line calls it, or "" where that is not known."""

    name: str
    type: str
    size: int
    place: Place | None
    value: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        place = self.place
        where = {} if place is None else {"file": place.filename, "line": place.line, "source": place.source}
        return {"name": self.name, "type": self.type, "bytes": self.size, "value": self.value, **where}


def frozen_values(made: SplitProgram, function: Callable[..., Any]) -> list[Frozen]:
    """The frozen values of a traced function, largest first, each once a line; then its static arguments.

    Numbers that stand in the line itself are left out, and so are short vectors of integers without a name, which
    indexing makes.
    """
    found: dict[Any, Frozen] = {}
    for const in _constants(made):
        item = _of_constant(const, function)
        if item is not None:
            found.setdefault((item.name, item.type, item.place), item)
    ordered = sorted(found.values(), key=lambda f: -f.size)
    return ordered + list(_static_arguments(made))


def _constants(made: SplitProgram) -> Iterator[Const]:
    block = made.program.block
    for op in walk(block):
        yield from (v for v in op.inputs if isinstance(v, Const))
    yield from (r for r in block.results if isinstance(r, Const))


def _of_constant(const: Const, function: Callable[..., Any]) -> Frozen | None:
    if const.place is None or not const.place.filename:
        return None
    array = const.numpy()
    name = _name_of(array, const.place, function)
    if not name and (array.ndim == 0 or (const.type.dtype.kind in "iu" and const.is_small)):
        return None
    return Frozen(name, str(const.type), array.nbytes, const.place, _told(array))


def _told(array: npt.NDArray[Any]) -> str:
    if array.size <= 4:
        return str(array.tolist())
    if array.dtype.kind == "b" or array.dtype.kind == "V":
        return ""
    return f"{array.min():.4g} to {array.max():.4g}"


def _static_arguments(made: SplitProgram) -> Iterator[Frozen]:
    program = made.program
    for path, value in zip(program.arguments.paths(), program.static, strict=True):
        if value is not ARRAY:
            name = ".".join(map(str, path[1:])) if len(path) > 1 else "argument"
            yield Frozen(f"argument {name}", type(value).__name__, 0, None, repr(value)[:60])


def _name_of(array: npt.NDArray[Any], place: Place, function: Callable[..., Any]) -> str:
    """What the line calls an array: a name, or a path of attributes and constant keys, that leads to an equal one."""
    scope = _scope(function, place)
    for expression in _expressions(place):
        value = _look_up(expression, scope)
        if isinstance(value, np.ndarray | np.generic | float) and _equal(np.asarray(value), array):
            return ast.unparse(expression)
    return ""


def _scope(function: Callable[..., Any], place: Place) -> Mapping[str, Any]:
    """The globals of the function whose line it is, and what is closed over."""
    seen: dict[str, Any] = {}
    for inner in _functions(function):
        if inner.__code__.co_filename == place.filename:
            seen.update(inner.__globals__)
            seen.update(inspect.getclosurevars(inner).nonlocals)
    return seen


def _functions(function: Any) -> Iterator[Any]:
    """The function, and the functions and methods that it closes over."""
    inner = inspect.unwrap(function)
    if inspect.ismethod(inner):
        inner = inner.__func__
    if not inspect.isfunction(inner):
        inner = getattr(type(inner), "__call__", None)
    if inspect.isfunction(inner):
        yield inner
        for value in inspect.getclosurevars(inner).nonlocals.values():
            if inspect.isfunction(value) and value is not inner:
                yield value


def _expressions(place: Place) -> Iterator[ast.expr]:
    """The names and paths that the line reads, the longest first."""
    try:
        with open(place.filename, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and node.lineno <= place.line <= (node.end_lineno or node.lineno)
    ]
    yield from sorted(inside, key=lambda node: -len(ast.unparse(node)))


def _look_up(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """What a name or path leads to, without running anything of the user's; None where it leads nowhere."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        value = _look_up(node.value, scope)
        return None if value is None else vars(value).get(node.attr) if hasattr(value, "__dict__") else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        value = _look_up(node.value, scope)
        key = node.slice.value
        if isinstance(value, dict):
            return value.get(key)
        if isinstance(value, list | tuple | np.ndarray) and isinstance(key, int) and -len(value) <= key < len(value):
            return value[key]
    return None


def _equal(value: npt.NDArray[Any], array: npt.NDArray[Any]) -> bool:
    """True for the same elements, whatever the precision that they were frozen in."""
    if value.shape != array.shape:
        return False
    return bool(np.array_equal(value.astype(array.dtype), array, equal_nan=array.dtype.kind == "f"))
