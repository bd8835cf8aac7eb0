"""Name the values of a listing: by the user's variables, else by the operator and its operand.

```
params.w1 -> w1      d_params.w1 -> d_w1      sub = z - max(z) -> z_shifted      mul_4 -> d_hidden_in
```

A cotangent has the name of its value: what the pullback of an op reads is the cotangent of that op's result. A name
depends on the names of operands alone, so that a change elsewhere in a program leaves it.
"""

import ast
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import renamed, text_of
from primsplit.audit.rules_used import MADE
from primsplit.audit.sections import FORWARD
from primsplit.audit.statements import Function
from primsplit.audit.written import Written
from primsplit.ir import Op, Var, reads
from primsplit.ir.errors import Place
from primsplit.programs.python_text import identifier

LONGEST_NOTE = 40
"""The most characters of an expression in a note."""
LONGEST_NAME = 24
"""The most characters of a name that is put together."""
ENDINGS = {
    "take": "taken",
    "take_along_axis": "picked",
    "scatter_nd": "scattered",
    "scatter_elements": "scattered",
    "scatter_add": "scattered",
    "concatenate": "joined",
    "transpose": "transposed",
    "reshape": "reshaped",
    "where": "chosen",
    "astype": "converted",
    "maximum": "clipped",
    "minimum": "clipped",
    "clip": "clipped",
    "full": "filled",
    "broadcast_to": "repeated",
}
"""What a function does to its first operand, as the end of a name."""
WORDS: Mapping[type[ast.AST], str] = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "over",
    ast.MatMult: "by",
    ast.Mod: "modulo",
    ast.FloorDiv: "over",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
WITH_NUMBERS: Mapping[type[ast.AST], str] = {
    ast.Mult: "scaled",
    ast.Div: "scaled",
    ast.Add: "shifted",
    ast.Sub: "shifted",
    ast.BitAnd: "masked",
    ast.BitOr: "masked",
}
"""What an operator does to a value together with a number."""
POWERS = {2: "squared", 3: "cubed", 4: "to_the_4th"}


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return for names with dots, `params.layer1.w`, the shortest ends that tell them apart: `layer1_w`."""
    wanted = [*dict.fromkeys(names)]
    dotted = [n for n in wanted if "." in n]
    plain = {identifier(n) for n in wanted if "." not in n}
    found: dict[str, str] = {}
    for name in dotted:
        parts = name.split(".")
        ends = (identifier("_".join(parts[i:])) for i in reversed(range(len(parts))))
        found[name] = next(
            (
                e
                for e in ends
                if e not in plain and not e[0].isdigit() and not e.startswith("_") and _is_alone(e, name, dotted)
            ),
            identifier("_".join(parts)),
        )
    return found


def _is_alone(end: str, name: str, names: Sequence[str]) -> bool:
    return not any(identifier(n.replace(".", "_")).endswith(end) for n in names if n != name)


@dataclass
class Naming:
    """Names the values of one function. `named` are the variables that have a name of the user's.

    `folded` has the expressions of those that are folded into their readers, `handed_on` the variables under which the
    steps of loops hand values on. `notes` are for statements.
    """

    file: Written
    function: Function
    named: frozenset[str]
    folded: Mapping[str, ast.expr]
    handed_on: Mapping[str, str]
    of: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    roots: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)
    notes: list[tuple[Shown, str]] = field(default_factory=list)

    def run(self, lines: Sequence[Shown], constants: Iterable[str] = ()) -> None:
        """Name all that the lines show."""
        every = [line for top in lines for line in top.walk()]
        targets = [(line, target.partition("[")) for line in every for target in line.targets]
        self.inputs(constants)
        self.of.update({own: own for _, (own, *_) in targets if own in self.named and own not in self.of})
        self.taken.update(self.of.values())
        cotangents = _Cotangents(self.file, self.function, self.named)
        for line, (own, bracket, _) in targets:
            if own not in self.of:
                self.give(own, line, cotangents, "_steps" if bracket else "")

    def inputs(self, constants: Iterable[str]) -> None:
        """Name inputs, outputs and weights, without the groups that they stand in."""
        raw: dict[str, str] = {}
        for value, own in self.function.names.items():
            raw.setdefault(own, self.file.names.get(value, own))
        groups = [raw[p] for p in self.function.params if p in raw]
        short = short_names([*groups, *(c for c in constants)])
        for own, name in raw.items():
            base = name[2:] if name.startswith(("d_", "t_")) and name[2:] in short else name
            if base in short:
                self.of[own] = name[: len(name) - len(base)] + short[base]
        self.of.update({p: p for p in self.function.params if p not in self.of})

    def give(self, target: str, line: Shown, cotangents: "_Cotangents", ending: str) -> None:
        """Name a value of no variable of the user's; an array of the values of all steps has an ending."""
        own = None if line.result is None or line.section == FORWARD else cotangents.value_of(line, self)
        wanted = "" if own is None else self.cotangent(own, line, cotangents)
        if line.kept.partition("[")[0] == target:
            wanted = self.of.get(line.target, line.target)
        value = _assigned(line, target)
        if not wanted and value is not None:
            wanted = self.described(value)
        if not wanted:
            wanted = target
            self.operators.add(target)
        wanted = wanted + ending if wanted != target else wanted
        found, number = wanted, self.numbers.get(wanted, 2)
        while found in self.taken:
            found = f"{wanted}_{number}"
            number += 1
        self.numbers[wanted] = number
        self.taken.add(found)
        self.of[target] = found
        if value is not None and target in line.targets:
            self.roots[target] = _root(value, ChainMap(self.roots, self.of)) or found

    def cotangent(self, value: Var, line: Shown, cotangents: "_Cotangents") -> str:
        """Return the name of a value's cotangent, and keep a note for its statement that says what the value is."""
        value = cotangents.same(value, self)
        name = cotangents.value(value, self)
        own = self.function.names[value]
        if len(name) > LONGEST_NAME or f"d_{name}" in self.taken:
            return ""
        if own in self.folded and not line.note:
            text = text_of(renamed(self.folded[own], self.of))
            if len(text) <= LONGEST_NOTE:
                self.notes.append((line, f"{name} is {text}"))
        return f"d_{name}"

    def described(self, value: ast.expr) -> str:
        """Return a name made of the operator and its operand: `exp_shifted`."""
        known = ChainMap(self.roots, self.of)
        name = _described(value, known)
        return name if len(name) <= LONGEST_NAME else _root(value, known)


