"""A Python function of nested `for ... in range(...)` loops to a nest, by its source.

    def amulb(C, A, B):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                C[m, n] = 0.0
                for k in range(A.shape[1]):
                    C[m, n] += A[m, k] * B[k, n]

Statements assign elements, names and arrays that `np.zeros` makes, or combine: `+=`, `-=`, `*=`, `m = max(m, x[i])`.
`if` is a mask. What the function returns are the results: arrays and numbers; without `return`, the arrays that it
writes. Expressions are those of the notation; numbers and ufuncs from outside are read when the nest is made. What
depends on the order of a loop's turns is refused, at its line: see `scopes.py`.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from primsplit.frontends.loops.building import Building
from primsplit.frontends.loops.expressions import BINARY, Expressions
from primsplit.frontends.loops.functions import near
from primsplit.frontends.loops.loopset import Axis, Linear, Loop, LoopSet
from primsplit.frontends.loops.scopes import IDENTITIES, Element, Scopes
from primsplit.frontends.loops.syntax import called, changed, combination, negated, ranks, whole_numbers
from primsplit.ir.errors import ParseError, Place, PrimsplitError
from primsplit.ir.parsing import parsed_text

ZEROS = frozenset({"zeros", "zeros_like", "empty", "empty_like"})


def parse_function(function: Callable[..., Any], *, functions: Iterable[str] = ()) -> LoopSet:
    """The nest that a function's source is.

    `functions` are names of scalar functions beside those of `functions.FUNCTIONS`. Raises ParseError at the line that
    no nest has.
    """
    source = Text(function)
    return _Reader(source, frozenset(functions)).nest()


def outside(function: Callable[..., Any]) -> dict[str, Any]:
    """The values of the names that a function takes from outside."""
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


class Text:
    """The source of a function, which errors point into."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        try:
            lines, self.first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            cure = "Write the function in a file, or the nest in index notation."
            raise ParseError(f"the source of {self.name} cannot be read: {error}", cure=cure) from None
        self.filename = inspect.getsourcefile(function) or "<unknown>"
        tree = parsed_text(textwrap.dedent("".join(lines))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise ParseError(f"{self.name} is no function that def makes", cure="A nest is a def with for loops.")
        self.tree = tree
        self.outside = outside(function)

    def error(self, node: ast.AST, what: str, cure: str = "") -> PrimsplitError:
        """The error about a statement or an expression."""
        line = self.first + getattr(node, "lineno", 1) - 1
        return ParseError(what, place=Place(self.filename, line, self.name, getattr(node, "col_offset", 0)), cure=cure)


class _Values(Expressions):
    """A reader of expressions whose names and elements are those of scopes."""

    def __init__(self, building: Building, source: Text, functions: frozenset[str]) -> None:
        super().__init__(building, source, functions)
        self.text = source
        self.scopes = Scopes(building, lambda what, cure: self.refuse(self.statement, what, cure))
        self.statement: ast.AST = source.tree
        self.load = lambda node, array, indices: self.scopes.read_element(array, indices)
        self.parameters = [argument.arg for argument in source.tree.args.args]
        self.made: set[str] = set()
        self.measured: list[tuple[ast.expr, Axis]] = []

    def name(self, node: ast.Name) -> int:
        """The line of a scalar."""
        name = node.id
        if name in self.loops or name in self.building.integers:
            return super().name(node)
        if self.scopes.holder(name) is not None:
            return self.scopes.read(name)
        self.scopes.not_carried(name, self.scopes.frames[0])
        constant = self.text.outside.get(name)
        if name not in self.parameters and isinstance(constant, int | float | np.number):
            return self.building.lines.constant(constant.item() if isinstance(constant, np.number) else constant)
        return super().name(node)

    def rank(self, node: ast.expr, array: str, rank: int) -> None:
        """Note an array's number of axes; arrays are arguments, or made by the function."""
        if array not in self.parameters and array not in self.made:
            names = {*self.parameters, *self.made, *(name for frame in self.scopes.frames for name in frame.values)}
            self.refuse(node, f"{array} is neither an argument nor assigned before", near(array, names))
        known = self.building.ranks.setdefault(array, rank)
        if known != rank:
            self.refuse(node, f"{array} has {rank} indices here and {known} elsewhere", "Write one for each axis.")

    def length(self, node: ast.expr, axis: Axis) -> Linear:
        """The length of an axis, whose array may be indexed only later."""
        if axis.array not in self.parameters and axis.array not in self.made:
            self.refuse(node, f"{axis.array} is no array of the nest", near(axis.array, set(self.parameters)))
        self.measured.append((node, axis))
        return self.building.length(axis)

    def symbol(self, node: ast.Name, name: str) -> Linear:
        """A loop, an integer argument, or a name for an index."""
        constant = self.text.outside.get(name)
        if name not in self.parameters and isinstance(constant, int | np.integer) and not isinstance(constant, bool):
            return Linear((), int(constant))
        return self.scopes.linear(name) or super().symbol(node, name)

    def _function(self, node: ast.expr) -> str:
        """A function's own name, where it was imported under another."""
        name = super()._function(node)
        meant = self.text.outside.get(name) if isinstance(node, ast.Name) else None
        return meant.__name__ if isinstance(meant, np.ufunc) else name


class _Reader:
    """The statements of a function, read one after the other."""

    def __init__(self, source: Text, functions: frozenset[str]) -> None:
        self.source = source
        self.building = Building(source.name)
        self.values = _Values(self.building, source, functions)
        self.scopes = self.values.scopes
        self.returned: list[str] | None = None
        self.loops: dict[str, str] = {}
        self.values.loops = self.loops

    def nest(self) -> LoopSet:
        """The nest of the whole function."""
        arguments = self.source.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            self.refuse(self.source.tree, "a nest has plain arguments, without defaults and stars")
        used = whole_numbers(self.source.tree)
        self.building.integers.extend(name for name in self.values.parameters if name in used)
        self.building.arguments = dict.fromkeys(self.values.parameters, 0)
        self.building.versions = {name: name for name in self.values.parameters}
        self.building.ranks = {name: rank for name, rank in ranks(self.source.tree) if name in self.values.parameters}
        self.body(self.source.tree.body)
        self.scopes.store_all()
        self._arguments()
        if self.returned is not None:
            self.building.counts = {name: self.building.counts[name] for name in self.returned}
        elif not self.building.counts:
            self.refuse(
                self.source.tree, "the nest writes no array, and returns none", "Write C[i] = ..., or return t."
            )
        return self.building.finished()

    def refuse(self, node: ast.AST, what: str, cure: str = "") -> NoReturn:
        """Raise the error about a statement."""
        raise self.source.error(node, what, cure)

    def _arguments(self) -> None:
        """Give the nest its arguments in the function's order, with the ranks that their indices tell."""
        for node, axis in self.values.measured:
            if axis.axis >= self.building.ranks.get(axis.array, 0):
                what = f"the nest indexes no array {axis.array} with an axis {axis.axis}"
                self.refuse(node, what, "Give its length as an argument.")
        for name in self.values.parameters:
            rank = 0 if name in self.building.integers else self.building.ranks.get(name)
            if rank is None:
                self.refuse(self.source.tree, f"the nest does not use its argument {name}")
            self.building.arguments[name] = rank

    def body(self, statements: Iterable[ast.stmt]) -> None:
        """Read statements."""
        for statement in statements:
            self.values.statement = statement
            self.building.lines.place = str(self.source.error(statement, "").place)
            if self.returned is not None:
                self.refuse(statement, "nothing follows what the nest returns")
            read = STATEMENTS.get(type(statement))
            if read is None:
                what = f"a nest has no such statement: {type(statement).__name__.lower()}"
                self.refuse(statement, what, "A nest has for loops over ranges, if, assignments and a return.")
            read(self, statement)

    def _expression(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.refuse(statement, "a nest has no statement for its effect", "Assign an element: C[i] = ...")

    def _pass(self, statement: ast.Pass) -> None:
        """A statement that does nothing."""

    def _for(self, statement: ast.For) -> None:
        if not isinstance(statement.target, ast.Name) or statement.orelse:
            self.refuse(statement, "a loop of a nest has one name, and no else")
        name, user = statement.target.id, statement.iter
        is_range = isinstance(user, ast.Call) and isinstance(user.func, ast.Name) and user.func.id == "range"
        if not isinstance(user, ast.Call) or not is_range or user.keywords or not user.args:
            self.refuse(
                statement, "a loop of a nest is over a range", "Write for i in range(len(x)), and x[i] in its body."
            )
        if len(user.args) > 2:
            self.refuse(statement, "a range of a nest has no step", "Write the step in the index: x[2*i].")
        if name in self.loops or name in self.values.parameters or name in self.values.made:
            self.refuse(statement, f"{name} is taken", "Use another letter.")
        ends = [self.values.linear(end) for end in user.args]
        start, stop = ends if len(ends) == 2 else (Linear(), ends[0])
        for end in ends:
            if end.symbols() & set(self.loops.values()):
                cure = "Make the range full, and mask: if j <= i:"
                self.refuse(statement, "a range of a nest may not depend on a loop around it", cure)
        own = self.building.loop(Loop(name, start, stop, agreeing=False))
        if own in self.loops.values():
            own = self.building.loop(Loop(f"{name}_inner", start, stop, agreeing=False))
        self.loops[name] = own
        self.scopes.open(own, name, *changed(statement.body))
        self.body(statement.body)
        self.values.statement = statement
        self.scopes.close()
        del self.loops[name]

    def _if(self, statement: ast.If) -> None:
        mask = self.values.value(statement.test)
        self.scopes.masks.append(mask)
        self.body(statement.body)
        self.scopes.masks.pop()
        if statement.orelse:
            self.scopes.masks.append(self.building.lines.compute("logical_not", mask))
            self.body(statement.orelse)
            self.scopes.masks.pop()

    def _assign(self, statement: ast.Assign) -> None:
        target, value = statement.targets[0], statement.value
        if len(statement.targets) > 1:
            self.refuse(statement, "a nest assigns one thing at a time", "Write an assignment for each.")
        combined = combination(target, value)
        if combined is not None:
            self._combine(target, *combined)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Attribute) and value.attr == "shape":
            self._shape(target, value)
        elif isinstance(target, ast.Name) and isinstance(value, ast.Call) and called(value) in ZEROS:
            self._zeros(target, value)
        elif isinstance(target, ast.Name):
            self._name(target, value)
        elif isinstance(target, ast.Subscript):
            array, indices = self._element(target)
            self.scopes.write_element(array, indices, self.values.value(value))
        else:
            self.refuse(statement, "a nest assigns an element or a name", "Write an assignment for each.")

    def _augmented(self, statement: ast.AugAssign) -> None:
        function = BINARY.get(type(statement.op), "")
        if function == "subtract":
            self._combine(statement.target, "add", negated(statement.value))
        elif function in IDENTITIES:
            self._combine(statement.target, function, statement.value)
        else:
            value = ast.copy_location(ast.BinOp(statement.target, statement.op, statement.value), statement)
            self._assign(ast.copy_location(ast.Assign([statement.target], value), statement))

    def _combine(self, target: ast.expr, function: str, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            if self.scopes.holder(target.id) is None:
                self.scopes.frames[0].values[target.id] = Expressions.name(self.values, target)
            self.scopes.combine(target.id, function, self.values.value(value))
        elif isinstance(target, ast.Subscript):
            element = self._element(target)
            self.scopes.combine(element, function, self.values.value(value))
        else:
            self.refuse(target, "a nest combines elements and names")

    def _element(self, target: ast.Subscript) -> Element:
        return self.values.element(target)

    def _name(self, target: ast.Name, value: ast.expr) -> None:
        """A name for a number, or for an index."""
        if target.id in self.loops or target.id in self.values.made:
            self.refuse(target, f"{target.id} is taken", "Use another name.")
        try:
            linear = self.values.linear(value)
        except ParseError:
            linear = None
        self.building.lines.name = target.id
        self.scopes.write(target.id, self.values.value(value), linear)
        self.building.lines.name = ""

    def _shape(self, target: ast.Tuple, value: ast.Attribute) -> None:
        """`m, n = A.shape`."""
        if not isinstance(value.value, ast.Name) or not all(isinstance(name, ast.Name) for name in target.elts):
            self.refuse(target, "a shape is of an array, and goes to names")
        array = value.value.id
        self.values.rank(value, array, len(target.elts))
        for axis, name in enumerate(target.elts):
            assert isinstance(name, ast.Name)
            length = self.values.length(value, Axis(array, axis))
            self.scopes.write(name.id, self.building.lines.size(length), length)

    def _zeros(self, target: ast.Name, value: ast.Call) -> None:
        """An array that the function makes."""
        if len(self.scopes.frames) > 1 or target.id in self.values.made | set(self.values.parameters):
            self.refuse(value, "a nest makes an array once, before its loops", "Use a name for a number of one turn.")
        if len(value.args) != 1 or value.keywords:
            cure = "Its dtype is that of what is written to it."
            self.refuse(value, "an array that a nest makes has a shape, and nothing else", cure)
        lengths = self._lengths(value.args[0])
        self.values.made.add(target.id)
        self.building.ranks[target.id] = len(lengths)
        self.building.shapes[target.id] = lengths

    def _lengths(self, shape: ast.expr) -> tuple[Linear, ...]:
        """The shape `(m, n)` or `n`, or that of an array `x` or `x.shape`."""
        array = shape.value if isinstance(shape, ast.Attribute) and shape.attr == "shape" else shape
        if isinstance(array, ast.Name) and array.id in self.building.ranks and array.id not in self.building.integers:
            return tuple(self.building.length(Axis(array.id, axis)) for axis in range(self.building.ranks[array.id]))
        parts = shape.elts if isinstance(shape, ast.Tuple) else [shape]
        return tuple(self.values.linear(part) for part in parts)

    def _return(self, statement: ast.Return) -> None:
        if len(self.scopes.frames) > 1 or self.scopes.masks or statement.value is None:
            self.refuse(statement, "a nest returns at its end, and something")
        self.scopes.store_all()
        parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        returned = []
        for number, part in enumerate(parts):
            name = part.id if isinstance(part, ast.Name) else f"result{number + 1}" if len(parts) > 1 else "result"
            if name not in self.building.counts:
                self._returned_number(part, name)
            returned.append(name)
        self.returned = returned

    def _returned_number(self, part: ast.expr, name: str) -> None:
        """Store a number that is returned in an array without axes."""
        if name in self.values.made or name in self.values.parameters:
            self.refuse(part, f"no loop writes {name}")
        self.building.store(name, (), self.values.value(part), adds=False)


STATEMENTS: Mapping[type[ast.stmt], Callable[[_Reader, Any], None]] = {
    ast.For: _Reader._for,
    ast.If: _Reader._if,
    ast.Assign: _Reader._assign,
    ast.AugAssign: _Reader._augmented,
    ast.Expr: _Reader._expression,
    ast.Pass: _Reader._pass,
    ast.Return: _Reader._return,
}
"""The readers by the kind of statement."""
