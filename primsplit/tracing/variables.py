"""Name values after the user's variables: those that the result of an instruction is assigned to.

`h = x @ w + b` records MatMul(x, w), which has no name, and Add, whose result is called `h`. What a function returns
is called as its caller calls it: with `return x / total` in `norm`, `p = norm(x)` calls the quotient `p`.
"""

import dis
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import CodeType

from primsplit.ir import Op, Value, Var
from primsplit.ir.errors import Place


def assigned(code: CodeType, index: int) -> tuple[str, ...]:
    """Return the variables that take the result of the instruction at byte `index`: several if it is unpacked.

    Empty if the result is used first: `x @ w` in `h = x @ w + b`, an argument, an element of a container.
    """
    instructions = _instructions(code, index + 2)
    name, argument = next(instructions, ("", 0))
    if name == "COPY":  # of `a = b = f(x)` and `(a := f(x))`
        name, argument = next(instructions, ("", 0))
    if name != "UNPACK_SEQUENCE":
        return tuple(_stored(code, name, argument)[:1])
    names: list[str] = []
    while len(names) < argument and (stored := _stored(code, *next(instructions, ("", 0)))):
        names += stored
    return tuple(names) if len(names) == argument else ()


CALL_BACK = frozenset({"accumulate", "filter", "list", "map", "max", "min", "next", "reduce", "sorted", "sum", "tuple"})
"""Functions without a frame of their own: their results are not those of the functions that they call."""


def is_returned(code: CodeType, index: int) -> bool:
    """Whether a function returns the result of the instruction at byte `index`."""
    return next(_instructions(code, index + 2), ("", 0))[0] == "RETURN_VALUE"


def called_name(code: CodeType, index: int) -> str:
    """Return the name of the function that the instruction at byte `index` calls, `tanh` of `np.tanh(x)`; else ""."""
    before = [i for i in dis.get_instructions(code) if i.offset <= index]
    called = _columns(before[-1]) if before else None
    if called is None:
        return ""
    name = ""
    for instruction in before[:-1]:
        own = _columns(instruction)
        if instruction.opname.startswith("LOAD_") and own is not None and own[:2] == called[:2] and own[2] < called[2]:
            name = str(instruction.argval)
    return name


def _columns(instruction: dis.Instruction) -> tuple[int, int, int] | None:
    """Return the line, the first and the last column of an instruction's expression, where Python kept them."""
    found = instruction.positions
    if found is None or found.lineno is None or found.col_offset is None or found.end_col_offset is None:
        return None
    return found.lineno, found.col_offset, found.end_col_offset


def _instructions(code: CodeType, start: int) -> Iterator[tuple[str, int]]:
    """Yield the instructions from a byte on, with their arguments, without the interpreter's inline caches."""
    extended = 0
    for at in range(start, len(code.co_code), 2):
        name, argument = dis.opname[code.co_code[at]], code.co_code[at + 1] | extended
        if name == "EXTENDED_ARG":
            extended = argument << 8
        elif name != "CACHE":
            extended = 0
            yield name, argument


def _stored(code: CodeType, name: str, argument: int) -> Sequence[str]:
    """Return the variables that an instruction stores into, in order."""
    if name in {"STORE_NAME", "STORE_GLOBAL"}:
        return (code.co_names[argument],)
    slots = (*code.co_varnames, *(c for c in code.co_cellvars if c not in code.co_varnames), *code.co_freevars)
    match name:
        case "STORE_FAST" | "STORE_DEREF":
            return (slots[argument],)
        case "STORE_FAST_LOAD_FAST":
            return (slots[argument >> 4],)
        case "STORE_FAST_STORE_FAST":
            return slots[argument >> 4], slots[argument & 15]
    return ()


class Variables:
    """Hints for the Vars of one trace: the user's variables that hold them, each made unique by a number."""

    def __init__(self) -> None:
        self.uses: dict[str, int] = {}
        self.place: Place | None = None
        self.hints: tuple[str, ...] = ()
        self.named: Sequence[Var] = ()
        self.numbers: dict[Hashable, int] = {}

    def number(self, value: Hashable) -> int:
        """Return a number that no other value of the trace has, so that its text is unique."""
        return self.numbers.setdefault(value, len(self.numbers))

    def take(self, stem: str) -> str:
        """Return the name, with a number added if it was used before."""
        while True:
            count = self.uses.get(stem, 0)
            self.uses[stem] = count + 1
            if not count:
                return stem
            if (name := f"{stem}_{count}") not in self.uses:
                self.uses[name] = 1
                return name

    def name(self, made: Sequence[Var], place: Place | None) -> None:
        """Name the outputs of one op after the variables that its place is assigned to.

        If one expression records several ops, the last has its value: the names move on from the op before.
        """
        if place is not self.place:
            variables = () if place is None or "_" in place.variables else place.variables
            self.place, self.hints, self.named = place, tuple(map(self.take, variables)), ()
        if len(self.hints) != len(made):
            return
        for var in self.named:
            var.hint = ""
        self.named = made
        for var, hint in zip(made, self.hints, strict=True):
            var.hint = hint


def name_after(found: Mapping[Var, Value], ops: Iterable[Op], prefix: str) -> None:
    """Name what these ops compute for a value by its hint with a prefix: `d_h` is the cotangent of `h`."""
    made = {v for op in ops for v in op.outputs}
    for var, value in found.items():
        if var.hint and isinstance(value, Var) and value in made and not value.hint:
            value.hint = f"{prefix}{var.hint}"