def _assigned(line: Shown, target: str) -> ast.expr | None:
    """Return the value that a variable gets, or a part of it, where a statement has several targets."""
    parts = line.target.split(", ")
    if len(parts) == 1 or not isinstance(line.value, ast.Tuple):
        return line.value
    return next((v for p, v in zip(parts, line.value.elts, strict=True) if p.partition("[")[0] == target), None)


def _root(value: ast.expr, of: Mapping[str, str]) -> str:
    """Return the name of the first value that an expression reads; of a choice the first that is chosen."""
    if isinstance(value, ast.Call):
        given = [*value.args[1:], value.args[0]] if ast.unparse(value.func) == "where" else [*value.args]
        of_array = [value.func.value] if isinstance(value.func, ast.Attribute) else []
        return next((name for part in (*of_array, *given) if (name := _root(part, of))), "")
    if isinstance(value, ast.Name):
        return of.get(value.id, "")
    parts = (part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))
    return next((name for part in parts if (name := _root(part, of))), "")


def _described(value: ast.expr, of: Mapping[str, str]) -> str:
    match value:
        case ast.Name(id=own):
            return of.get(own, "")
        case ast.Attribute(value=inner, attr="T") | ast.Subscript(value=inner):
            return _described(inner, of)
        case ast.UnaryOp(op=sign, operand=inner):
            return _joined("minus" if isinstance(sign, ast.USub) else "not", _described(inner, of))
        case ast.Compare(left=left):
            return _joined("test", _described(left, of))
        case ast.Call():
            return _of_call(value, of)
        case ast.BinOp():
            return _of_two(value, of)
    return ""


def _of_call(value: ast.Call, of: Mapping[str, str]) -> str:
    """Return `exp_shifted` for `exp(shifted)`, `x_reshaped` for `x.reshape(2, 3)`."""
    if isinstance(value.func, ast.Attribute):
        return _joined(_described(value.func.value, of), ENDINGS.get(value.func.attr, value.func.attr))
    if not isinstance(value.func, ast.Name) or not value.args:
        return ""
    function, given = value.func.id, [*value.args]
    if function == "where":
        given = [*given[1:], given[0]]
    parts = [part for each in given for part in (each.elts if isinstance(each, ast.Tuple | ast.List) else [each])]
    operand = next((name for part in parts if (name := _described(part, of))), "")
    return _joined(operand, ENDINGS[function]) if function in ENDINGS else _joined(function, operand)


