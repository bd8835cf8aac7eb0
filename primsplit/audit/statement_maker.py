"""Make the statements of a file: expressions of its nodes, bodies of its branches and loops, names of its variables."""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np
import onnx

from primsplit.audit.definitions import definition
from primsplit.audit.expressions.creation import held_by
from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.audit.expressions.table import BUILDERS, expression
from primsplit.audit.file_listing import is_literal
from primsplit.audit.helpers.source import helpers
from primsplit.audit.identifiers import Identifiers
from primsplit.audit.statements import (
    Assignment,
    Branch,
    Collected,
    Function,
    Loop,
    Scan,
    Scanned,
    Statement,
    Statements,
    Suite,
)  # fmt: skip
from primsplit.audit.trees import call, literal, name, tree
from primsplit.audit.users_names import users_names
from primsplit.audit.written import Written, with_graph
from primsplit.ir import Block, Const, Op, Type, Value, Var, reads
from primsplit.ir.errors import PrimsplitError
from primsplit.ops.traits import traits
from primsplit.programs.python_text import array_source, identifier

LETTER = re.compile(r"[a-z]{1,2}")
"""Matches the names that a file of ours has for values of no name."""


def statements_of(file: Written, taken: Iterable[str] = (), build: Builder = expression) -> Statements:
    """Return the statements of a file, whose variables get none of the names that are taken.

    `build` returns the expression of a node: by default that of NumPy, which raises PrimsplitError for an operator that
    has no form in NumPy.
    """
    module = _Module(Identifiers(taken), build)
    module.functions.update({kind: module.names.give(kind.rpartition("::")[2]) for kind in file.functions})
    known = constants_of(file)
    module.constants.update({c: module.names.give(c.hint or "constant") for c in _named(file, known)})
    main = module.function(file, file.block, file.block.name, known)
    others = tuple(module.function(file, block, module.functions[k], known) for k, block in file.functions.items())
    constants = {n: c for c, n in module.constants.items()}
    return Statements(file, main, others, constants, tuple(module.definitions.values()))


@dataclass
class _Module:
    """Holds the names, constants and definitions of operators that the functions of a file share."""

    names: Identifiers
    build: Builder
    functions: dict[str, str] = field(default_factory=dict)
    constants: dict[Const, str] = field(default_factory=dict)
    definitions: dict[bytes, Function] = field(default_factory=dict)

    def function(self, file: Written, block: Block, title: str, known: Mapping[Value, Const]) -> Function:
        """Return a block as a function, whose variables have names that no other thing of the module has."""
        return _Maker(file, _Types(file), Identifiers(self.names.taken), self, known).function(block, title)

    def defined(self, file: Written, model: onnx.ModelProto, kind: str) -> str:
        """Return the name of the function of an operator's definition, which begins with `_` like those of helpers."""
        key = model.SerializeToString()
        if key not in self.definitions:
            stem = f"_{identifier(kind.rpartition('::')[2]).lower()}"
            taken = {f.name for f in self.definitions.values()} | {*helpers()}
            name = next(n for i in count() if (n := f"{stem}_{i}" if i else stem) not in taken)
            own = with_graph(file, model)
            known = constants_of(own)
            self.constants.update({c: f"_{self.names.give(c.hint or 'constant')}" for c in _named(own, known)})
            self.definitions[key] = self.function(own, own.block, name, known)
        return self.definitions[key].name


def constants_of(file: Written) -> dict[Value, Const]:
    """Return what the nodes of the kind Constant hold, by their results."""
    nodes = (op for op in file.ops() if op.kind == "Constant")
    held = ((op.outputs[0], held_by(op)) for op in nodes)
    return {var: Const(array, file.names[var]) for var, array in held if array is not None}


def _named(file: Written, known: Mapping[Value, Const]) -> list[Const]:
    """Return the constants that expressions read by name, in the order of their first use."""
    read = (v for op in file.ops() for v in op.inputs)
    bodies = (b for op in file.ops() for b in op.blocks())
    results = (v for b in (file.block, *file.functions.values(), *bodies) for v in b.results)
    found = (known.get(v, v) for v in (*read, *results) if v is not None)
    constants = dict.fromkeys(v for v in found if isinstance(v, Const))
    return [const for const in constants if not _is_written_out(const)]


def _is_written_out(const: Const) -> bool:
    """Whether a constant is written where it is read: a number, a short vector, one number everywhere."""
    return is_literal(const) or math.prod(const.data.shape) == 0 or const.number is not None


