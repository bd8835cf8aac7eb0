"""Name the values of a listing: by the user's variables, else by the operator and its operand.

```
params.w1 -> w1      d_params.w1 -> d_w1      sub = z - max(z) -> z_shifted      mul_4 -> d_hidden_in
```

A cotangent has the name of its value: what the pullback of an op reads is the cotangent of that op's result. A name
depends on the names of operands alone, so that a change elsewhere in a program leaves it.
"""

import ast
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.describing import LONGEST_NAME, SHORT_NAME, briefly, described, root
from primsplit.audit.mathematics.lifetimes import Sharing
from primsplit.audit.mathematics.ordering import read_by
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import renamed, text_of
from primsplit.audit.rules_used import MADE
from primsplit.audit.sections import FORWARD, part_told
from primsplit.audit.statements import Function
from primsplit.audit.trees import variables_in
from primsplit.audit.written import Written
from primsplit.ir import Op, Var, reads
from primsplit.ir.errors import Place
from primsplit.ops.traits import traits
from primsplit.programs.python_text import identifier

SHORT_ROOT = 12
"""The most characters of a cotangent's name after which others are named."""
LONGEST_NOTE = 40
"""The most characters of an expression in a note."""


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
    shared: Sharing = field(default_factory=Sharing)
    raw: frozenset[str] = frozenset()
    functions: Mapping[str, Shown] = field(default_factory=dict)

    def run(self, lines: Sequence[Shown], constants: Iterable[str] = ()) -> None:
        """Name all that the lines show."""
        every = [line for top in lines for line in top.walk()]
        targets = [(line, target.partition("[")) for line in every for target in line.targets]
        self.raw = frozenset(self.function.names.values())
        self.functions = _functions(every)
        self.inputs(constants)
        results = frozenset(n for result in self.function.results for n in variables_in(result))
        self.shared = Sharing(lines, self.function.params, results, self.of)
        self.variables([(line, own) for line, (own, *_) in targets if own in self.named and own not in self.of])
        cotangents = _Cotangents(self.file, self.function, self.named)
        for line, (own, bracket, _) in targets:
            if own not in self.of:
                self.give(own, line, cotangents, "_steps" if bracket else "")

    def variables(self, targets: Sequence[tuple[Shown, str]]) -> None:
        """Name the variables of the user's; a number that tells one from another in the file stays where it must."""
        kept = {n for result in self.function.results for n in variables_in(result)}
        owns = frozenset(own for _, own in targets)
        shorter = {own: () if own in kept else self.shorter(own, line, owns) for line, own in reversed(targets)}
        self.of.update({own: own for own, names in shorter.items() if not names})
        self.taken.update(self.of.values())
        for own, names in reversed(shorter.items()):
            if own not in self.of:
                self.of[own] = next((name for name in names if self.is_free(own, name)), own)
                self.taken.add(self.of[own])

    def shorter(self, own: str, line: Shown, owns: frozenset[str]) -> tuple[str, ...]:
        """Return the names that a variable may have in the place of `h_5`: without the number, or a lower one.

        `owns` are the names in the file of those that are shown.
        """
        source = "" if line.op.place is None else line.op.place.source
        value = own.removeprefix("d_")
        stem, _, number = own.rpartition("_")
        if number.isdecimal() and re.match(rf"{stem} *=", source):
            return (stem,)
        if re.search(rf"\b{value}\b", source):
            return ()
        carried = self.handed_on.get(value, value)
        if own != value and value in self.raw:  # a cotangent of a value that has a number itself
            names = [f"d_{self.stem(carried, carried)}", f"d_{carried}"] if carried in self.shared.carries else []
        else:
            stem = self.unnumbered(own)
            lower = () if stem == own else (f"{stem}_{i}" for i in range(1, int(own[len(stem) + 1 :])))
            names = [stem, *(name for name in lower if name not in owns)]
        return tuple(name for name in names if name != own)

    def unnumbered(self, name: str) -> str:
        """Return `h` of `h_1`, a name that the file has for a second value of `h`."""
        stem, _, number = name.rpartition("_")
        return stem if number.isdecimal() and stem in self.raw else name

    def is_free(self, own: str, name: str) -> bool:
        """Whether a variable may have a name: nothing has it, or it may be shared with what has it."""
        return name not in self.taken or self.shared.may_share(own, name)

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
        is_kept = line.kept.partition("[")[0] == target
        is_late = (line.section != FORWARD or bool(part_told(line.op))) and not is_kept
        own = cotangents.value_of(target, line, self) if is_late else None
        wanted = "" if own is None else self.cotangent(own, target, line, cotangents)
        if is_kept:
            wanted = self.of.get(line.target, line.target)
            wanted = (
                self.stem(line.target, wanted)
                if f"{self.stem(line.target, wanted)}_steps" not in self.taken
                else wanted
            )
        value = _assigned(line, target)
        wanted = wanted or _of_source(line)
        if not wanted and value is not None:
            wanted = self.described(value)
            if len(wanted) > SHORT_NAME or not wanted:
                wanted = self.argument_of(target) or wanted
        if not wanted:
            wanted = target
            self.operators.add(target)
        wanted = wanted + ending if wanted != target else wanted
        stem, _, last = wanted.rpartition("_")
        found, is_numbered = wanted, bool(stem) and last.isdecimal()
        wanted = stem if is_numbered else wanted
        number = self.numbers.get(wanted, int(last) + 1 if is_numbered else 2)
        is_start = isinstance(value, ast.Name) and line.section == FORWARD and value.id not in self.function.params
        is_told = is_start or (own is not None and wanted.startswith("d_"))
        is_shared = is_told and not ending and self.shared.may_share(target, found)
        while found in self.taken and not is_shared:
            found = f"{wanted}_{number}"
            number += 1
        self.numbers[wanted] = number
        self.taken.add(found)
        self.of[target] = found
        if value is not None and target in line.targets:
            is_cotangent = own is not None and not line.is_passed and found.startswith(("d_", "t_"))
            is_root = is_cotangent and len(wanted) <= SHORT_ROOT
            self.roots[target] = wanted if is_root else root(value, ChainMap(self.roots, self.of)) or found

    def argument_of(self, target: str) -> str:
        """Return `hidden_in` for a value of which `hidden`, a variable of the user's, is a function; "" for others."""
        line = self.functions.get(target)
        name = "" if line is None or line.target not in self.named else f"{self.of.get(line.target, line.target)}_in"
        return name if name not in self.taken and len(name) <= SHORT_NAME else ""

    def stem(self, own: str, name: str) -> str:
        """Return the name of a loop's variable without its number, which is needed only beside another value."""
        return self.unnumbered(name) if own in self.shared.carries else name

    def cotangent(self, value: Var, target: str, line: Shown, cotangents: "_Cotangents") -> str:
        """Return the name of a value's cotangent, and keep a note for its statement that says what the value is."""
        value = cotangents.same(value, self)
        name = cotangents.value(value, self)
        own = self.function.names[value]
        stem = cotangents.value(value, self, plain=True)
        name = next((n for n in (stem, name) if self.is_free(target, f"d_{n}")), "")
        if not name or len(name) > LONGEST_NAME:
            return ""
        if own in self.folded and not line.note and name != self.told(own):
            text = text_of(renamed(self.folded[own], self.of))
            is_known = variables_in(self.folded[own]) & self.raw <= {*self.of}
            if len(text) <= LONGEST_NOTE and is_known:
                self.notes.append((line, f"{name} is {text}"))
        return f"d_{name}"

    def told(self, own: str) -> str:
        """Return a short name made of the expression of a value that is in its reader; "" without one."""
        name = described(self.folded[own], ChainMap(self.roots, self.of)) if own in self.folded else ""
        return name if len(name) <= SHORT_NAME else ""

    def described(self, value: ast.expr) -> str:
        """Return a name made of the operator and its operand: `exp_shifted`."""
        known = ChainMap(self.roots, self.of)
        name = described(value, known)
        return name if 0 < len(name) <= LONGEST_NAME else briefly(value, known)


