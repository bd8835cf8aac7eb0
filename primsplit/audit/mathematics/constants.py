"""Write constants as a person would: `eye(8)`, `arange(8)[:, None]`, a row in the place of equal rows.

```
c11 = [[0, 0, 1, 0], [0, 0, 0, 1]]       ->   eye(2, 4, 2)
c5 = [[1.0, 0.0], [1.0, 0.0], ...]       ->   array([1.0, 0.0])      NumPy repeats it
```

The expression has each bit of the constant. Weights keep their names: their numbers may change. Statements are laid out
with the names, so that a long expression moves no value to a statement of its own.
"""

import ast
import copy
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence

import numpy as np

from primsplit.audit.mathematics.folded import Folded
from primsplit.audit.mathematics.simplify import number_tree, ranges
from primsplit.audit.trees import OfVariables, call, literal, name, tree
from primsplit.ir import AnyArray, Const
from primsplit.ir.dims import Dim
from primsplit.ir.notation.literals import INLINE

TOLD = 12
"""The most constants that a listing tells at its end."""
FEW = 8
"""The most numbers that are written one by one."""
UNNAMED = re.compile(r"(c|table|constant)(_?\d+)?")
"""Matches the names that a file has for constants that are no one's variables."""
MOST = 4096
"""The most numbers of a constant that is written by a rule."""


def constant(const: Const, own: str) -> Folded:
    """Return a constant as its readers are folded with it: a number, a row of equal ones, or all of it by its name."""
    number = const.number
    if number is not None and const.type.dtype.kind in "iuf":
        value = number.item()
        size = int(value) if abs(value) < 2**53 and value == value // 1 else None
        return Folded(number_tree(value, const.type.dtype.type), (), size=size)
    is_row = UNNAMED.fullmatch(own) and _is_repeated(const)
    return _row(const, own) if is_row else Folded(name(own), const.type.shape)


def repeated(constants: Mapping[str, Const]) -> dict[str, Folded]:
    """Return the first rows of the constants of equal rows, by their names: NumPy repeats them."""
    unnamed = {own: const for own, const in constants.items() if UNNAMED.fullmatch(own)}
    return {own: _row(const, own) for own, const in unnamed.items() if _is_repeated(const)}


def _row(const: Const, own: str) -> Folded:
    """Return `c5[0]`, the first row of a constant."""
    shape = const.data.shape
    index = literal((0,) * (len(shape) - 1)) if len(shape) > 2 else literal(0)
    return Folded(ast.Subscript(name(own), index, ast.Load()), shape[-1:])


class ShortConstants(OfVariables):
    """Writes short constants where expressions read them, by their names."""

    def __init__(self, constants: Mapping[str, Const]) -> None:
        self.constants = constants
        arrays = ((own, _written(const)) for own, const in constants.items() if UNNAMED.fullmatch(own))
        self.arrays = {own: value for own, value in arrays if value is not None}
        self.rows = {
            ast.unparse(folded.value): _listed(constants[own].numpy().reshape(-1, *folded.shape or ())[0])
            for own, folded in repeated(constants).items()
        }

    def in_the_place_of_names(self, value: ast.expr) -> ast.expr:
        """Return an expression with them."""
        found = self.visit(copy.deepcopy(value))
        assert isinstance(found, ast.expr)
        return found

    def told(self, names: Container[str]) -> Iterator[str]:
        """Yield `c5 = [[0, 1], ...]   int64[24, 1]` for those among these names that are no variables."""
        owns = [own for own in self.constants if own in names and UNNAMED.fullmatch(own)]
        for own in owns[:TOLD]:
            const = self.constants[own]
            array = const.numpy()
            shown = array.astype(np.int64) if array.dtype == bool else array
            edge = 3 if array.ndim < 3 else 1
            text = np.array2string(shown, threshold=24, edgeitems=edge, separator=", ", max_line_width=10**6)
            sizes = ", ".join(map(str, const.data.shape))
            yield f"{own} = {' '.join(text.split())}   {const.type.dtype.name}[{sizes}]"
        if len(owns) > TOLD:
            yield f"and {len(owns) - TOLD} more (--frozen)"

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        found = self.rows.get(ast.unparse(node)) if isinstance(node.value, ast.Name) else None
        self.generic_visit(node)
        return node if found is None else copy.deepcopy(found)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.arrays.get(node.id, node))


def _is_small(const: Const) -> bool:
    is_number = const.type.dtype.kind in "iufb"
    return not const.is_weight and is_number and 0 < math.prod(const.data.shape) <= MOST


def _is_repeated(const: Const) -> bool:
    """Whether a constant has equal rows, which are short."""
    shape = const.data.shape
    if len(shape) < 2 or not shape[-1] <= FEW or not _is_small(const) or math.prod(shape[:-1]) == 1:
        return False
    rows = const.numpy().reshape(-1, shape[-1])
    return all(row.tobytes() == rows[0].tobytes() for row in rows)


def _written(const: Const) -> ast.expr | None:
    """Return the expression of an array; None where a name is shorter."""
    if not _is_small(const) or _is_repeated(const):
        return None
    array = const.numpy()
    if array.dtype == np.int64:
        return _integers(array)
    if array.ndim == 2:
        return _identity(array)
    return _listed(array) if array.ndim == 1 and len(array) <= FEW else None


def _integers(array: AnyArray) -> ast.expr | None:
    """Return `r_[1:12, 11]` for integers that mostly follow one another, and a column or a row of some."""
    flat = array.reshape(-1)
    found = ranges(flat.tolist())
    if found is None and flat.size > INLINE:
        return None
    found = found or call("array", literal(flat.tolist()))
    match array.shape:
        case (_,):
            return found
        case (_, 1):
            return tree("a[:, None]", a=found)
        case (1, _):
            return tree("a[None]", a=found)
    return None


def _identity(array: AnyArray) -> ast.expr | None:
    """Return `eye(n)` for ones on a diagonal, and `1 - eye(n)` for zeros on it."""
    rows, columns = array.shape
    is_one = array if array.dtype == bool else array == 1
    starts = [int(np.argmax(is_one[0])), -int(np.argmax(is_one[:, 0])), int(np.argmin(is_one[0]))]
    for diagonal in dict.fromkeys(starts):
        ones = np.eye(rows, columns, diagonal, array.dtype)
        sizes = (rows,) if rows == columns and not diagonal else (rows, columns)
        given = map(literal, (*sizes, diagonal) if diagonal else sizes)
        called = call("eye", *given, **({"dtype": name("bool")} if array.dtype == bool else {}))
        if array.tobytes() == ones.tobytes():
            return called
        if array.dtype != bool and array.tobytes() == (1 - ones).tobytes():
            return tree("1 - a", a=called)
    return None


def _listed(array: AnyArray) -> ast.expr:
    """Return `array([1, 0.5])`."""
    values = ((v.item(), array.dtype.type) for v in array)
    items = [literal(v) if isinstance(v, bool) else number_tree(v, dtype) for v, dtype in values]
    return call("array", ast.List(items, ast.Load()))


def diagonal_at(places: AnyArray, shape: Sequence[Dim]) -> int | None:
    """Return the diagonal of a matrix of this shape of which an array has all places, in order; None for others."""
    sizes = [size for size in shape if isinstance(size, int)]
    if len(shape) != 2 or len(sizes) < 2 or places.ndim != 2 or places.shape[1] != 2 or not len(places):
        return None
    diagonal = int(places[0, 1] - places[0, 0])
    rows, columns = np.nonzero(np.eye(sizes[0], sizes[1], k=diagonal))
    return diagonal if np.array_equal(places, np.stack((rows, columns), axis=1)) else None
