"""Index notation: `C[m, n] := A[m, k] * B[k, n]` to a nest.

A statement is an element, an operator and an expression. Loops are the letters in indices; those that the element on
the left does not have are summed over. An array is

    C[m, n] := A[m, k] * B[k, n]      made, as long as the indices on the left reach
    C[m, n]  = A[m, k] * B[k, n]      given, and overwritten where the indices on the left go
    C[m, n] += A[m, k] * B[k, n]      given, and added to; `-=` subtracts, `*=`, `max=`, `min=` combine likewise

and `(max) y[i] := x[i, j]`, with max, min, * or + before `:=` or `=`, combines by that instead of a sum. An array that
a statement before has made counts as given. `|> sqrt` is applied to what was combined, as is any expression with `_`:
`|> sqrt(_ / n)`. Statements stand on lines of their own or behind `;`, each with its own loops; `#` begins a comment.

Expressions are Python's: arithmetic, comparisons (as masks they are 0 and 1), `a if c else b`, functions by the names
that they have in NumPy and SciPy. A loop outside of an index is its number. An index is a sum of loops times whole
numbers (`x[2*i + a - 1]`), a number of an array (`A[rows[i], j]`), or bent into its axis: `mod(i + 1)`, `clamp(i - 1)`,
and `pad(i - 1, 0.0)`, which reads the fill outside. `$n` is an argument that is a whole number, `len(x)` and
`x.shape[1]` are lengths. Ranges are read from the axes (`ranges.py`), or told:
`y[i] := x[mod(i)], i in range(5), j in range(1, $n)`.

Arguments are in the order of their appearance, whole numbers last. Elements of an array that is made are 0 where no
turn of the loops goes.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn

from primsplit.frontends.loops.building import Building, is_one_to_one, loops_of
from primsplit.frontends.loops.expressions import Expressions, letters_of, names
from primsplit.frontends.loops.functions import REDUCTIONS
from primsplit.frontends.loops.loopset import Index, Linear, LoopSet, Reference
from primsplit.frontends.loops.ranges import Bounds, UntoldRange, Use, agrees_with_its_axes, infer, uses_of
from primsplit.ir.errors import ParseError
from primsplit.ir.parsing import parsed_text

OPERATOR = re.compile(r"(?P<how>(?<!\w)(?:max|min)|[-+*:])?=(?!=)")
PREFIX = re.compile(r"\s*\(\s*(?P<how>max|min|[+*])\s*\)")
INTEGER = re.compile(r"\$([^\W\d]\w*)")
OPENING, CLOSING = "([{", ")]}"


def parse_notation(text: str, *, functions: Iterable[str] = (), name: str = "") -> LoopSet:
    """The nest of one or more statements.

    `functions` are names of scalar functions beside those of `functions.FUNCTIONS`. Raises ParseError, which points at
    the place.
    """
    building = Building(name)
    building.integers.extend(dict.fromkeys(INTEGER.findall(re.sub(r"#[^\n]*", "", text))))
    lines = list(_lines(text))
    for line in lines:
        _Statement(building, line, frozenset(functions)).write()
    for integer in building.integers:
        building.argument(integer, 0)
    if not lines:
        raise ParseError("the notation of a nest has no statement", cure="Write one: C[m, n] := A[m, k] * B[k, n]")
    return building.finished()


class Line(NamedTuple):
    """A statement as it stands in the text, and the number of its line."""

    text: str
    number: int

    def at(self, column: int, what: str, cure: str = "") -> ParseError:
        """The error about what begins at a column."""
        return ParseError(f"line {self.number}: {what}", because=(self.text, " " * column + "^"), cure=cure)

    def error(self, node: ast.AST, what: str, cure: str = "") -> ParseError:
        """The error about an expression."""
        return self.at(getattr(node, "col_offset", 0), what, cure)


class Part(NamedTuple):
    """A piece of a line, and the column that it begins at."""

    text: str
    start: int

    def split(self, mark: str) -> list["Part"]:
        """The pieces between marks that no bracket holds."""
        pieces, depth, begin, at = [], 0, 0, 0
        while at < len(self.text):
            depth += (self.text[at] in OPENING) - (self.text[at] in CLOSING)
            found = depth == 0 and self.text.startswith(mark, at)
            if found:
                pieces.append(Part(self.text[begin:at], self.start + begin))
                begin = at + len(mark)
            at += len(mark) if found else 1
        return [*pieces, Part(self.text[begin:], self.start + begin)]

    def parsed(self, line: Line) -> ast.expr:
        """The expression, whose columns are those of the line."""
        if not self.text.strip():
            raise line.at(self.start, "an expression is missing")
        code = f"({self.text})"
        try:
            tree = parsed_text(code, mode="eval").body
        except SyntaxError as error:
            column = self.start + max((error.offset or 2) - 2, 0)
            raise line.at(min(column, len(line.text)), f"this cannot be read: {error.msg}") from None
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                letters = len(code.encode()[: node.col_offset].decode())
                node.col_offset = self.start + letters - 1
        return tree


def _lines(text: str) -> Iterator[Line]:
    """The statements; one with an open bracket goes on with the next line."""
    current, depth, number, first = "", 0, 1, 1
    for letter in re.sub(r"#[^\n]*", "", text) + "\n":
        depth += (letter in OPENING) - (letter in CLOSING)
        ends = letter == ";" or (letter == "\n" and depth <= 0)
        current += "" if ends else letter.replace("\n", " ")
        number += letter == "\n"
        if ends and current.strip():
            yield Line(current.strip(), first)
        if ends or not current.strip():
            current, first = "", number
    if current:
        raise Line(current.strip(), first).at(len(current.strip()), "a bracket is not closed")


class _Statement:
    """One statement that is read into `building`. `target` is the element on its left."""

    def __init__(self, building: Building, line: Line, functions: frozenset[str]) -> None:
        self.building = building
        self.line = line
        self.reader = Expressions(building, line, functions)
        left, self.operator, self.how, right = self._sides()
        expression, *ranges = right.split(",")
        first, *rest = expression.split("|>")
        self.target = left.parsed(line)
        self.expression = first.parsed(line)
        self.finalisers = [part.parsed(line) for part in rest]
        self.told = [part.parsed(line) for part in ranges]

    def _sides(self) -> tuple[Part, str, str, Part]:
        """The left side, the operator, the reduction by its function, and the right side."""
        text = INTEGER.sub(r" \1", self.line.text)
        prefix = PREFIX.match(text)
        start = prefix.end() if prefix else 0
        depth = 0
        for at in range(start, len(text)):
            depth += (text[at] in OPENING) - (text[at] in CLOSING)
            found = OPERATOR.match(text, at) if depth == 0 else None
            if found:
                how = found["how"] or ""
                if prefix and how not in {"", ":"}:
                    raise self.line.at(at, f"{found[0]} says how to combine, and so does {prefix[0].strip()}")
                spelled = prefix["how"] if prefix else "+" if how in {"", ":", "-"} else how
                right = Part(text[found.end() :], found.end())
                return Part(text[start:at], start), found[0], REDUCTIONS[spelled], right
        raise self.line.at(len(text), "a statement has an operator: =, :=, +=, -=, *=, max= or min=")

    def write(self) -> None:
        """Write the lines of the statement."""
        building, reader = self.building, self.reader
        building.lines.place = self.line.text
        array = self._bind()
        indices = self._indices()
        kept = building.lines.sorted(loops_of(Reference(array, indices)))
        adds = self.operator in {"+=", "-="}
        if not adds and not is_one_to_one(indices, kept):
            what = "several turns of the loops may write one element, and turns have no order"
            raise self.line.error(self.target, what, "Add to it with +=, or write each element once.")
        value = reader.value(self.expression)
        reduced = [loop for loop in reader.loops.values() if loop not in kept]
        start = reader.load_array(self.target, array, indices) if self.operator in {"*=", "max=", "min="} else None
        if self.operator == "-=":
            value = building.lines.compute("negative", value)
        value = building.lines.reduce(self.how, value, reduced, start)
        for finaliser in self.finalisers:
            value = self._finalised(finaliser, value, kept)
        building.store(array, indices, value, adds=adds, loops=kept)

    def _bind(self) -> str:
        """Find the loops, the arguments and the ranges of the statement; the array that it writes."""
        reader, array = self.reader, self._array()
        parts = [self.target, *self._read()]
        letters: dict[str, ast.Name] = {}
        for letter in (letter for part in parts for letter in _letters(part)):
            letters.setdefault(letter.id, letter)
        told = {}
        for node in self.told:
            match node:
                case ast.Compare(ast.Name() as name, [ast.In()], [ast.Call(ast.Name(id="range"), [_, *_] as ends)]):
                    letters.setdefault(name.id, name)
                    told[name.id] = ends
                case _:
                    raise self.line.error(node, "this is no range", "Write one like: , i in range(5)")
        loops = [letter for letter in letters if letter not in self.building.integers]
        reader.loops = {loop: loop for loop in loops}
        uses = self._uses(array)
        given = {loop: self._bounds(ends) for loop, ends in told.items()}
        try:
            found = infer(loops, uses, given)
        except UntoldRange as error:
            what = f"no axis tells the range of {error.loop}"
            cure = f"Tell it at the end of the statement: , {error.loop} in range(5)"
            raise self.line.error(letters[error.loop], what, cure) from None
        reader.loops = {
            user: self.building.loop(loop, shared=agrees_with_its_axes(loop, uses)) for user, loop in found.items()
        }
        return array

    def _read(self) -> list[ast.expr]:
        """The expressions that read arrays: a finaliser that is a function's name does not."""
        return [self.expression, *(node for node in self.finalisers if not isinstance(node, ast.Name))]

    def _array(self) -> str:
        """The array that the statement writes."""
        node = self.target.value if isinstance(self.target, ast.Subscript) else self.target
        if not isinstance(node, ast.Name):
            raise self.line.error(self.target, "what a statement writes is an array's element: C[m, n], or a scalar: t")
        if node.id in self.building.integers:
            raise self.line.error(node, f"{node.id} is a number, not an array")
        if self.operator == ":=" and self.building.exists(node.id):
            raise self.line.error(node, f"{node.id} exists already", "Overwrite its elements with =, or add with +=.")
        return node.id

    def _indices(self) -> tuple[Index, ...]:
        """The indices on the left."""
        if self.operator != ":=":
            return self.reader.element(self.target)[1]
        if not isinstance(self.target, ast.Subscript):
            return ()
        nodes = self.target.slice.elts if isinstance(self.target.slice, ast.Tuple) else [self.target.slice]
        for node in nodes:
            if isinstance(node, ast.Call | ast.Subscript):
                what = "an array that is made has an index that tells its length"
                raise self.line.error(node, what, "Give the array, and write to it with = or +=.")
        return tuple(self.reader.linear(node) for node in nodes)

    def _uses(self, array: str) -> list[Use]:
        """Return the indices of all axes, and note the arguments in the order of their appearance."""
        building, reader = self.building, self.reader
        indices = self._indices()
        made = self.operator == ":="
        lengths = (lambda _: None) if made else building.length
        uses = list(uses_of(Reference(array, indices), lengths, written=True))
        for node in (found for part in self._read() for found in names(part)):
            if isinstance(node, ast.Subscript):
                read, places = reader.element(node)
                uses += uses_of(Reference(read, places), building.length)
                if read == array and made:
                    self._refuse_unmade(node, array)
                if read == array and places != indices:
                    cure = "Write to another array; a recurrence is a cumulative sum (np.cumsum) or a scan (ps.scan)."
                    raise self.line.error(node, f"{array} is read at another element than is written", cure)
            elif node.id == array and made:
                self._refuse_unmade(node, array)
            elif not reader.is_number(node.id):
                reader.rank(node, node.id, 0)
        return uses

    def _refuse_unmade(self, node: ast.AST, array: str) -> NoReturn:
        raise self.line.error(node, f"{array} is made here, and read before", "Add to a given one with +=.")

    def _bounds(self, ends: list[ast.expr]) -> Bounds:
        """The range from one end or two."""
        linear = [self.reader.linear(end) for end in ends]
        for end, bound in zip(ends, linear, strict=True):
            if bound.symbols() & set(self.reader.loops):
                raise self.line.error(end, "a range may not depend on a loop", "Make it full, and mask: * (j <= i)")
        if len(linear) > 2:
            raise self.line.error(ends[2], "a range has no step", "Write the step in the index: x[2*i]")
        return Bounds(*linear) if len(linear) == 2 else Bounds(Linear(), linear[0])

    def _finalised(self, node: ast.expr, value: int, kept: tuple[str, ...]) -> int:
        """Apply a finaliser to the combined value."""
        if self.operator in {"+=", "-="}:
            cure = "Make it with := first, and add it in a statement of its own."
            raise self.line.error(node, f"a sum that {self.operator} adds has no finaliser", cure)
        found = self.reader.apply(node, value)
        if not set(self.building.lines.operations[found].loops) <= set(kept):
            raise self.line.error(node, "a finaliser has no loop that was combined")
        return found


def _letters(node: ast.AST) -> list[ast.Name]:
    """The names in indices that are neither arrays nor functions."""
    subscripts = [found for found in names(node) if isinstance(found, ast.Subscript)]
    return [letter for subscript in subscripts for letter in letters_of(subscript.slice)]
