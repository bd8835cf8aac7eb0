"""Write files as a module of NumPy: the statements of a file as functions that run, with nothing of primsplit.

```
y = Tanh(x); d_x = Mul(d_y, Sub(1, Mul(y, y)))   ->   def forward(x): ...           return y, (y,)
                                                      def pullback(captures, d_y):  return d_x
                                                      def value_and_grad(x, d_y):   return y, d_x
```

A file with one pass has `forward` alone. One whose passes alternate, or that has tangents, has `run`. Of a pair of
files each is one function. Constants of more than 64 elements are in an .npz beside the module.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from primsplit.audit.helpers.source import helper_source, needed
from primsplit.audit.numpy_folding import folded
from primsplit.audit.numpy_functions import docstring, function_texts
from primsplit.audit.sections import BACKWARD, TANGENT
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Statements
from primsplit.audit.trees import names_in
from primsplit.audit.written import Written
from primsplit.ir import AnyArray
from primsplit.ir.parsing import parsed_text
from primsplit.programs.python_text import array_source

TAKEN = frozenset({
    "Path", "allow_pickle", "captures", "constants", "file", "forward", "pullback", "pushforward", "run",
    "value_and_grad",
})  # fmt: skip
"""Names that no variable gets: those of the module itself, and of parameters of `np.savez`."""
MOST_SHOWN = 64
"""The most elements of an array that the text of a module holds."""
SECOND = {BACKWARD: "pullback", TANGENT: "pushforward"}
"""The function of the second of two files by its section."""


@dataclass(frozen=True, slots=True)
class Module:
    """The text of a module, and the arrays that it loads from its .npz, by name."""

    text: str
    arrays: Mapping[str, AnyArray]


def to_numpy(files: Sequence[Written]) -> Module:
    """Return files as a module. Raises PrimsplitError for an operator or a dtype that NumPy does not have."""
    made = _statements(files)
    titles = [_title(file) for file in files] if len(files) > 1 else [""]
    functions = [text for one, title in zip(made, titles, strict=True) for text in function_texts(one, title)]
    constants = {name: const.numpy() for one in made for name, const in one.constants.items()}
    arrays = {name: array for name, array in constants.items() if array.size > MOST_SHOWN}
    used = {n for text in functions for n in names_in(parsed_text(text))}
    helpers = [helper_source(name) for name in needed(used)]
    used.update(n for text in helpers for n in names_in(parsed_text(text)))
    head = "\n".join([*_head(files, used, has_arrays=bool(arrays)), *_constants(constants, arrays)])
    return Module("\n\n\n".join([head, *functions, *helpers]) + "\n", arrays)


def _statements(files: Sequence[Written]) -> list[Statements]:
    """Return the statements of files, whose constants have names of their own in one module."""
    taken = {*TAKEN}
    made: list[Statements] = []
    for file in files:
        made.append(folded(statements_of(file, taken)))
        taken.update(made[-1].constants, (f.name for f in made[-1].functions))
    return made


def _title(file: Written) -> str:
    """Return the name of the function of one of two files."""
    return next((SECOND[s.name] for s in file.sections if s.name in SECOND), "forward")


def _head(files: Sequence[Written], used: set[str], *, has_arrays: bool) -> Iterator[str]:
    """Yield the docstring and the imports."""
    names = " and ".join(os.path.basename(f.path) for f in files)
    digests = [f"{os.path.basename(f.path)} has the sha256 {f.digest}" for f in files]
    yield docstring([f"{files[0].block.name}: the nodes of {names} as statements of NumPy 2.", "", *digests], 0)
    yield ""
    if has_arrays:
        yield "from pathlib import Path"
        yield ""
    yield "import numpy as np"
    if "special" in used:
        yield "from scipy import special"


def _constants(constants: Mapping[str, AnyArray], loaded: Mapping[str, AnyArray]) -> Iterator[str]:
    """Yield the lines that define the constants."""
    if constants:
        yield ""
    if loaded:
        yield "# primsplit audit --style numpy --output FILE.py writes the arrays beside the module."
        yield 'constants = np.load(Path(__file__).with_suffix(".npz"))'
    for name, array in constants.items():
        yield f'{name} = constants["{name}"]' if name in loaded else f"{name} = {array_source(array)}"
