"""Find what made a value that a function reads from outside: a draw, a clock, a file, or none of them.

```
NOISE = rng.normal(size=3)              NOISE          draw
class Layer: bias = np.load("b.npy")    self.bias      file
def layer(x, noise=rng.normal()):       noise          draw
from settings import STARTED            STARTED        clock, if settings has STARTED = time.time()
```

Assignments, attributes of classes, defaults of parameters and keywords of calls are read from the text of the file, and
from those of modules that names are imported from. Functions of these files that an assignment calls are read too.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from primsplit.audit.origins import Origin, drawn_or_read
from primsplit.tracing import is_library

Parsed = Callable[[str], ast.Module]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def origin_behind(path: ast.expr, filename: str, line: int, parsed: Parsed) -> Origin:
    """Return what made the value at a path, such as `self.noise`, that a line of a file reads; "" if nothing is told.

    `parsed` returns the syntax tree of a file.
    """
    return _Search(parsed).of_path(path, filename, line)


@dataclass
class _Search:
    parsed: Parsed
    seen: set[tuple[str, str, bool]] = field(default_factory=set)

    def of_path(self, path: ast.expr, filename: str, line: int) -> Origin:
        """Return what made the attribute that a path ends with; where nothing assigns it, the variable it begins at."""
        if isinstance(path, ast.Attribute):
            module = _module(self.parsed(filename), path.value)
            if module:
                return self.of_values(path.attr, module, 0)
            found = self.of_values(path.attr, filename, line, is_attribute=True)
            return found or self.of_path(path.value, filename, line)
        if isinstance(path, ast.Subscript):
            return self.of_path(path.value, filename, line)
        return self.of_values(path.id, filename, line) if isinstance(path, ast.Name) else ""

    def of_values(self, name: str, filename: str, line: int, *, is_attribute: bool = False) -> Origin:
        """Return what made one of the values that are assigned to a variable or an attribute."""
        if (filename, name, is_attribute) in self.seen:
            return ""
        self.seen.add((filename, name, is_attribute))
        tree = self.parsed(filename)
        values = [*(_of_attribute(tree, name) if is_attribute else _of_variable(tree, name, line))]
        found = [self.of_expression(value, filename) for value in values]
        if not is_attribute:
            found += [self.of_values(n, module, 0) for module, n in _imported(tree, name)]
        return next((origin for origin in found if origin), "")

    def of_expression(self, value: ast.AST, filename: str) -> Origin:
        """Return what an expression calls that draws, tells the time or reads a file, itself or what it reads."""
        inside = [*ast.walk(value)]
        origin = drawn_or_read({c for node in inside if isinstance(node, ast.Call) and (c := _called(node.func))})
        if origin != "computed":
            return origin
        read = [n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        found = (self.of_values(n.id, filename, n.lineno) or self.of_function(n.id, filename) for n in read)
        return next((origin for origin in found if origin), "")

    def of_function(self, name: str, filename: str) -> Origin:
        """Return what the body of a function of the file calls."""
        if (filename, f"{name}()", False) in self.seen:
            return ""
        self.seen.add((filename, f"{name}()", False))
        nodes = [n for n in ast.walk(self.parsed(filename)) if isinstance(n, ast.FunctionDef) and n.name == name]
        return next((found for node in nodes if (found := self.of_expression(node, filename))), "")


def _called(function: ast.expr) -> str:
    """Return the name of a function that is called; "" for one of special functions, such as `special.gamma`."""
    if isinstance(function, ast.Attribute):
        return "" if "special" in ast.unparse(function.value) else function.attr
    return function.id if isinstance(function, ast.Name) and function.id not in {"beta", "gamma"} else ""


def _of_variable(tree: ast.Module, name: str, line: int) -> Iterator[ast.expr]:
    """Yield what a module, or a function around a line, assigns to a variable, and the defaults of parameters."""
    functions = [n for n in ast.walk(tree) if isinstance(n, Function)]
    hidden = {id(n) for f in functions if not f.lineno <= line <= (f.end_lineno or 0) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_root(t) == name for target in targets for t in _parts(target)):
                yield node.value
        elif isinstance(node, ast.arguments):
            yield from _defaults(node, name)


def _of_attribute(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    """Yield what is assigned to an attribute of objects, in a class or a method, or given to a call by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (v for part in node.body for v in _assigned(part, name))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Attribute) and t.attr == name for target in targets for t in _parts(target)):
                yield node.value
        elif isinstance(node, ast.Call):
            yield from (k.value for k in node.keywords if k.arg == name)


def _assigned(node: ast.stmt, name: str) -> Iterator[ast.expr]:
    """Yield what a line of a class assigns to a name."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(t, ast.Name) and t.id == name for target in targets for t in _parts(target)):
            yield node.value


def _parts(target: ast.expr) -> list[ast.expr]:
    return [*target.elts] if isinstance(target, ast.Tuple | ast.List) else [target]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _defaults(arguments: ast.arguments, name: str) -> Iterator[ast.expr]:
    plain = [*arguments.posonlyargs, *arguments.args]
    given = [*zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    given += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    yield from (default for argument, default in given if argument.arg == name)


def _imported(tree: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """Yield the file of the module that a name is imported from, and its name there."""
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)):
        filename = _file_of(node.module or "")
        for alias in node.names:
            if (alias.asname or alias.name) == name and filename:
                yield filename, alias.name


def _module(tree: ast.Module, path: ast.expr) -> str:
    """Return the file of the user's module that an expression names; "" for another expression."""
    name = ast.unparse(path) if isinstance(path, ast.Name | ast.Attribute) else ""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom) or not name:
            continue
        within = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                return _file_of(within + alias.name)
    return ""


def _file_of(module: str) -> str:
    """Return the file of a module of the user's that is imported; "" for others."""
    filename = getattr(sys.modules.get(module), "__file__", None) or ""
    return "" if is_library(filename) else filename
