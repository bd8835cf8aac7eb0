"""Write files as a module of NumPy: the statements of a file as functions that run, with nothing of primsplit.

```
y = Tanh(x); d_x = Mul(d_y, Sub(1, Mul(y, y)))   ->   def forward(x): ...           return y, (y,)
                                                      def pullback(captures, d_y):  return d_x
                                                      def value_and_grad(x, d_y):   return y, d_x
```

A file with one pass has `forward` alone. One whose passes alternate, or that has tangents, has `run`. Of a pair of
files each is one function. Constants of more than 64 elements are in an .npz beside the module.
"""

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from primsplit.audit.helpers.source import helper_source, needed
from primsplit.audit.sections import BACKWARD, FORWARD, TANGENT
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Function, Statements
from primsplit.audit.suites import SuiteWriter, read_by
from primsplit.audit.trees import name, names_in, tuple_of
from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Value, Var
from primsplit.ir.plain_text import in_one_line
from primsplit.programs.python_text import array_source

TAKEN = (
    "captures",
    "constants",
    "forward",
    "pullback",
    "pushforward",
    "run",
    "value_and_grad",
    "Path",
    "file",
    "allow_pickle",
)
"""Names that no variable gets: those of the module itself, and of parameters of `np.savez`."""


SECOND = {BACKWARD: "pullback", TANGENT: "pushforward"}
"""The function of the second of two files by its section."""


@dataclass(frozen=True, slots=True)
class Module:
    """The text of a module, and the arrays that it loads from its .npz, by name."""

    text: str
    arrays: Mapping[str, AnyArray]


def to_numpy(files: Sequence[Written]) -> Module:
    """Return files as a module. Raises PrimsplitError for an operator or a dtype that NumPy does not have."""
    taken = {*TAKEN}
    made: list[Statements] = []
    for file in files:
        made.append(statements_of(file, taken))
        taken.update(made[-1].constants)
    names = [SECOND.get(file.sections[0].name, "forward") for file in files] if len(files) > 1 else [""]
    functions = [text for one, name in zip(made, names, strict=True) for text in _functions(one, name)]
    constants = {name: const.numpy() for one in made for name, const in one.constants.items()}
    arrays = {name: array for name, array in constants.items() if array.size > MOST_SHOWN}
    used = {n for text in functions for n in names_in(ast.parse(text))}
    helpers = [helper_source(name) for name in needed(used)]
    held = [_constant(name, array, name in arrays) for name, array in constants.items()]
    text = "\n\n\n".join(
        ["\n".join([*_head(files, {*used, *_names(helpers)}, has_arrays=bool(arrays)), *held]), *functions, *helpers]
    )
    return Module(text + "\n", arrays)


MOST_SHOWN = 64
"""The most elements of an array that the text of a module holds."""


def _names(texts: Iterable[str]) -> set[str]:
    return {n for text in texts for n in names_in(ast.parse(text))}


def _head(files: Sequence[Written], used: set[str], *, has_arrays: bool) -> Iterator[str]:
    """Yield the docstring and the imports."""
    told = ", ".join(f"{os.path.basename(f.path)} (sha256 {f.digest})" for f in files)
    yield _docstring(f"{files[0].block.name}: each node of {told} as a statement of NumPy.")
    yield ""
    if has_arrays:
        yield "from pathlib import Path"
        yield ""
    yield "import numpy as np"
    if "special" in used:
        yield "from scipy import special"
    if has_arrays:
        yield ""
        yield "# primsplit audit --style numpy --output FILE.py writes the arrays beside the module."
        yield 'constants = np.load(Path(__file__).with_suffix(".npz"))'


def _docstring(text: str) -> str:
    plain = in_one_line(text)
    return repr(plain) if '"' in plain or "\\" in plain else f'"""{plain}"""'


def _constant(name: str, array: AnyArray, is_loaded: bool) -> str:
    return f"{name} = constants[{name!r}]" if is_loaded else f"{name} = {array_source(array)}"


