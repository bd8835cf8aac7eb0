"""Reads expressions of nests in Python's syntax, with `ast`, into lines; the notation and Python functions share it."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NoReturn, Protocol

from primsplit.frontends.loops.building import Building
from primsplit.frontends.loops.functions import ALIASES, COMBINATIONS, FUNCTIONS, near
from primsplit.frontends.loops.loopset import Axis, Bent, Index, Linear, Picked
from primsplit.ir.errors import PrimsplitError

BINARY: Mapping[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.Mod: "mod",
    ast.FloorDiv: "floor_divide",
    ast.BitAnd: "logical_and",
    ast.BitOr: "logical_or",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.And: "logical_and",
    ast.Or: "logical_or",
}
UNARY: Mapping[type[ast.AST], str] = {ast.USub: "negative", ast.Not: "logical_not", ast.Invert: "logical_not"}
NUMBERS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
MODULES = frozenset({"np", "numpy", "math", "scipy", "special"})
POWERS: Mapping[float, str] = {2: "square", 0.5: "sqrt", -1: "reciprocal"}
BENDS: Mapping[str, Literal["mod", "clamp", "pad"]] = {"mod": "mod", "clamp": "clamp", "pad": "pad"}


class Source(Protocol):
    """The text that is read; it knows how to point at a place in it."""

    def error(self, node: ast.AST, what: str, cure: str = "") -> PrimsplitError:
        """The error about an expression, with its place."""


class Expressions:
    """A reader of expressions that writes lines into `building`.

    `loops` are the loops that can be read, by the user's name; `values` the lines of the user's scalars; `functions`
    names of scalar functions beside those of `functions.FUNCTIONS`. `load` makes the line that reads an array.
    """

    def __init__(self, building: Building, source: Source, functions: frozenset[str] = frozenset()) -> None:
        self.building = building
        self.source = source
        self.functions = functions
        self.loops: Mapping[str, str] = {}
        self.values: dict[str, int] = {}
        self.load: Callable[[ast.expr, str, tuple[Index, ...]], int] = self.load_array

    def load_array(self, node: ast.expr, array: str, indices: tuple[Index, ...]) -> int:
        """The line that reads an element of an array."""
        return self.building.lines.load(self.building.reference(array, indices))

    def refuse(self, node: ast.AST, what: str, cure: str = "") -> NoReturn:
        """Raise the error about an expression."""
        raise self.source.error(node, what, cure)

    def value(self, node: ast.expr) -> int:
        """The line of an expression."""
        read = READERS.get(type(node))
        found = read(self, node) if read is not None else None
        if found is None:
            self.refuse(node, "a nest has no such expression", "Write arithmetic, comparisons, functions, A[i, j].")
        return found

    def _constant(self, node: ast.Constant) -> int | None:
        return self.building.lines.constant(node.value) if isinstance(node.value, int | float) else None

    def _unary(self, node: ast.UnaryOp) -> int:
        if isinstance(node.op, ast.UAdd):
            return self.value(node.operand)
        lines, operand = self.building.lines, self.value(node.operand)
        number = lines.operations[operand].value
        if isinstance(node.op, ast.USub) and number is not None:
            return lines.constant(-number)
        return lines.compute(UNARY[type(node.op)], operand)

    def _conditional(self, node: ast.IfExp) -> int:
        return self.building.lines.compute("where", *map(self.value, (node.test, node.body, node.orelse)))

    def _boolean(self, node: ast.BoolOp) -> int:
        return self._folded(BINARY[type(node.op)], node.values)

    def _attribute(self, node: ast.Attribute) -> int | None:
        known = isinstance(node.value, ast.Name) and node.value.id in MODULES and node.attr in NUMBERS
        return self.building.lines.constant(NUMBERS[node.attr]) if known else None

    def _binary(self, node: ast.BinOp) -> int:
        function = BINARY.get(type(node.op))
        if function is None:
            self.refuse(node, "a nest has no such operator", "A product of matrices is A[i, k] * B[k, j].")
        if function == "power" and isinstance(exponent := _number(node.right), int | float) and exponent in POWERS:
            return self.building.lines.compute(POWERS[exponent], self.value(node.left))
        return self.building.lines.compute(function, self.value(node.left), self.value(node.right))

    def _folded(self, function: str, nodes: list[ast.expr]) -> int:
        total = self.value(nodes[0])
        for node in nodes[1:]:
            total = self.building.lines.compute(function, total, self.value(node))
        return total

    def _comparison(self, node: ast.Compare) -> int:
        lines = self.building.lines
        operands = [self.value(part) for part in (node.left, *node.comparators)]
        found = None
        for at, operator in enumerate(node.ops):
            function = BINARY.get(type(operator))
            if function is None:
                self.refuse(node, "a nest has no such comparison")
            one = lines.compute(function, operands[at], operands[at + 1])
            found = one if found is None else lines.compute("logical_and", found, one)
        assert found is not None
        return found

    def _call(self, node: ast.Call) -> int:
        name = self._function(node.func)
        if name == "len" and len(node.args) == 1:
            return self.building.lines.size(self.linear(node))
        if node.keywords:
            self.refuse(node, f"functions of a nest have no named arguments, as {name} has here")
        name = ALIASES.get(name, name)
        known = FUNCTIONS.get(name)
        if known is None and name not in COMBINATIONS and name not in self.functions:
            names = {*FUNCTIONS, *ALIASES, *COMBINATIONS, *self.functions}
            cure = "Reduce in a statement of its own: `t := x[i]`." if name in {"sum", "prod"} else near(name, names)
            self.refuse(node.func, f"no function of numbers is called {name}", cure)
        if name in {"maximum", "minimum"} and len(node.args) > 1:
            return self._folded(name, node.args)
        arity = known.arity if known else COMBINATIONS.get(name, len(node.args))
        if len(node.args) != arity:
            self.refuse(node, f"{name} takes {arity} arguments, not {len(node.args)}")
        return self._applied(name, [self.value(argument) for argument in node.args])

    def _applied(self, name: str, values: list[int]) -> int:
        lines = self.building.lines
        if name == "identity":
            return values[0]
        if name in COMBINATIONS:
            product, last = lines.compute("multiply", values[0], values[1]), values[2]
            if name == "fnma":
                return lines.compute("subtract", last, product)
            product = lines.compute("negative", product) if name == "fnms" else product
            return lines.compute("subtract" if name in {"fms", "fnms"} else "add", product, last)
        return lines.compute(name, *values)

    def apply(self, node: ast.expr, value: int) -> int:
        """Apply the node of `|> node` to a value: a function's name, or an expression with `_`."""
        if isinstance(node, ast.Name | ast.Attribute) and not (isinstance(node, ast.Name) and node.id == "_"):
            underscore = ast.copy_location(ast.Name("_"), node)
            node = ast.copy_location(ast.Call(node, [underscore], []), node)
        self.values["_"] = value
        found = self.value(node)
        del self.values["_"]
        return found

    def _function(self, node: ast.expr) -> str:
        """The name of a function, without the module that it is in."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            return node.attr
        return self.refuse(node, "this is no function's name")

    def name(self, node: ast.Name) -> int:
        """The line of a scalar: the user's, a loop's number, an integer argument, or an array without axes."""
        building, name = self.building, node.id
        if name in self.values:
            return self.values[name]
        if name in self.loops:
            return building.lines.index(self.loops[name])
        if name in building.integers:
            return building.lines.size(Linear(((name, 1),)))
        if name in NUMBERS and name != "e" and not building.exists(name):
            return building.lines.constant(NUMBERS[name])
        self.rank(node, name, 0)
        return self.load(node, name, ())

    def is_number(self, name: str) -> bool:
        """Whether a name is no array, but a scalar of the user's, a loop, an integer argument or pi."""
        bound = name in self.values or name in self.loops or name in self.building.integers or name == "_"
        return bound or (name in NUMBERS and name != "e" and not self.building.exists(name))

    def _subscript(self, node: ast.Subscript) -> int:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return self.building.lines.size(self.linear(node))
        return self.load(node, *self.element(node))

    def element(self, node: ast.expr) -> tuple[str, tuple[Index, ...]]:
        """The array and the indices of `A[i, j]` or of a scalar."""
        if isinstance(node, ast.Name):
            self.rank(node, node.id, 0)
            return node.id, ()
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            self.refuse(node, "this is no element of an array", "Write the array's name and its indices: A[i, j].")
        array = node.value.id
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        self.rank(node, array, len(nodes))
        return array, tuple(self.index(part, Axis(array, axis)) for axis, part in enumerate(nodes))

    def rank(self, node: ast.expr, array: str, rank: int) -> None:
        """Note the array's number of axes, or raise where it had another before."""
        known = self.building.ranks.get(array, rank)
        if array in self.loops or array in self.building.integers:
            self.refuse(node, f"{array} is a number, not an array")
        if known != rank:
            self.refuse(node, f"{array} has {rank} indices here and {known} elsewhere", "Write one for each axis.")
        if not self.building.exists(array):
            self.building.argument(array, rank)

    def index(self, node: ast.expr, axis: Axis) -> Index:
        """Read the index of an axis."""
        if isinstance(node, ast.Slice):
            self.refuse(node, "a nest has no slices", "Write a letter for the axis: A[i, j].")
        if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute):
            return Picked(self.building.reference(*self.element(node)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BENDS:
            return self._bent(node, BENDS[node.func.id], self.building.length(axis))
        linear = self.linear(node)
        counted_from_the_end = not linear.terms and linear.offset < 0
        return self.building.length(axis) + linear if counted_from_the_end else linear

    def _bent(self, node: ast.Call, how: Literal["mod", "clamp", "pad"], length: Linear) -> Bent:
        """`mod(i + 1)`, `mod(i, length)`, `clamp(i - 1)`, `pad(i - 1, fill)`."""
        if not node.args or len(node.args) > 2 or node.keywords:
            self.refuse(node, f"{how} takes an index, and {'a fill' if how == 'pad' else 'a length'}")
        index, second = self.linear(node.args[0]), node.args[1] if len(node.args) == 2 else None
        if how != "pad":
            return Bent(how, index, length if second is None else self.linear(second))
        fill = _number(second) if second is not None else 0.0
        if fill is None:
            self.refuse(node.args[1], "what pad fills with is a number")
        return Bent("pad", index, length, float(fill))

    def linear(self, node: ast.expr) -> Linear:
        """A whole number that loops, integer arguments and lengths make by + and -, and by * with numbers."""
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return Linear((), number)
            case ast.UnaryOp(op=ast.USub()):
                return self.linear(node.operand) * -1
            case ast.BinOp(op=ast.Add()):
                return self.linear(node.left) + self.linear(node.right)
            case ast.BinOp(op=ast.Sub()):
                return self.linear(node.left) - self.linear(node.right)
            case ast.BinOp(op=ast.Mult()):
                left, right = self.linear(node.left), self.linear(node.right)
                if left.terms and right.terms:
                    self.refuse(node, "an index is no product of loops", "Indices are sums of loops times numbers.")
                return left * right.offset if left.terms else right * left.offset
            case ast.Name(id=name):
                return self.symbol(node, name)
        length = self._measured(node)
        if length is None:
            cure = "Indices are sums of loops times numbers, numbers of an array: A[rows[i]], or bent: mod, clamp, pad."
            self.refuse(node, "this is no index of a nest", cure)
        return length

    def _measured(self, node: ast.expr) -> Linear | None:
        """The length that `len(x)` or `x.shape[0]` is, or None."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=array)]):
                return self.length(node, Axis(array, 0))
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="shape")):
                axis = _number(node.slice)
                return self.length(node, Axis(array, axis)) if isinstance(axis, int) and axis >= 0 else None
        return None

    def length(self, node: ast.expr, axis: Axis) -> Linear:
        """The length of an axis of an array that the nest indexes."""
        if axis.axis >= self.building.ranks.get(axis.array, 0):
            self.refuse(node, f"the nest indexes no array {axis.array} with an axis {axis.axis}")
        return self.building.length(axis)

    def symbol(self, node: ast.Name, name: str) -> Linear:
        """A loop or an integer argument in an index."""
        if name in self.loops:
            return Linear(((self.loops[name], 1),))
        if name in self.building.integers:
            return Linear(((name, 1),))
        return self.refuse(node, f"{name} is neither a loop nor a whole number", near(name, set(self.loops)))


READERS: Mapping[type[ast.expr], Callable[[Expressions, Any], int | None]] = {
    ast.Constant: Expressions._constant,
    ast.UnaryOp: Expressions._unary,
    ast.BinOp: Expressions._binary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._comparison,
    ast.IfExp: Expressions._conditional,
    ast.Call: Expressions._call,
    ast.Name: lambda reader, node: reader.name(node),
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
}
"""The readers by the kind of expression; other kinds have no meaning in a nest."""


def _number(node: ast.expr) -> int | float | None:
    """The number that is written, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _number(node.operand)
        return None if operand is None else -operand
    return None


def names(node: ast.AST) -> Iterator[ast.Name | ast.Subscript]:
    """The scalars and the elements of arrays that an expression reads, from left to right."""
    if isinstance(node, ast.Name) or (isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute)):
        yield node
    elif isinstance(node, ast.Call):
        if not (isinstance(node.func, ast.Name) and node.func.id == "len"):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            yield from (found for argument in given for found in names(argument))
    elif not isinstance(node, ast.Subscript) and not (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute)
    ):
        yield from (found for child in ast.iter_child_nodes(node) for found in names(child))


def letters_of(node: ast.AST) -> Iterator[ast.Name]:
    """The names in an index that are neither arrays nor functions."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.Subscript):
        yield from letters_of(node.slice)
    elif isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id == "len"):
        yield from (letter for argument in node.args for letter in letters_of(argument))
    elif not isinstance(node, ast.Call | ast.Attribute):
        yield from (letter for child in ast.iter_child_nodes(node) for letter in letters_of(child))
