"""Write docs/conversion.md from the rows in tools/conversion and the tables of the converter.

    python -m tools.conversion_page            write the page
    python -m tools.conversion_page --check    exit 1 when the written page is not what the rows say

`tests/docs/test_conversion.py` tries each row: what is served gives what Python gives, and its derivative; what is
refused begins with the words on the page.
"""

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from primsplit.frontends.python.converter.transformer import BINARY, COMPARISONS, UNARY
from primsplit.frontends.python.overrides.builtin import BUILTINS
from primsplit.frontends.python.overrides.number_types import CALLED
from tools.conversion import SECTIONS
from tools.conversion.rows import Row, Section
from tools.conversion.starting import COMMANDS, PROGRAM, Command

PAGE = Path(__file__).parents[1] / "docs" / "conversion.md"
HEAD = """# What is converted, and what is refused

<!-- Written by `python -m tools.conversion_page` from tools/conversion and the converter's tables: change those. -->

A function that cannot be recorded as it is, is traced as a converted copy. `ps.converted_source(f)` shows the copy:

```python
import numpy as np
import primsplit as ps

table = np.array([1.0, 3.0])


def f(x):
    return table[int(x > 0)] * x


assert "_ps.indexed(table)" in ps.converted_source(f)
assert [float(ps.grad(f)(x)) for x in (-0.5, 0.5)] == [1.0, 3.0]
```

Each row below is a function. It is traced once and run on both sides of its branches. "Served" says that it gives what
Python gives, and the derivative; "2 Ifs", how many the program has, one after the other. Of what is refused, the first
words of the error are given. [Branches and loops](control_flow.md) says how to write what is refused,
[What differs](differences.md) what is different where it is served.
"""
TABLES = """
## Tables of the converter

Copies ask for these operators of Python:

{operators}

These functions of Python have substitutes, which numbers of the run may be given to: {builtins}. So have these classes
and functions of NumPy where they are called: {called}. `primsplit rules NAME` tells the same of functions of NumPy and
SciPy.
"""


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the written page instead of writing it")
    asked = parser.parse_args(arguments)
    text = render(SECTIONS)
    if asked.check:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


def render(sections: Iterable[Section]) -> str:
    """The text of the page."""
    return "".join([HEAD, *map(part, sections), commands(), tables()])


def part(section: Section) -> str:
    """A section: its table, and the examples behind it."""
    rows = [(row.construct, f"`{row.example.__name__}`", outcome(row)) for row in section.rows]
    outcomes = table(("construct", "example", "outcome"), rows)
    module = inspect.getmodule(section.rows[0].example)
    assert module is not None
    examples = f"\n<details>\n<summary>The examples</summary>\n\n```python\n{examples_of(module)}\n```\n\n</details>\n"
    return f"\n## {section.title}\n\n{wrapped(section.says)}\n\n{outcomes}{examples}"


def outcome(row: Row) -> str:
    """Return the result of tracing a row's example, in words."""
    if row.refused:
        return f"refused: {row.refused}"
    ifs = f", {row.ifs} If{'s' if row.ifs > 1 else ''}" if row.ifs else ""
    warns = f", with a {row.warns}" if row.warns else ""
    return f"served{ifs}{warns}{'; its run fails: ' if row.fails else ''}{row.fails}"


def commands() -> str:
    """The section of ways to start a program."""
    rows = [(way.construct, started(way)) for way in COMMANDS]
    says = "A program is converted where its text can be read."
    return f"\n## How a program is started\n\n{says}\n\n{table(('way', 'outcome'), rows)}\n```python{PROGRAM}```\n"


def wrapped(text: str) -> str:
    """A paragraph in lines of at most 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def started(way: Command) -> str:
    """Return the result of the program, started in this way, in words."""
    return f"refused: {way.refused}" if way.refused else "served"


def tables() -> str:
    """The section of the converter's own tables."""
    rows = [(f"`{python}`", f"`_ps.{name}`") for python, name in operators()]
    called = (f"`np.{kind.__name__}`" for kind in CALLED)
    builtins = ", ".join(f"`{name}`" for name in BUILTINS)
    made = TABLES.format(operators=table(("Python", "copy"), rows).strip(), builtins=builtins, called=", ".join(called))
    return "\n" + "\n\n".join(block if "|" in block else wrapped(block) for block in made.strip().split("\n\n")) + "\n"


def operators() -> list[tuple[str, str]]:
    """Return Python's spelling of each operator that copies call, and its name there."""
    a, b = ast.Name("a"), ast.Name("b")
    found: list[tuple[ast.expr, str]] = [(ast.BinOp(a, kind(), b), name) for kind, name in BINARY.items()]
    found += [(ast.UnaryOp(kind(), a), name) for kind, name in UNARY.items()]
    found += [(ast.Compare(a, [kind()], [b]), name) for kind, name in COMPARISONS.items()]
    return [(ast.unparse(node), name) for node, name in found]


def examples_of(module: ModuleType) -> str:
    """The examples of a module as users write them: without the rows, annotations and what is imported for both.

    >>> from tools.conversion import loops
    >>> "Any" in examples_of(loops) or "Row(" in examples_of(loops)
    False
    """
    source = inspect.getsource(module)
    lines, tree = source.splitlines(), ast.parse(source)
    written = dict(enumerate(lines, 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _write_header(written, node)
        if not isinstance(node, ast.ClassDef):
            _write_names(written, ast.iter_child_nodes(node))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    for statement in (*imports, *filter(_is_ours, tree.body)):
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
            del written[line]
    text = "\n".join(written.values())
    for found in imports:
        if names := [n for n in found.names if re.search(rf"\b{n.name}\b", text) and _is_of_users(found)]:
            written[found.lineno] = ast.unparse(ast.ImportFrom(found.module, names, 0))
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(written[line] for line in sorted(written))).strip()


def _write_header(written: dict[int, str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Write a function's first line without annotations."""
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    before, _, _ = written[node.lineno].partition("def ")
    written[node.lineno] = f"{before}def {node.name}({ast.unparse(node.args)}):"


def _write_names(written: dict[int, str], statements: Iterable[ast.AST]) -> None:
    """Write statements that give names values without annotations."""
    for node in statements:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            line = written[node.lineno]
            written[node.lineno] = f"{line[: node.target.end_col_offset]} = {line[node.value.col_offset :]}"


def _is_of_users(node: ast.ImportFrom) -> bool:
    return not str(node.module).startswith("tools.")


def _is_ours(node: ast.stmt) -> bool:
    """Whether a statement is the docstring or the section."""
    is_section = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and "Row(" in ast.unparse(node)
    return is_section or isinstance(node, ast.Expr)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
