"""Write the functions of a module of NumPy: `forward`, `pullback` and `value_and_grad`, or one for the whole file."""

import ast
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from primsplit.audit.sections import BACKWARD, FORWARD
from primsplit.audit.statements import Function, Statement, Statements
from primsplit.audit.suites import SuiteWriter, read_by
from primsplit.audit.trees import name, names_in, tuple_of
from primsplit.audit.written import Written
from primsplit.ir import Value, Var
from primsplit.ir.plain_text import in_one_line

WIDTH = 110
"""Signatures and types that are longer are broken over several lines."""


def function_texts(made: Statements, title: str) -> Iterator[str]:
    """Yield the texts of a file's functions; the main one has the title, or else is in two passes if it can be."""
    sections = [s.name for s in made.file.sections]
    if not title and sections == [FORWARD, BACKWARD]:
        yield from _Passes(made).texts()
    else:
        alone = title or ("forward" if set(sections) <= {FORWARD, ""} else "run")
        yield _whole(made.main, alone)
    for function in (*made.functions, *made.definitions):
        yield _whole(function, function.name)


def _whole(function: Function, title: str) -> str:
    """Return a block as one function."""
    body = SuiteWriter(function.file).statements(function.statements, 1)
    told = _types(function.file, function, function.params, function.block.results)
    return _text(title, function.params, told, [*body, *_return(function.results)])


class _Passes:
    """Writes a file with a forward and a backward pass: the second gets what it reads of the first as captures."""

    def __init__(self, made: Statements) -> None:
        self.file, self.main = made.file, made.main
        self.first = [s for s in self.main.statements if s.section == FORWARD]
        self.second = [s for s in self.main.statements if s.section == BACKWARD]
        assigned = _assigned(self.second)
        self.is_late = [bool(names_in(r) & assigned) for r in self.main.results]
        self.read = [self.reads(self.first, late=False), self.reads(self.second, late=True)]
        self.captured = [n for s in self.first for n in s.targets if n in self.read[1]]
        self.params = [p for p in self.main.params if p in self.read[0] or p not in self.read[1]]
        self.again = [p for p in self.main.params if p in self.read[1]]

    def reads(self, statements: Sequence[Statement], *, late: bool) -> set[str]:
        return read_by(statements) | {n for r in self.results(late=late) for n in names_in(r)}

    def results(self, *, late: bool) -> list[ast.expr]:
        return [r for r, is_late in zip(self.main.results, self.is_late, strict=True) if is_late is late]

    def types(self, params: Iterable[str], *, late: bool) -> str:
        values = [v for v, is_late in zip(self.main.block.results, self.is_late, strict=True) if is_late is late]
        return _types(self.file, self.main, params, values)

    def texts(self) -> Iterator[str]:
        """Yield `forward`, `pullback` and `value_and_grad`."""
        writer = SuiteWriter(self.file)
        captures = tuple_of(map(name, self.captured))
        told = f"{self.types(self.params, late=False)}, captures"
        returned = [*map(ast.unparse, self.results(late=False)), ast.unparse(captures)]
        lines = [*writer.statements(self.first, 1), *_listed("    return ", returned, "")]
        yield _text("forward", self.params, told, lines)
        told = self.types(self.again, late=True)
        unpacked = _listed("    ", self.captured, " = captures") if self.captured else ()
        lines = [*unpacked, *writer.statements(self.second, 1), *_return(self.results(late=True))]
        yield _text("pullback", ["captures", *self.again], told, lines)
        yield _text("value_and_grad", self.main.params, "", self.both())

    def both(self) -> Iterator[str]:
        """Yield the lines of `value_and_grad`: the results of both passes, in the order of the file."""
        outputs = [f"output_{i}" for i in range(len(self.main.results))]
        outputs = [r.id if isinstance(r, ast.Name) else o for r, o in zip(self.main.results, outputs, strict=True)]
        sides = [
            [o for o, late in zip(outputs, self.is_late, strict=True) if late is wanted] for wanted in (False, True)
        ]
        yield from _broken(f"    {', '.join([*sides[0], 'captures'])} = forward(", self.params, ")")
        yield from _broken(f"    {', '.join(sides[1])} = pullback(", ["captures", *self.again], ")")
        yield from _listed("    return ", outputs, "")


def _assigned(statements: Iterable[Statement]) -> set[str]:
    return {n for s in statements for n in s.targets}


def _listed(head: str, items: Sequence[str], tail: str) -> Iterator[str]:
    """Yield `head item, item tail`, in parentheses where there is one item, or where they take several lines."""
    whole = f"{head}{', '.join(items)}{tail}"
    if len(items) > 1 and len(whole) <= WIDTH:
        yield whole
    else:
        yield from _broken(f"{head}(", items, f",){tail}" if len(items) == 1 else f"){tail}")


def _text(title: str, params: Sequence[str], told: str, body: Iterable[str]) -> str:
    """Return a function with the types of its arguments and results as its docstring."""
    lines = ['@np.errstate(all="ignore")', *_broken(f"def {title}(", params, "):")]
    if told:
        lines.append(docstring([told] if len(told) < WIDTH else ["Arguments and results:", "", told], 1))
    return "\n".join([*lines, *body])


def _broken(head: str, items: Sequence[str], tail: str) -> Iterator[str]:
    """Yield `head item, item tail` on one line, or on several if it is long."""
    whole = f"{head}{', '.join(items)}{tail}"
    if len(whole) <= WIDTH:
        yield whole
        return
    indent = " " * (len(head) - len(head.lstrip()))
    yield head
    row = ""
    for item in items:  # an item stays whole, however long it is
        if row and len(indent) + len(row) + len(item) + 6 > WIDTH:
            yield f"{indent}    {row}"
            row = ""
        row = f"{row} {item}," if row else f"{item},"
    if row:
        yield f"{indent}    {row}"
    yield f"{indent}{tail.removeprefix(',')}"


def docstring(paragraphs: Sequence[str], depth: int) -> str:
    """Return the lines of a docstring: texts from files in it break no line and end no string."""
    indent = "    " * depth
    plain = [in_one_line(text).replace("\\", "/").replace('"', "'") for text in paragraphs]
    if len(plain) == 1:
        return f'{indent}"""{plain[0]}"""'
    lines = [textwrap.fill(t, WIDTH, initial_indent=indent, subsequent_indent=indent) for t in plain[1:]]
    return "\n".join([f'{indent}"""{plain[0]}', *lines, f'{indent}"""'])


def _return(results: Sequence[ast.expr]) -> Iterator[str]:
    """Yield the statement that returns one result, or several as a tuple."""
    if len(results) == 1:
        yield f"    return {ast.unparse(results[0])}"
        return
    yield from _listed("    return ", [*map(ast.unparse, results)], "") if results else ["    return ()"]


def _types(file: Written, function: Function, params: Iterable[str], results: Iterable[Value]) -> str:
    """Return `w float32[5,4], x float32[N,5] -> y float32`; "" where the file tells no type."""
    told = {name: file.told.get(v, "") for v, name in function.names.items() if isinstance(v, Var)}
    if not any(told[p] for p in function.params) and function.params:
        return ""
    given = ", ".join(f"{p} {told.get(p, '')}".strip() for p in params)
    made = [_typed(file, function, value) for value in results]
    return f"{given} -> {', '.join(made)}".strip()


def _typed(file: Written, function: Function, value: Value) -> str:
    if not isinstance(value, Var) or value not in function.names:
        return str(value.type)
    return f"{function.names[value]} {file.told.get(value, '')}".strip()