def _functions(lines: Sequence[Shown]) -> dict[str, Shown]:
    """Return the statements of the forward pass that are a function of one variable, which they alone read there."""
    found: dict[str, Shown] = {}
    read: set[str] = set()
    for line in lines:
        if line.section not in {FORWARD, ""}:
            continue
        names = read_by(line)
        called = line.value if isinstance(line.value, ast.Call) and not line.below else None
        if called is not None and called.args and isinstance(called.args[0], ast.Name) and len(names) == 1:
            found[called.args[0].id] = line
        elif names:
            read |= names
    return {own: line for own, line in found.items() if own not in read}


def _of_source(line: Shown) -> str:
    """Return the variable that the user's line assigns what a check hands on, or the factor or inverse of a matrix.

    Its node has the name of the check or the call. "" for the result of a call that the line computes with.
    """
    source = "" if line.op.kind not in _CALLED or line.op.place is None else line.op.place.source
    match = re.match(r"([A-Za-z]\w*) = (.*)", source)
    return "" if match is None or _OPERATED.search(match[2]) else match[1]


_CALLED = frozenset({"listed::checked", "listed::cholesky", "listed::inv"})
_OPERATED = re.compile(r"^[^(]*[-+*/@] ?[\w.]*\(|\) ?[-+*/@.\[]")
"""Matches a line that computes with the result of a call: `2 * f(x)`, `f(x).T`, `f(x)[0]`."""


