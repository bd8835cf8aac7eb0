"""Find the single numbers that went into a program and that stand in no line of it as they are.

```
level = float(rng.normal())
return level * x            level   draw       -0.0012
return 2 * np.pi * x                computed   6.283
```

An array is known by its variable when it is recorded. A number is not: its variable is looked for in the user's text.
"""

import ast
import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from primsplit.audit.frozen import Frozen, frozen_value, literal_values, parsed
from primsplit.audit.origins import URGENT, Origin, calls_behind, drawn_or_read
from primsplit.ir import Const, Op, is_call, walk
from primsplit.ir.errors import Place
from primsplit.ops.traits import traits
from primsplit.programs.program import Program

PULLBACK = "pullback of "
"""The start of the remark of an op of a derivative, whose numbers are a rule's."""
OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
Function = ast.FunctionDef | ast.Lambda
NAMED = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf}
"""The numbers that NumPy and Python's math have names for."""


def computed_numbers(program: Program, known: Sequence[Frozen]) -> list[Frozen]:
    """Return the numbers and short arrays of a program that are neither literals nor those of values in `known`.

    A number of one line is listed once. What comes of a random draw is first.
    """
    held = {(f.place.filename, number) for f in known if f.place for number in f.numbers[1:]}
    held |= {(f.place.filename, f.numbers) for f in known if f.place}
    told = {(f.place.filename, f.place.line, f.numbers) for f in literal_values(program) if f.place}
    new: dict[object, tuple[Place, Const]] = {}
    for const, op in _numbers(program):
        assert op.place is not None
        place = op.place.whole_line
        numbers = frozen_value("", const.numpy(), place, "").numbers
        key = (place.filename, place.line, numbers)
        if key not in told and (place.filename, numbers if const.type.rank else numbers[1]) not in held:
            new.setdefault(key, (place, const))
    names = {f.name for f in known}
    found: list[Frozen] = []
    for place, each in groupby(sorted(new.values(), key=lambda pair: pair[0][:2]), key=lambda pair: pair[0]):
        found += _of_line(place, [const for _, const in each], program.block.name, names)
    return sorted(found, key=lambda f: f.origin not in URGENT)


def _of_line(place: Place, numbers: Sequence[Const], function: str, known: set[str]) -> Iterator[Frozen]:
    """Yield the numbers of a line: those that the line spells out by their text, others by the variable they are."""
    around = [n for n in ast.walk(parsed(place.filename)) if isinstance(n, Function) and _holds(n, place.line)]
    own = [n for f in around[-1:] for n in ast.walk(f) if getattr(n, "lineno", None) == place.line]
    spelled = {value: ast.unparse(n) for n in reversed(own) if (value := _computed(n)) is not None}
    texts = [None if c.type.rank else spelled.get(float(c.numpy())) for c in numbers]
    name, origin = _variable(around, own, place.line, function, known)
    written = _written(around[-1:])
    for const, text in zip(numbers, texts, strict=True):
        shown: tuple[str, Origin] = ("", origin) if text is None else (text, "computed")
        if text is None and texts.count(None) == 1 and name:
            shown = (name, origin)
        elif text is None and not const.type.rank and float(const.numpy()) in written:
            shown = (written[float(const.numpy())], "literal")
        elif text is None:
            shown = (_loop_variable(around[-1:], own), origin)
        yield frozen_value(shown[0], const.numpy(), place, shown[1])


def _written(functions: Sequence[Function]) -> dict[float, str]:
    """Return the numbers that stand in the text of functions, such as those of a tuple that a loop goes through."""
    nodes = [n for f in functions for n in ast.walk(f) if isinstance(n, ast.Constant) and type(n.value) in {int, float}]
    return {float(n.value): ast.unparse(n) for n in nodes if isinstance(n.value, int | float)}


def _loop_variable(functions: Sequence[Function], own: Sequence[ast.AST]) -> str:
    """Return the only variable of a loop of Python's that a line reads; "" where there are others."""
    loops = [n.target for f in functions for n in ast.walk(f) if isinstance(n, ast.For | ast.comprehension)]
    targets = {n.id for target in loops for n in ast.walk(target) if isinstance(n, ast.Name)}
    read = {n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} & targets
    return read.pop() if len(read) == 1 else ""


def _computed(node: ast.AST) -> float | None:
    """Return the number of an expression of numbers alone; None for another one."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Attribute(value=ast.Name(id="np" | "numpy" | "math"), attr=name):
            return NAMED.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner) if (value := _computed(inner)) is not None:
            return -value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            a, b = _computed(left), _computed(right)
            is_known = a is not None and b is not None and not (isinstance(op, ast.Div) and b == 0)
            return OPERATORS[type(op)](a, b) if is_known and a is not None and b is not None else None
    return None


def _numbers(program: Program) -> Iterator[tuple[Const, Op]]:
    """Yield the numbers that elementwise operators of the user's lines read, and short arrays without a place."""
    inside = {id(op) for call in walk(program.block) if is_call(call) for body in call.blocks() for op in walk(body)}
    for op in walk(program.block):
        if id(op) in inside or op.place is None or not os.path.isfile(op.place.filename):
            continue
        if not op.remark.startswith(PULLBACK):
            yield from ((v, op) for v in op.inputs if isinstance(v, Const) and _is_wanted(v, op))


def _is_wanted(const: Const, op: Op) -> bool:
    """Whether a constant is a number of arithmetic, or a short array without a place that is no index."""
    if const.type.rank == 0:
        return const.type.is_float and traits(op.kind).elementwise
    return const.place is None and const.is_short and const.type.dtype.kind not in "iu"


def _variable(
    around: Sequence[Function], own: Sequence[ast.AST], line: int, function: str, known: set[str]
) -> tuple[str, Origin]:
    """Return the variable that a line reads, if only one can hold a number, and where it comes from.

    What comes of a draw or a file is told though others are read too. Variables in `known` are told elsewhere. The
    parameters of functions around the one that was traced may hold numbers.
    """
    names = [getattr(f, "name", "") for f in around]
    traced = around[names.index(function) :] if function in names else around
    parameters = {a.arg for f in traced for a in ast.walk(f.args) if isinstance(a, ast.arg)}
    nodes = [n for f in around[:1] for n in ast.walk(f)]
    read = dict.fromkeys(n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    behind = {name: calls_behind(nodes, name, line, parameters) for name in read if name not in known}
    origins = {name: drawn_or_read(calls) for name, calls in behind.items() if calls is not None}
    for name, origin in origins.items():
        if origin != "computed":
            return name, origin
    direct = {getattr(n.func, "attr", getattr(n.func, "id", "")) for n in own if isinstance(n, ast.Call)}
    origin = drawn_or_read(direct)
    return ("" if origin != "computed" or len(origins) != 1 else next(iter(origins))), origin


def _holds(function: Function, line: int) -> bool:
    return function.lineno <= line <= (function.end_lineno or 0)
