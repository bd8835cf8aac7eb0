"""Find in the user's source the node that a frame evaluates.

Python keeps lines and columns of each instruction. Nothing is read from the instructions themselves.

```
def f(x):
    y = np.sin(x) + 1       # while np.sin runs: FunctionDef, Assign, BinOp, Call
```
"""

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType

from primsplit.ir.definitions import by_code, definition_in, file_of, parsed, text_of

Nodes = tuple[ast.AST, ...]
Range = tuple[tuple[int, int], tuple[int, int]]
"""The line and column where an expression begins, and those where it ends."""
_WITH_PLACE = (ast.stmt, ast.expr, ast.ExceptHandler, ast.keyword, ast.arg, ast.pattern)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def nodes_around(frame: FrameType) -> Nodes:
    """Return the nodes around what the frame evaluates, from its function's to the evaluated one.

    Empty if the source cannot be read, or has no such node.
    """
    text_of(frame.f_code.co_filename, frame.f_globals)  # the file may be in an archive, which only the globals name
    return nodes_at(frame.f_code, frame.f_lasti)


def nodes_at(code: CodeType, index: int) -> Nodes:
    """Return the nodes around what the instruction at byte `index` of a code evaluates, like `nodes_around`."""
    place = _range_of(code, index)
    if place is None:
        return ()
    definition = definition_in(code)
    if definition is not None:
        return _path(definition.node, place)
    return _inside(code, _path(file_of(code).tree, place))


def nodes_of_line(filename: str, line: int, column: int) -> Nodes:
    """Return the nodes of a file that contain a place, the outermost first."""
    return _path(parsed(filename, text_of(filename)).tree, ((line, column), (line, column + 1)))


@by_code
def _ranges(code: CodeType) -> Sequence[tuple[int | None, int | None, int | None, int | None]]:
    return [*code.co_positions()]


def _range_of(code: CodeType, index: int) -> Range | None:
    """Return where the expression of an instruction is; None if Python kept no columns."""
    ranges = _ranges(code)
    if not 0 <= index // 2 < len(ranges):  # two bytes an instruction
        return None
    line, last_line, column, last_column = ranges[index // 2]
    if line is None or last_line is None or column is None or last_column is None:
        return None
    return (line, column), (last_line, last_column)


def _inside(code: CodeType, nodes: Nodes) -> Nodes:
    """Return the nodes of a code without a definition of its own: a module, a comprehension, a side of a branch."""
    scopes = [k for k, node in enumerate(nodes) if isinstance(node, _Scope)]
    if code.co_name.startswith("<") and code.co_name != "<lambda>":
        return nodes[scopes[-1] :] if scopes else nodes
    own = [k for k in scopes if getattr(nodes[k], "name", "<lambda>") == code.co_name]
    return nodes[own[-1] :] if own else ()


def _path(node: ast.AST, place: Range) -> Nodes:
    """Return the nodes that contain a place, from this node to the smallest."""
    nodes = [node]
    while (inner := next((n for n in _parts(nodes[-1], place) if _contains(n, place)), None)) is not None:
        if isinstance(nodes[-1], ast.JoinedStr) and isinstance(inner, ast.Constant):
            break  # in Python 3.11, a part of an f-string has the place of the whole
        nodes.append(inner)
    return tuple(nodes)


def _parts(node: ast.AST, place: Range) -> Iterator[ast.AST]:
    """Yield the nodes in a node, of a list of statements the two that may contain the place."""
    for name in node._fields:
        part = getattr(node, name, None)
        if not isinstance(part, list):
            part = [part]
        elif part and isinstance(part[0], ast.stmt):
            behind = bisect_right(part, place[0], key=_begin)
            part = part[max(behind - 1, 0) : behind + 1]  # the second begins behind its decorators
        yield from (each for each in part if isinstance(each, ast.AST))


def _begin(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _contains(node: ast.AST, place: Range) -> bool:
    if any(_contains(decorator, place) for decorator in getattr(node, "decorator_list", ())):
        return True
    if isinstance(node, _WITH_PLACE):
        begin, end = place
        last = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return (node.lineno, node.col_offset) <= begin and end <= last
    return any(_contains(child, place) for child in ast.iter_child_nodes(node))


def value_taken(nodes: Sequence[ast.AST]) -> tuple[ast.AST | None, ast.AST]:
    """Return the node that takes the value of the evaluated one, and the value in it, which may be a choice of it."""
    value, around = nodes[-1], [*nodes[:-1]]
    while around and isinstance(around[-1], ast.IfExp) and value is not around[-1].test:
        value = around.pop()
    return (around[-1] if around else None), value
