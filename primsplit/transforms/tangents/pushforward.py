"""Forward mode: the tangent list of an op from its pullback list, and the tangent lists of ops composed to a block's.

A pullback is linear in its cotangents. Its own pullback with respect to them, the captures held constant, maps the
inputs' tangents to the results': that is the forward rule, and most operators have no other. No cotangent is left in
it. A rule set by `frule` takes precedence over the derived one.

```
pullback of Sin:  dx = Mul(dz, Cos(x))     ->     tangent of Sin:  t_z = Mul(t_x, Cos(x))
```
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from primsplit.ir import (
    NOWHERE,
    Block,
    Op,
    Value,
    Var,
    free,
    is_call,
    live_ops,
    operands,
    reads,
    rename,
    renamed,
    same_types,
)
from primsplit.ir.analysis.orders import remark_of, tell_order
from primsplit.ir.caching.limited import Limited
from primsplit.ir.errors import MissingRule, PrimsplitError, RuleError
from primsplit.ir.notation.listing import Tape
from primsplit.ir.parts import Split
from primsplit.ops.verify import verified
from primsplit.rules.activity import active_vars, needed_vars
from primsplit.rules.table import FRULES, SYMMETRIC, Rule, with_defaults
from primsplit.tracing import append, fresh_stack, name_after, recording
from primsplit.tracing.array import Array
from primsplit.tracing.calls.flat_rules import check_tangent
from primsplit.tracing.calls.recorded import open_inputs
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.trees import as_list
from primsplit.transforms.even_slopes import EvenSlopes
from primsplit.transforms.idioms.kinks import recognize_kinks
from primsplit.transforms.idioms.rewritten import with_slopes_beside_jumps
from primsplit.transforms.primal_list import PrimalList
from primsplit.transforms.rule_run import is_parameter
from primsplit.transforms.split import split_op
from primsplit.transforms.tangents.even_tangents import EvenTangents
from primsplit.transforms.tangents.transposition import transpose
from primsplit.transforms.zero_slopes import settled


@dataclass(frozen=True, slots=True)
class Pushforward:
    """A program with its tangent list.

    The tangent list maps the captures, values of the primal that it reads, and the tangents of the parameters in `wrt`
    to the tangents of the results in `targets`: those of `of` that depend on the parameters.
    """

    primal: Block
    tangent: Block
    captures: tuple[Var, ...]
    wrt: tuple[int, ...]
    targets: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def tangents(self) -> tuple[Var, ...]:
        """The tangent list's parameters after the captures: one for each parameter in `wrt`."""
        return self.tangent.params[len(self.captures) :]

    def joint(self) -> Block:
        """Return one block: parameters and their tangents in; results and their tangents out."""
        return Block(
            self.primal.name,
            (*self.primal.params, *self.tangents),
            (*self.primal.ops, *self.tangent.ops),
            (*self.primal.results, *self.tangent.results),
        )

    def stored(self) -> tuple[Var, ...]:
        """Return the captures that are neither parameters nor results of the primal."""
        known = {*self.primal.params, *self.primal.results}
        return tuple(c for c in self.captures if c not in known)