@dataclass
class _Maker:
    """Makes the statements of a function."""

    file: Written
    types: "_Types"
    identifiers: Identifiers
    module: _Module
    known: Mapping[Value, Const]
    names: dict[Value, str] = field(default_factory=dict)
    carried: set[str] = field(default_factory=set)

    def function(self, block: Block, title: str) -> Function:
        params = tuple(self.name(p) for p in block.params)
        sections = {op: s.name for s in self.file.sections for op in s.ops} if block is self.file.block else {}
        statements = self.statements(tuple(sections) or block.ops, sections)
        results = tuple(map(self.value, block.results))
        return Function(
            title, self.file, block, self.names, statements, params, results, carried=frozenset(self.carried)
        )

    def statements(self, ops: Iterable[Op], sections: Mapping[Op, str]) -> tuple[Statement, ...]:
        """Return the statements of ops. A constant is written where it is read: its node is part of a reader."""
        found: list[Statement] = []
        waiting: dict[Value, Op] = {}
        for op in ops:
            if op.outputs and op.outputs[0] in self.known:
                waiting[op.outputs[0]] = op
                continue
            folded = [waiting.pop(v) for v in dict.fromkeys(reads(op)) if v in waiting]
            made = self.statement(op, sections.get(op, ""))
            found.append(replace(made, ops=(*folded, *made.ops)) if folded else made)
        return (*found, *(self.statement(op, sections.get(op, "")) for op in waiting.values()))

    def name(self, var: Var, wanted: str = "") -> str:
        """Return the name of a variable: the file's, made an identifier."""
        if var not in self.names:
            self.names[var] = self.identifiers.give(wanted or self.file.names[var])
        return self.names[var]

    def value(self, value: Value) -> ast.expr:
        """Return the expression of an input or result that stands alone."""
        value = self.known.get(value, value)
        if isinstance(value, Var):
            return name(self.name(value))
        array = value.numpy()
        if array.dtype.isbuiltin == 2:
            raise PrimsplitError(f"{value.hint or 'a constant'} has the dtype {array.dtype.name}, which NumPy lacks")
        if value in self.module.constants:
            return name(self.module.constants[value])
        if array.ndim == 1 and array.dtype == np.int64:
            return call("np.array", literal(array.tolist()), *([] if array.size else [tree("np.int64")]))
        if value.is_short:
            return tree(array_source(array))
        return call("np.full", literal(array.shape), literal(value.number), literal(array.dtype.name))

    def weak(self, op: Op, position: int) -> ast.expr | None:
        """Return the expression of an input in which a number needs no dtype: another input has it."""
        value = op.inputs[position]
        if value is None:
            return None
        const = self.known.get(value, value)
        if isinstance(const, Const) and const.type.dtype.kind in "iuf" and self.is_tied(op, const):
            number = _number(const)
            return self.value(const) if number is None else literal(number)
        return self.value(value)

    def is_tied(self, op: Op, const: Const) -> bool:
        """Whether another input, a variable, has the dtype of a number, and as many axes."""
        if traits(op.kind).broadcasts != "all" and op.kind != "Clip":
            return False
        others = [self.types[v] for v in op.inputs if isinstance(v, Var) and v in self.types and v not in self.known]
        rank = len(const.data.shape)
        return any(t.dtype == const.type.dtype and (rank == 0 or (t.rank or 0) >= rank) for t in others)

    def statement(self, op: Op, section: str = "") -> Statement:
        """Return the statement of an op."""
        make = {"If": self.branch, "Loop": self.loop, "Scan": self.scan}.get(op.kind)
        if make is not None:
            return make(op, section)
        arguments = tuple(None if v is None else self.value(v) for v in op.inputs)
        several = len(op.outputs) > 1 or op.kind == "Split"
        value = self.called(op, arguments) or self.module.build(self.node(op, arguments))
        targets = self.targets(op)
        return Assignment(op=op, ops=(op,), targets=targets, section=section, value=value, is_several=several)

    def called(self, op: Op, arguments: tuple[ast.expr | None, ...]) -> ast.expr | None:
        """Return the call of a function of the file, or of an operator's definition; None where there is none."""
        if op.kind in self.module.functions:
            return call(self.module.functions[op.kind], *(literal(None) if a is None else a for a in arguments))
        is_defined = self.module.build is expression and op.kind not in BUILDERS
        model = definition(op, self.types, self.file.opsets) if is_defined else None
        if model is None:
            return None
        self.node(op, arguments).check_dtypes()
        return call(self.module.defined(self.file, model, op.kind), *(a for a in arguments if a is not None))

    def opset(self, op: Op) -> int:
        """Return the version of an operator's domain."""
        return self.file.opsets.get(op.kind.rpartition("::")[0], 1)

    def node(self, op: Op, arguments: tuple[ast.expr | None, ...]) -> Node:
        weak = tuple(self.weak(op, i) for i in range(len(op.inputs)))
        return Node(op, arguments, weak, self.types, self.known, self.file.nodes[op], self.opset(op))

    def targets(self, op: Op) -> tuple[str, ...]:
        if (
            self.module.build is expression
            and op.kind not in BUILDERS
            and "body" not in op.attributes
            and op.kind != "If"
        ):
            return tuple(self.name(v) for v in op.outputs if v.hint)
        return tuple(self.name(v, self.file.names[v] or "unused") for v in op.outputs)

    def suite(self, block: Block, targets: Sequence[str]) -> Suite:
        """Return a body, whose variables that are its results have the names of those around it from the start."""
        own = {v for op in block.ops for v in op.outputs}
        for var, target in zip(block.results, targets, strict=True):
            if isinstance(var, Var) and var in own and var not in self.names:
                self.names[var] = target
        statements = self.statements(block.ops, {})
        return Suite(statements, tuple(zip(targets, map(self.value, block.results), strict=True)))

    @cached_property
    def users(self) -> set[Var]:
        """The values of the file that have a name of the user's."""
        return users_names(self.file)

    @cached_property
    def taken(self) -> set[str]:
        """The names that the file has."""
        return {*self.file.names.values()}

    def name_outputs(self, op: Op, bodies: Sequence[Block], lead: int = 0, carried: int = 0) -> None:
        """Name outputs after the variables of the user's that bodies compute them in.

        The first `lead` results of a body are no outputs, those behind the next `carried` are stacked. A branch has
        no stacked ones.
        """
        for i, var in enumerate(op.outputs):
            results = [(body.results[i + lead], body) for body in bodies]
            inner = [r for r, body in results if r in self.users and any(r in each.outputs for each in body.ops)]
            told = dict(enumerate(_carries_told(op, carried))).get(i, "")
            if not (inner or (told and told not in self.taken)) or var in self.users:
                continue
            wanted = min((self.file.names[r] for r in inner), key=len, default=told)
            ending = "_steps" if op.kind != "If" and i >= carried else ""
            is_carry = op.kind != "If" and not ending
            if not is_carry or not wanted.startswith(("d_", "t_")):  # a step's cotangent may be that of another value
                own = self.name(var, wanted + ending)
                self.carried.update([own] if is_carry else ())

    def branch(self, op: Op, section: str) -> Statement:
        then, otherwise = (op.attributes[key] for key in ("then_branch", "else_branch"))
        self.name_outputs(op, (then, otherwise))
        targets = self.targets(op)
        sides = self.suite(then, targets), self.suite(otherwise, targets)
        test = self.value(_given(op.inputs[0]))
        return Branch(op=op, ops=(op,), targets=targets, section=section, test=test, sides=sides)

    def loop(self, op: Op, section: str) -> Statement:
        body: Block = op.attributes["body"]
        carried = len(op.inputs) - 2
        self.name_outputs(op, (body,), 1, carried)
        targets = self.targets(op)
        initial = [self.value(_given(v)) for v in op.inputs[2:]]
        step, goes_on = (self.name(p) for p in body.params[:2])
        self.names.update(zip(body.params[2:], targets, strict=False))
        items = [self.identifiers.give(f"{t.removesuffix('_steps')}_each") for t in targets[carried:]]
        suite, collected = self.steps(op, body, [goes_on, *targets[:carried]], targets[carried:], items)
        count = None if op.inputs[0] is None else self.whole_number(op.inputs[0])
        first = [] if op.inputs[1] is None else [(goes_on, self.value(op.inputs[1]))]
        if not first:
            first = [(goes_on, tree("np.bool_(True)"))]
        started = (*first, *zip(targets, initial, strict=False))
        return Loop(
            op=op, ops=(op,), targets=targets, section=section,
            step=step, count=count, goes_on=goes_on, initial=started, body=suite, collected=collected,
        )  # fmt: skip

    def whole_number(self, value: Value) -> ast.expr:
        """Return an integer as one of Python's where it is known, else the expression of an array."""
        const = self.known.get(value, value)
        return literal(int(const.numpy().reshape(-1)[0])) if isinstance(const, Const) else self.value(value)

    def scan(self, op: Op, section: str) -> Statement:
        body: Block = op.attributes["body"]
        if self.file.opsets.get("", 1) < 9:
            raise self.node(op, ()).refusal("is one of an opset below 9, with a batch")
        scanned = int(op.attributes["num_scan_inputs"])
        carried = len(op.inputs) - scanned
        self.name_outputs(op, (body,), 0, carried)
        targets = self.targets(op)
        initial = [self.value(_given(v)) for v in op.inputs[:carried]]
        self.names.update(zip(body.params[:carried], targets, strict=False))
        params = [self.part(p, of) for p, of in zip(body.params[carried:], op.inputs[carried:], strict=True)]
        items = [self.identifiers.give(f"{t.removesuffix('_steps')}_each") for t in targets[carried:]]
        suite, collected = self.steps(op, body, targets[:carried], targets[carried:], items)
        axes = op.attributes.get("scan_input_axes", [0] * scanned)
        back = op.attributes.get("scan_input_directions", [0] * scanned)
        arrays = [self.value(_given(v)) for v in op.inputs[carried:]]
        read = tuple(Scanned(*row) for row in zip(params, arrays, axes, map(bool, back), strict=True))
        started = tuple(zip(targets, initial, strict=False))
        return Scan(
            op=op, ops=(op,), targets=targets, section=section,
            scanned=read, initial=started, body=suite, collected=collected,
        )  # fmt: skip

    def part(self, param: Var, array: Value | None) -> str:
        """Return the name of the part of an array that a step gets: `xs_t` where the file has a letter for it."""
        is_letter = self.file.is_ours and LETTER.fullmatch(self.file.names[param])
        return self.name(param, f"{self.name(array)}_t" if is_letter and isinstance(array, Var) else "")

    def steps(
        self, op: Op, body: Block, handed: Sequence[str], stacked: Sequence[str], items: Sequence[str]
    ) -> tuple[Suite, tuple[Collected, ...]]:
        """Return the body of a loop, which assigns what it hands on, and the lists of what is stacked at the end."""
        count = len(handed)
        inner = Block(body.name, body.params, body.ops, body.results[:count])
        # A variable that is handed on may be read in the body after it is computed: it keeps a name of its own.
        for var in body.results[:count]:
            if isinstance(var, Var) and var not in self.names:
                self.name(var)
        suite = self.suite(inner, handed)
        axes = op.attributes.get("scan_output_axes", [0] * len(stacked))
        back = op.attributes.get("scan_output_directions", [0] * len(stacked))
        outputs = op.outputs[len(op.outputs) - len(stacked) :]
        values = [self.value(v) for v in body.results[count:]]
        rows = zip(stacked, items, values, map(self.empty, outputs), axes, map(bool, back), strict=True)
        return suite, tuple(Collected(*row) for row in rows)

    def empty(self, var: Var) -> ast.expr:
        """Return the array of no steps, with sizes of 0 that the file does not tell."""
        told = self.types.get(var)
        if told is None or told.shape is None:
            return literal(None)
        sizes = [d if isinstance(d, int) else 0 for d in told.shape]
        return call("np.zeros", literal((0, *sizes[1:])), literal(told.dtype.name))