def _of_two(value: ast.BinOp, of: Mapping[str, str]) -> str:
    left, right = (_described(_without_ending(part), of) for part in (value.left, value.right))
    if isinstance(value.op, ast.Pow):
        exponent = value.right.value if isinstance(value.right, ast.Constant) else None
        ending = POWERS.get(exponent, "power") if isinstance(exponent, int) else "power"
        return _joined(left, ending)
    if isinstance(value.op, ast.Sub) and isinstance(value.right, ast.Call) and left and right == f"max_{left}":
        return f"{left}_shifted"
    if isinstance(value.op, ast.Div) and not left:
        return _joined("inverse", right)
    if left and right:
        both = _joined(left, WORDS.get(type(value.op), "and"), right)
        return both if len(both) <= LONGEST_NAME else _joined(left, WORDS.get(type(value.op), "and"))
    return _joined(WITH_NUMBERS.get(type(value.op), ""), left or right)


def _without_ending(value: ast.expr) -> ast.expr:
    """Return `x` of `where(c, x, 1)`, which a name of what is computed from it need not tell."""
    is_choice = isinstance(value, ast.Call) and ast.unparse(value.func) == "where" and len(value.args) == 3
    return value.args[1] if isinstance(value, ast.Call) and is_choice else value


def _joined(*parts: str) -> str:
    return "_".join(parts) if all(parts) else ""


class _Cotangents:
    """Finds of which value a value of the backward pass is the cotangent."""

    def __init__(self, file: Written, function: Function, named: frozenset[str]) -> None:
        self.function = function
        self.named = named
        parts = {op: s.name for s in file.sections for op in s.ops}
        ops = [*function.block.ops]
        self.primal: dict[Place | None, list[Op]] = {}
        self.readers: dict[Var, list[Op]] = {}
        self.forward_readers: dict[Var, list[Op]] = {}
        for op in _every(ops, parts):
            is_forward = parts.get(op, FORWARD) == FORWARD
            if is_forward:
                self.primal.setdefault(op.place, []).append(op)
            for v in reads(op):
                (self.forward_readers if is_forward else self.readers).setdefault(v, []).append(op)
        self.made = {v: op for op in ops for v in op.outputs}

    def value_of(self, line: Shown, naming: Naming) -> Var | None:
        """Return the value of which a statement computes the cotangent: what the op gives whose pullback reads it."""
        assert line.result is not None
        own = line.op.remark, line.op.place
        if MADE.fullmatch(line.op.remark) is None and line.op.place is not None:
            return None
        found: list[tuple[bool, Var]] = []
        for reader in self.readers.get(line.result, ()):
            made = MADE.fullmatch(reader.remark)
            if made is None or (reader.remark, reader.place) == own or made[1] != "pullback":
                continue
            primal = self.matching(reader.place, made[2], line.result)
            name = "" if primal is None else self.value(primal.outputs[0], naming)
            if primal is not None and name:
                found.append((name.endswith("_in"), primal.outputs[0]))
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def matching(self, place: Place | None, kind: str, like: Var) -> Op | None:
        """Return the only op of the forward pass at a place whose result has this type, of this kind if there is one.

        Several, such as those of an unrolled loop, are not told apart: None.
        """
        here = [op for op in self.primal.get(place, ()) if op.outputs[0].type == like.type]
        exact = [op for op in here if op.kind == kind or {op.kind, kind} == {"Gemm", "MatMul"}]
        found = exact or here
        return found[0] if len(found) == 1 else None

    def value(self, var: Var, naming: Naming) -> str:
        """Return the name of a value of the forward pass, `hidden_in` for one that only the op of `hidden` reads."""
        var = self.same(var, naming)
        found = self.shown(var, naming)
        readers = self.forward_readers.get(var, ())
        if found or len(readers) != 1:
            return found
        result = self.shown(readers[0].outputs[0], naming)
        return f"{result}_in" if result else ""

    def same(self, var: Var, naming: Naming) -> Var:
        """Return the value that a value is added up to: it has the same cotangent."""
        readers = self.forward_readers.get(var, ())
        if self.shown(var, naming) or len(readers) != 1 or readers[0].kind not in {"Add", "Identity"}:
            return var
        result = readers[0].outputs[0]
        return self.same(result, naming) if result.type == var.type else var

    def shown(self, var: Var, naming: Naming) -> str:
        """Return the name that a listing shows of a value; "" for one that it does not show."""
        own = self.function.names[var]
        own = naming.handed_on.get(own, own)
        return naming.of.get(own, own if own in self.named else "")


def _every(ops: Sequence[Op], parts: dict[Op, str]) -> list[Op]:
    """Return the ops with those inside of branches and loops, which are of the part of the op around them."""
    found = []
    for op in ops:
        found.append(op)
        inner = [o for block in op.blocks() for o in block.ops]
        parts.update(dict.fromkeys(inner, parts.get(op, FORWARD)))
        found += _every(inner, parts)
    return found