def push_whole(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Pushforward:
    """Return the tangent list of a program for tangents of some parameters, of some results; quotients 0 / 0 settled.

    What does not depend on the tangents is computed in the primal: the tangent list is linear and nothing else. Raises
    MissingRule if an operator has no derivative, RuleError if a rule's pullback is not linear.
    """
    known = with_slopes_beside_jumps(recognize_kinks(block), wrt)
    made = _Composition(HOOKS.with_straight_through(known), wrt, of).run()
    verified(made.joint())
    return made


class _Composition:
    """One pass forward through a block's ops, collecting their primals and their tangent lists."""

    def __init__(self, block: Block, wrt: Sequence[int], of: Sequence[int]) -> None:
        self.block, self.wrt, self.of = block, tuple(wrt), tuple(of)
        active = active_vars(block.ops, [block.params[i] for i in wrt])
        self.needed = needed_vars(block.ops, active, [block.results[i] for i in of])
        self.primal = PrimalList()
        self.tangents: dict[Var, Value] = {}

    def run(self) -> Pushforward:
        block = self.block
        with recording(place=NOWHERE) as recorded:
            self.even = EvenTangents(EvenSlopes(self.primal.ops, recorded.ops, self.primal.value))
            params = [block.params[i] for i in self.wrt]
            seeds = [recorded.param(p.type, f"t_{p.hint or f'x{i}'}") for i, p in zip(self.wrt, params, strict=True)]
            for param, seed in zip(params, seeds, strict=True):
                self.tangents.setdefault(param, seed)
            for op in block.ops:
                self.step(op)
            name_after(self.tangents, recorded.ops, "t_")
        results = tuple(map(self.primal.value, block.results))
        found = {i: self.tangents[r] for i in self.of if isinstance(r := block.results[i], Var) and r in self.tangents}
        fixed, linear = _apart(live_ops(recorded.ops, found.values()), seeds)
        primal = replace(block, ops=(*self.primal.ops, *fixed), results=results)
        ops = settled(primal.ops, Block("", (), tuple(linear), ()), params, forward=True)
        linear = live_ops(ops, found.values())
        return _made(primal, linear, seeds, found, self.wrt, self.of)

    def step(self, op: Op) -> None:
        """Inline one op with its tangents; copy it if no tangent goes through."""
        of = tuple(i for i, v in enumerate(op.outputs) if v in self.needed)
        sources = operands(op)
        wrt = tuple(i for i, v in enumerate(sources) if isinstance(v, Var) and v in self.tangents)
        if not of or not wrt:
            self.primal.copy(op)
            return
        pushed = self.push(op, wrt, of)
        names, sizes = self.primal.inline(op, pushed.primal)
        for tangent, position in zip(pushed.tangents, pushed.wrt, strict=True):
            source = sources[position]
            if isinstance(source, Var):
                names[tangent] = self.tangents[source]
        remark = remark_of("tangent", op)
        for inner in pushed.tangent.ops:
            append(rename(inner, names, place=op.place, remark=remark, sizes=sizes))
        given = {names[t]: None for t in pushed.tangents if t in names}
        for position, result in zip(pushed.targets, pushed.tangent.results, strict=True):
            self.tangents[op.outputs[position]] = self.even.stand(given, renamed(result, names))

    def push(self, op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Pushforward:
        """Return the tangent list of the op; an error gets the op's place."""
        try:
            return push_op(op, wrt, of)
        except PrimsplitError as error:
            if error.place is None or error.place is NOWHERE:
                error.place = op.place
            tell_order(error, op)
            error.tape = Tape(self.block, op)
            raise


def _made(
    primal: Block,
    linear: Sequence[Op],
    seeds: Sequence[Var],
    found: dict[int, Value],
    wrt: tuple[int, ...],
    of: tuple[int, ...],
) -> Pushforward:
    """Return the Pushforward of a primal, without its dead ops, and a linear list that reads it.

    `seeds` are the tangents of the parameters in `wrt`, `found` those of results by position.
    """
    tangent = Block(f"{primal.name}.tangent", (), tuple(linear), tuple(found.values()))
    own = {*primal.params, *(v for op in primal.ops for v in op.outputs)}
    captures = tuple(v for v in free(tangent) if v in own)
    whole = replace(primal, ops=tuple(live_ops(primal.ops, (*primal.results, *captures))))
    tangent = replace(tangent, params=(*captures, *seeds))
    return Pushforward(whole, tangent, captures, wrt, tuple(found), of)


SPREADING = frozenset({"ConstantOfShape", "Expand"})
"""Operators that only enlarge a value: their input is captured, and they run where the result is read."""


def _apart(ops: Sequence[Op], seeds: Iterable[Var]) -> tuple[list[Op], list[Op]]:
    """Return the ops that do not depend on the seeds, and those that do, with the `SPREADING` ops that only they read.

    If a call or a loop has an output that does, readers of its other outputs come after it too.
    """
    depends = set(seeds)
    for op in ops:
        if any(v in depends for v in reads(op)):
            depends.update(op.outputs)
    read_before: set[Var] = set()
    fixed: list[Op] = []
    linear: list[Op] = []
    for op in reversed(ops):
        if any(v in depends for v in op.outputs) or (op.kind in SPREADING and read_before.isdisjoint(op.outputs)):
            linear.append(op)
        else:
            fixed.append(op)
            read_before.update(reads(op))
    return fixed[::-1], linear[::-1]


# The tangent list of one op.

_cache: Limited[int, tuple[Split, Pushforward]] = Limited(8192)
"""By the id of the op's split, which is kept so that its id stays its own."""


def push_op(op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Pushforward:
    """Return the tangent list of one op: by its forward rule if it has one, else its pullback list transposed."""
    rule = _forward_rule(op, wrt)
    if rule is not None:
        return run_forward_rule(op, rule, wrt, of)
    split = split_op(op, wrt, of)
    known = _cache.get(id(split))
    if known is None:
        with fresh_stack():
            known = split, transposed(split, op.kind)
        _cache[id(split)] = known
    return known[1]


def _forward_rule(op: Op, wrt: tuple[int, ...]) -> Rule | None:
    """Return the forward rule for these inputs, if any."""
    if is_call(op):
        given: Rule | None = op.attributes.get("frule")
        return given
    entry = FRULES.get(op.kind)
    return entry.rule if entry is not None and entry.admits(op, wrt) else None


def transposed(split: Split, kind: str) -> Pushforward:
    """Return the tangent list of a split. Raises RuleError if its ops show that its pullback is not linear."""
    pulled, primal = split.pullback, split.primal
    if _is_symmetric(split, kind):
        found = {split.of[0]: pulled.results[0]}
        return _made(primal, pulled.ops, split.cotangents, found, split.targets, split.of)
    stand_ins = [primal.results[i] for i in split.of]
    what = f"the pullback of {kind.removeprefix('call::')}"
    try:
        back = transpose(pulled, len(split.cotangents), stand_ins, (*primal.params, *primal.results), what)
    except MissingRule as error:
        raise MissingRule(
            f"{kind} has no forward derivative: {error.what}, which its pullback is made of",
            because=("forward mode and higher orders differentiate the pullback",),
            cure="Use ps.grad or ps.vjp, which take the pullback as it is, or give the function a rule with ps.frule.",
        ) from None
    found = {i: back.results[p] for p, i in enumerate(split.of) if p in back.results}
    return _made(primal, back.ops, back.seeds, found, split.targets, split.of)


def _is_symmetric(split: Split, kind: str) -> bool:
    """Whether the one tangent is mapped as the one cotangent is."""
    alone = kind in SYMMETRIC and len(split.cotangents) == 1 and split.targets == (0,)
    return alone and same_types(split.cotangents[0].type, split.primal.params[0].type)


def run_forward_rule(op: Op, rule: Any, wrt: tuple[int, ...], of: tuple[int, ...]) -> Pushforward:
    """Run a forward rule on fresh variables, and the pushforward that it returns on fresh tangents."""
    with recording(place=NOWHERE) as primal:
        params, inputs = open_inputs(op.inputs, primal, partial(is_parameter, op))
        outputs, pushforward = rule(*inputs, **({} if is_call(op) else with_defaults(op.kind, op.attributes)))
        results = [r.value for r in as_list(outputs)]
        with recording(place=NOWHERE) as forward:
            seeds = {i: forward.param(value.type) for i in wrt if (value := op.inputs[i]) is not None}
            given = [Array(seeds[i]) if i in seeds else None for i in range(len(op.inputs))]
            found = _checked(op, as_list(pushforward(*given)), results, of)
    ops = live_ops(forward.ops, found.values())
    block = Block(op.kind.removeprefix("call::").lower(), tuple(params), tuple(primal.ops), tuple(results))
    return _made(block, ops, [*seeds.values()], found, wrt, of)


def _checked(op: Op, made: Sequence[Any], results: Sequence[Value], of: Sequence[int]) -> dict[int, Value]:
    """Return the tangents of the requested results. Raises RuleError if they do not fit the results."""
    name = op.kind.removeprefix("call::")
    if len(made) != len(results):
        raise RuleError(
            f"the forward rule of {name} returned {len(made)} tangents for {len(results)} results",
            place=op.place,
            cure="A pushforward returns one tangent a result, None where there is none.",
        )
    found: dict[int, Value] = {}
    for position in of:
        tangent = made[position]
        if tangent is not None:
            check_tangent(tangent, results[position].type, position, name, op.place)
            found[position] = tangent.value
    return found