def _assigned(line: Shown, target: str) -> ast.expr | None:
    """Return the value that a variable gets, or a part of it, where a statement has several targets."""
    parts = line.target.split(", ")
    if len(parts) == 1 or not isinstance(line.value, ast.Tuple):
        return line.value
    return next((v for p, v in zip(parts, line.value.elts, strict=True) if p.partition("[")[0] == target), None)


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
            is_forward = parts.get(op, FORWARD) == FORWARD and not part_told(op)
            if is_forward:
                self.primal.setdefault(op.place, []).append(op)
            for v in reads(op):
                (self.forward_readers if is_forward else self.readers).setdefault(v, []).append(op)
        self.made = {v: op for op in ops for v in op.outputs}

    def value_of(self, target: str, line: Shown, naming: Naming) -> Var | None:
        """Return the value of which a statement computes the cotangent: what the op gives whose pullback reads it."""
        result = line.results.get(target, line.result)
        own = line.op.remark, line.op.place
        if result is None or (MADE.fullmatch(line.op.remark) is None and line.op.place is not None):
            return None
        if line.is_passed and (carried := self.carried(target, line.op)) is not None and self.value(carried, naming):
            return carried
        found: list[tuple[bool, Var]] = []
        for reader in self.readers.get(result, ()):
            made = MADE.fullmatch(reader.remark)
            is_mask = traits(reader.kind).compares
            if made is None or (reader.remark, reader.place) == own or made[1] != "pullback" or is_mask:
                continue
            primal = self.matching(reader.place, made[2], result)
            name = "" if primal is None else self.value(primal.outputs[0], naming)
            if primal is not None and name:
                found.append((name.endswith("_in"), primal.outputs[0]))
        if not found:
            return self.operand(result, line, naming)
        return min(found, key=lambda pair: pair[0])[1]

    def operand(self, result: Var, line: Shown, naming: Naming) -> Var | None:
        """Return the operand of which a statement computes all of the cotangent: it has a name, and no sum reads it."""
        made = MADE.fullmatch(line.op.remark)
        readers = self.readers.get(result, ())
        if made is None or made[1] != "pullback" or line.op.place is None or not self.forward_readers.get(result):
            return None
        if any(MADE.fullmatch(reader.remark) is not None or reader.kind in {"Add", "Sum"} for reader in readers):
            return None
        like = [
            v
            for op in self.primal.get(line.op.place, ())
            for v in op.inputs
            if isinstance(v, Var) and v.type == result.type and self.value(v, naming)
        ]
        return like[0] if len({*like}) == 1 else None

    def carried(self, target: str, op: Op) -> Var | None:
        """Return the value that a loop hands on in the place of the one that its pullback hands on under a name."""
        if op.kind not in {"Scan", "Loop"}:
            return None
        at = next((i for i, v in enumerate(op.outputs) if self.function.names.get(v) == target), None)
        loops = [o for o in self.primal.get(op.place, ()) if o.kind == op.kind]
        if at is None or len(loops) != 1 or at >= len(loops[0].outputs):
            return None
        found = loops[0].outputs[at]
        return found if found.type == op.outputs[at].type else None

    def matching(self, place: Place | None, kind: str, like: Var) -> Op | None:
        """Return the only op of the forward pass at a place whose result has this type, of this kind if there is one.

        Several, such as those of an unrolled loop, are not told apart: None.
        """
        here = [op for op in self.primal.get(place, ()) if op.outputs[0].type == like.type]
        exact = [op for op in here if op.kind == kind or {op.kind, kind} == {"Gemm", "MatMul"}]
        found = exact or here
        return found[0] if len(found) == 1 else None

    def value(self, var: Var, naming: Naming, *, plain: bool = False) -> str:
        """Return the name of a value of the forward pass, `hidden_in` for one that only the op of `hidden` reads.

        One that is `plain` has no number of a loop's variable.
        """
        var = self.same(var, naming)
        readers = self.forward_readers.get(var, ())
        for each, ending in ((var, ""), *((op.outputs[0], "_in") for op in readers if len(readers) == 1)):
            own, found = self.own(each, naming), self.shown(each, naming)
            if found and ending and own not in naming.named and (told := naming.told(self.own(var, naming))):
                return told
            if found == "weights" and ending:
                return "scores"
            if found:
                return (naming.stem(own, found) if plain else found) + ending
        return naming.told(self.own(var, naming))

    def same(self, var: Var, naming: Naming) -> Var:
        """Return the value that a value is added up to: it has the same cotangent."""
        readers = self.forward_readers.get(var, ())
        if self.shown(var, naming) or len(readers) != 1 or readers[0].kind not in {"Add", "Identity"}:
            return var
        result = readers[0].outputs[0]
        return self.same(result, naming) if result.type == var.type else var

    def shown(self, var: Var, naming: Naming) -> str:
        """Return the name that a listing shows of a value; "" for one that it does not show."""
        own = self.own(var, naming)
        return naming.of.get(own, own if own in self.named else "")

    def own(self, var: Var, naming: Naming) -> str:
        """Return the variable that has a value: that of a loop for what a step hands on."""
        own = self.function.names[var]
        return naming.handed_on.get(own, own)


def _every(ops: Sequence[Op], parts: dict[Op, str]) -> list[Op]:
    """Return the ops with those inside of branches and loops, which are of the part of the op around them."""
    found = []
    for op in ops:
        found.append(op)
        inner = [o for block in op.blocks() for o in block.ops]
        parts.update(dict.fromkeys(inner, parts.get(op, FORWARD)))
        found += _every(inner, parts)
    return found