def _carries_told(op: Op, carried: int) -> list[str]:
    """Return the variables that the user's line assigns the last carries of a loop: `(pos, vel), ys = ps.scan(...)`."""
    source = "" if op.place is None or op.kind != "Scan" or op.remark else op.place.source
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return []
    target = body[0].targets[0] if len(body) == 1 and isinstance(body[0], ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return []
    found = [n for n in ast.walk(target.elts[0]) if isinstance(n, ast.Name)]
    in_order = sorted(found, key=lambda n: (n.lineno, n.col_offset))
    return [n.id for n in in_order] if len(found) == carried else []


def _given(value: Value | None) -> Value:
    assert value is not None
    return value


def _number(const: Const) -> float | int | None:
    """Return the shortest Python number for a constant of one element; None for several, and a NaN of other bits."""
    if math.prod(const.data.shape) != 1:
        return None
    array = const.numpy().reshape(())
    number = float(str(array[()])) if array.dtype.kind == "f" else int(array)
    return number if np.asarray(number, array.dtype).tobytes() == array.tobytes() else None


class _Types(Mapping[Value, Type]):
    """The types of a file's variables, of those that the file tells."""

    def __init__(self, file: Written) -> None:
        self.file = file

    def __getitem__(self, value: Value) -> Type:
        if isinstance(value, Var) and self.file.told.get(value):
            return value.type
        raise KeyError(value)

    def __iter__(self) -> Iterator[Value]:
        return (v for v, told in self.file.told.items() if told)

    def __len__(self) -> int:
        return sum(1 for _ in self)