def _functions(made: Statements, title: str) -> Iterator[str]:
    """Yield the texts of a file's functions."""
    sections = [s.name for s in made.file.sections]
    if not title and sections == [FORWARD, BACKWARD]:
        yield from _two_passes(made)
    else:
        alone = title or ("forward" if set(sections) <= {FORWARD, ""} else "run")
        yield _whole(made, made.main, alone)
    for function in made.functions:
        yield _whole(made, function, function.name)


def _whole(made: Statements, function: Function, title: str) -> str:
    """Return a block as one function."""
    writer = SuiteWriter(made.file)
    body = writer.statements(function.statements, 1)
    return _function(title, function.params, _types(made.file, function), [*body, _return(function.results)])


def _function(title: str, params: Sequence[str], doc: str, body: Iterable[str]) -> str:
    head = [
        '@np.errstate(all="ignore")',
        f"def {title}({', '.join(params)}):",
        *([f"    {_docstring(doc)}"] if doc else []),
    ]
    return "\n".join([*head, *body])


def _return(results: Sequence[ast.expr]) -> str:
    value = results[0] if len(results) == 1 else tuple_of(results)
    text = ast.unparse(value)
    return f"    return {text[1:-1] if len(results) > 1 else text}"


def _types(
    file: Written, function: Function, params: Iterable[str] | None = None, results: Iterable[Value] | None = None
) -> str:
    """Return `w float32[5,4], x float32[N,5] -> y float32`."""
    told = {function.names[v]: file.told.get(v, "") for v in function.names if isinstance(v, Var)}
    given = ", ".join(f"{p} {told.get(p, '')}".strip() for p in (function.params if params is None else params))
    outputs = function.block.results if results is None else results
    made = (
        f"{function.names[v]} {file.told.get(v, '')}".strip() if isinstance(v, Var) else str(v.type) for v in outputs
    )
    return f"{given} -> {', '.join(made)}"


def _two_passes(made: Statements) -> Iterator[str]:
    """Yield `forward`, `pullback` and `value_and_grad`."""
    main, file = made.main, made.file
    first = [s for s in main.statements if s.section == FORWARD]
    second = [s for s in main.statements if s.section == BACKWARD]
    assigned = {n for s in second for n in s.targets}
    is_late = [bool(names_in(r) & assigned) for r in main.results]
    early = [r for r, late in zip(main.results, is_late, strict=True) if not late]
    late = [r for r, late in zip(main.results, is_late, strict=True) if late]
    read = [
        read_by(first) | {n for r in early for n in names_in(r)},
        read_by(second) | {n for r in late for n in names_in(r)},
    ]
    captured = [n for s in first for n in s.targets if n in read[1]]
    params = [p for p in main.params if p in read[0] or p not in read[1]]
    again = [p for p in main.params if p in read[1]]
    writer = SuiteWriter(file)
    captures = tuple_of(map(name, captured))
    results = dict(zip(main.block.results, is_late, strict=True))
    told = [[v for v, late in results.items() if late is wanted] for wanted in (False, True)]
    unpacked = [f"    {_targets(captured)} = captures"] if captured else []
    yield _function(
        "forward",
        params,
        _types(file, main, params, told[0]) + ", captures",
        [*writer.statements(first, 1), _return([*early, captures])],
    )
    yield _function(
        "pullback",
        ["captures", *again],
        _types(file, main, again, told[1]),
        [*unpacked, *writer.statements(second, 1), _return(late)],
    )
    outputs = [f"output_{i}" if not isinstance(r, ast.Name) else r.id for i, r in enumerate(main.results)]
    first_out = [o for o, late in zip(outputs, is_late, strict=True) if not late]
    second_out = [o for o, late in zip(outputs, is_late, strict=True) if late]
    body = [
        f"    {', '.join([*first_out, 'captures'])} = forward({', '.join(params)})",
        f"    {', '.join(second_out)} = pullback({', '.join(['captures', *again])})",
        f"    return {', '.join(outputs)}",
    ]
    yield _function("value_and_grad", main.params, "", body)


def _targets(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) != 1 else f"({names[0]},)"
