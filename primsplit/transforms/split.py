"""The heart: compute the Split of an op from its rule, and compose the Splits of a block's ops to that of the block.

A pullback that needs a value for its shape alone captures the shape: Shape ops move to the primal. Views of inputs
(Reshape, Slice, Transpose) are recomputed rather than kept (`rewrites.recompute`).

```
f(x):                        f(x):                       f.pullback(y, x, d_c):
  y = Exp(x)           ->      y = Exp(x)                  d_y = Mul(d_c, x);  e = Mul(d_c, y)
  c = Mul(y, x)                c = Mul(y, x)               f = Mul(d_y, y)
  return c                     return c                    d_x = Add(e, f);  return d_x
```
"""

from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

from primsplit.ir import (
    NOWHERE,
    Block,
    Const,
    Op,
    Renaming,
    Value,
    Var,
    free,
    has_blocks,
    is_call,
    live_ops,
    operands,
    reads,
    rename,
    rename_block,
    renamed,
)
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ir.analysis.orders import SUMMED, remark_of, tell_order
from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.ir.caching.limited import Limited
from primsplit.ir.dims import Dim, symbols
from primsplit.ir.errors import MissingRule, PrimsplitError, RuleError
from primsplit.ir.notation.listing import Tape
from primsplit.ir.parts import Split
from primsplit.ir.passes import imported
from primsplit.ops import op as operators
from primsplit.ops.traits import moved_inputs
from primsplit.ops.verify import verified
from primsplit.rewrites.cse import attribute_key
from primsplit.rewrites.recompute import VIEWS, read_views_again
from primsplit.rules.activity import active_vars, needed_vars
from primsplit.rules.bodies import body_of
from primsplit.rules.table import BLOCK_RULES, RULES, UNSUPPORTED, Rule, Site, with_defaults
from primsplit.tracing import append, fresh_stack, name_after, recording
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.own_errors import own_errors
from primsplit.tracing.registering import Epoch
from primsplit.transforms.even_slopes import CANCELLED, Arrival, EvenSlopes
from primsplit.transforms.idioms.rewritten import rewritten
from primsplit.transforms.policies import with_policy
from primsplit.transforms.primal_list import PrimalList
from primsplit.transforms.rule_run import run_rule
from primsplit.transforms.zero_slopes import Settle, marked, settled

merge_scatters = imported("rewrites.merge_scatter.merge_scatters", "Add ScatterND|Pad")
WANTED = "its gradient is wanted because it depends on"


def split_block(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Split:
    """Return the split of a block with respect to some parameters, for cotangents of some results.

    Numbers that are quantized and dequantized have the straight-through derivative. Raises MissingRule at the user's
    line if a needed operator has no derivative.
    """
    return _split(block, wrt, of, marked)


def split_whole(block: Block, wrt: Sequence[int], of: Sequence[int]) -> Split:
    """Return the split of a whole program, which is no part of another derivative: its quotients 0 / 0 are settled."""
    return _split(block, wrt, of, settled)


def _split(block: Block, wrt: Sequence[int], of: Sequence[int], settle: Settle) -> Split:
    """Return the split of a block, the conventions of its slopes at 0 settled."""
    with own_errors(f"the derivative of {block.name} cannot be made", RuleError):
        composition = _Composition(HOOKS.with_straight_through(block), wrt, of)
        composition.run_forward()
        made = composition.run_backward()
    verified(made.joint())
    ops = settle(made.primal.ops, made.pullback, [made.primal.params[i] for i in made.wrt])
    if ops is made.pullback.ops:
        return made
    pullback = replace(made.pullback, ops=tuple(live_ops(ops, made.pullback.results)), params=())
    captures = tuple(v for v in free(pullback) if v not in made.cotangents)
    return replace(made, pullback=replace(pullback, params=(*captures, *made.cotangents)), captures=captures)


class _Composition:
    """One pass forward through a block's ops, collecting their primals, and one back, collecting their pullbacks."""

    def __init__(self, block: Block, wrt: Sequence[int], of: Sequence[int]) -> None:
        self.block = block
        self.wrt = tuple(wrt)
        self.of = tuple(of)
        targets = [block.params[i] for i in wrt]
        self.active = active_vars(block.ops, targets)
        self.needed = needed_vars(block.ops, self.active, [block.results[i] for i in of])
        self.primal = PrimalList()
        self.steps: list[tuple[Op, Split, Renaming, dict[str, Dim]]] = []

    def run_forward(self) -> None:
        """Inline the primal of each op that the gradient goes through; copy the others."""
        reached = {self.block.params[i] for i in self.wrt}
        for op in self.block.ops:
            of = tuple(i for i, v in enumerate(op.outputs) if v in self.needed)
            wrt = tuple(
                i for i, v in enumerate(operands(op)) if isinstance(v, Var) and v in self.needed and v in reached
            )
            if not of or not wrt:
                self.primal.copy(op)
                continue
            split = self._split(op, wrt, of)
            self.steps.append((op, split, *self.primal.inline(op, split.primal)))
            if split.targets:
                reached.update(op.outputs)

    def _split(self, op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Split:
        try:
            return _with_origins(split_op(op, wrt, of), op)
        except PrimsplitError as error:
            is_inside = is_call(op) or has_blocks(op)
            if error.place is None or error.place is NOWHERE or not is_inside:
                error.place = op.place
            if isinstance(error, MissingRule) and len(error.because) < 2:
                why = self._why_wanted(op)
                error.because = (*(line for line in error.because if not why or not line.startswith(WANTED)), *why)
            tell_order(error, op)
            error.tape = Tape(self.block, op)
            raise
        except Exception as error:
            types = ", ".join(str(v.type) for v in op.inputs if v is not None)
            error.add_note(f"in the rule of {op.kind.removeprefix('call::')}, for {types}, at {op.place}")
            raise

    def _why_wanted(self, op: Op) -> tuple[str, ...]:
        """Return a line that names the input of the program for which the op's gradient is needed."""
        for position in self.wrt:
            source = self.block.params[position]
            if any(v in active_vars(self.block.ops, [source]) for v in reads(op)):
                return (f"{WANTED} {source.hint or f'input {position}'}",)
        return ()

    def run_backward(self) -> Split:
        """Inline the pullbacks in reverse, adding up cotangents that arrive on several paths."""
        block = self.block
        results = tuple(map(self.primal.value, block.results))
        with recording(place=NOWHERE, remark=SUMMED) as recorded:
            seeds = [recorded.param(results[i].type, f"d_{_hint(results[i], i)}") for i in self.of]
            cotangents: dict[Var, Array] = {}
            slopes = EvenSlopes(self.primal.ops, recorded.ops, self.primal.value)
            for seed, position in zip(seeds, self.of, strict=True):
                original = block.results[position]
                if isinstance(original, Var) and original in self.active:
                    _accumulate(cotangents, original, Array(seed))
                    slopes.arrivals[original].append(Arrival(seed))
            for op, split, renaming, sizes in reversed(self.steps):
                self._inline_pullback(op, split, renaming, sizes, cotangents, slopes)
            connected = [i for i in self.wrt if block.params[i] in cotangents]
            gradients = tuple(cotangents[block.params[i]].value for i in connected)
            name_after({v: c.value for v, c in cotangents.items()}, recorded.ops, "d_")
        ops = live_ops(merge_scatters(Block("", (), tuple(recorded.ops), gradients)).ops, gradients)
        primal, ops = _hoist_shapes(self.primal.ops, ops, set(seeds))
        views = [op for op in primal if op.kind in VIEWS]
        ops = read_views_again(ops, views, block.params) if views else ops
        pullback = Block(f"{block.name}.pullback", (), tuple(ops), gradients)
        captures = tuple(v for v in free(pullback) if v not in seeds)
        pullback = Block(pullback.name, (*captures, *seeds), pullback.ops, gradients)
        whole = Block(block.name, block.params, tuple(primal), results)
        return Split(whole, pullback, captures, self.wrt, tuple(connected), self.of)

    def _inline_pullback(
        self,
        op: Op,
        split: Split,
        primal_names: Renaming,
        sizes: dict[str, Dim],
        cotangents: dict[Var, Array],
        slopes: EvenSlopes,
    ) -> None:
        arrived = [cotangents.get(op.outputs[i]) for i in split.of]
        if all(a is None for a in arrived):
            return
        renaming = dict(primal_names)
        for param, array, position in zip(split.cotangents, arrived, split.of, strict=True):
            value = self.primal.value(op.outputs[position])
            renaming[param] = (zeros_like(Array(value)) if array is None else array).value
            slopes.sources[renaming[param]].append(op.outputs[position])
        remark = remark_of("pullback", op)
        sources = operands(op)
        given = dict(renaming)
        is_moved = len(split.cotangents) == 1 and bool(moved_inputs(op))
        for inner in split.pullback.ops:
            record = slopes.append if inner.kind in CANCELLED else append
            record(rename(inner, renaming, place=op.place, remark=remark, sizes=sizes))
        for position, result in zip(split.targets, split.pullback.results, strict=True):
            target = sources[position]
            if isinstance(target, Var):
                arrived_here = renamed(result, renaming)
                _accumulate(cotangents, target, Array(arrived_here))
                arrival = _moved(op, split, result, arrived_here, given, sizes) if is_moved else Arrival(arrived_here)
                slopes.arrivals[target].append(arrival)


def _hint(value: Value, position: int) -> str:
    return value.hint or f"y{position}"


def _moved(op: Op, split: Split, result: Value, cotangent: Value, names: Renaming, sizes: dict[str, Dim]) -> Arrival:
    """Return the arrival of a cotangent from the pullback of an op that moves elements, with the pullback itself."""

    def pulled(other: Array) -> Array:
        renaming = {**names, split.cotangents[0]: other.value}
        for inner in split.pullback.ops:
            append(rename(inner, renaming, place=op.place, sizes=sizes))
        return Array(renamed(result, renaming))

    return Arrival(cotangent, op.outputs[split.of[0]], pulled)


def _accumulate(cotangents: dict[Var, Array], var: Var, new: Array) -> None:
    known = cotangents.get(var)
    cotangents[var] = new if known is None else operators.Add(known, new)


def _hoist_shapes(primal: list[Op], pullback: list[Op], seeds: set[Var]) -> tuple[list[Op], list[Op]]:
    """Move Shape ops from the pullback to the primal if a value would be captured for its shape alone."""
    inside = {v for op in pullback for v in op.outputs} | seeds
    wanted_whole = {v for op in pullback if op.kind not in SHAPES for v in reads(op)}

    def is_hoisted(op: Op) -> bool:
        source = op.inputs[0] if op.inputs else None
        return op.kind in SHAPES and source not in inside and source not in wanted_whole

    hoisted = [op for op in pullback if is_hoisted(op)]
    return [*primal, *hoisted], [op for op in pullback if not is_hoisted(op)]


# The split of one op.

_CACHE_LIMIT = 8192
_cache: Limited[Any, Split] = Limited(_CACHE_LIMIT)


def split_op(op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Split:
    """Return the split of one op, from its rule.

    Run once per signature (operator, types, attributes, small constants).
    """
    if is_call(op):
        return _split_call(op, wrt, of)
    if has_blocks(op):
        return _split_nested(op, wrt, of)
    entry = RULES.get(op.kind)
    rule = None if entry is not None and entry.form == "through_body" else find_rule(op)
    key = (op.kind, tuple(_input_key(v) for v in op.inputs), attribute_key(op.attributes), wrt, of, Epoch.count)
    known = _cache.get(key)
    if known is not None:
        return known
    op = _without_origins(op)
    with fresh_stack():
        if rule is None:
            split = _split_body(op, wrt, of)
        else:
            attributes = with_defaults(op.kind, op.attributes)
            split = run_rule(op, rule, attributes, wrt, of, name=op.kind.lower())
    if not _makes_symbols(split, op):
        _cache[key] = split
    return split


def _split_body(op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Split:
    """Return the split of an op's function body, with its parameters counted as inputs of the op."""
    body, positions = body_of(op)
    made = split_block(body, [positions.index(i) for i in wrt], of)
    return replace(made, wrt=wrt, targets=tuple(positions[i] for i in made.targets))


def _split_nested(op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Split:
    """Return the split of an op with sub-blocks; their captures are further inputs of it."""
    rule = BLOCK_RULES.get(op.kind)
    if rule is None:
        raise _missing(op)
    sources = operands(op)
    count = len(op.inputs)

    def run(*arrays: Array | None) -> tuple[Any, Any]:
        renaming: Renaming = {
            v: a.value
            for v, a in zip(sources[count:], arrays[count:], strict=True)
            if isinstance(v, Var) and a is not None
        }
        attributes = {k: rename_block(v, renaming) if isinstance(v, Block) else v for k, v in op.attributes.items()}
        outer = tuple(a for a in arrays[count:] if a is not None)
        return rule(Site(op, attributes, arrays[:count], outer, wrt, of, split_block))

    with fresh_stack():
        return run_rule(replace(op, inputs=sources), run, {}, wrt, of, name=op.kind.lower())


def find_rule(op: Op) -> Rule:
    """Return the rule of an op. Raises MissingRule."""
    entry = RULES.get(op.kind)
    if entry is not None and entry.rule is not None:
        return entry.rule
    raise _missing(op)


def _missing(op: Op) -> MissingRule:
    because = UNSUPPORTED.get(op.kind)
    types = ", ".join(str(v.type) for v in op.inputs if v is not None)
    return MissingRule(
        f"{op.kind} has no derivative" + (f": {because}" if because else " rule"),
        place=op.place,
        because=(f"it takes {types}",),
        cure=(
            "If its inputs need no gradient, write ps.stop_gradient(x). Else wrap the line in a function f with",
            "@ps.primitive, and give it a rule: @ps.rrule(f) def rule(x): return f(x), lambda dy: (dx,)",
        ),
    )


def _split_call(op: Op, wrt: tuple[int, ...], of: tuple[int, ...]) -> Split:
    """Return the split of a call: a primitive has one body for each signature, so its split is computed once too."""
    body, rule, policy = op.attributes["body"], op.attributes.get("rule"), op.attributes.get("policy", "default")
    types = tuple(v and (v.type.key, _size_key(v)) for v in op.inputs)
    key = (id(body), _rule_key(rule), policy, types, wrt, of, Epoch.count)
    known = _call_cache.get(key)
    if known is not None:
        return known[0]
    if rule is None:
        whole = body if policy == "default" else rewritten(body, wrt, of)
        split = with_policy(split_block(whole, wrt, of), policy, is_part=True)
    else:
        split = run_rule(op, rule, {}, wrt, of, name=op.kind.removeprefix("call::"))
    if not (_makes_symbols(split, op) or free(split.primal) or free(split.pullback)):
        _call_cache[key] = (split, body)
    return split


def _rule_key(rule: Any) -> Any:
    """Return a key of what a user's rule reads. Any other rule is determined by the body."""
    return fingerprint(rule) if isinstance(rule, FunctionType) or hasattr(type(rule), "depends_on") else None


_call_cache: Limited[Any, tuple[Split, Block]] = Limited(_CACHE_LIMIT)
"""The body is kept with its split, so that its id stays its own."""


def _input_key(value: Value | None) -> Any:
    if isinstance(value, Const) and value.is_small:
        return (value.type.key, value.numpy().tobytes())
    return None if value is None else (value.type.key, _size_key(value))


def _without_origins(op: Op) -> Op:
    """Return the op with small constants that have no name, place or file: its split serves other programs too."""
    return replace(op, inputs=tuple(Const(v.numpy()) if isinstance(v, Const) and v.is_small else v for v in op.inputs))


def _with_origins(split: Split, op: Op) -> Split:
    """Return the split with the op's own constants, which have names, in the place of equal ones."""
    own = {v.key: v for v in op.inputs if isinstance(v, Const) and v.is_small and (v.hint or v.place)}
    if not own:
        return split

    def renamed_in(block: Block) -> Block:
        return replace(block, ops=tuple(replace(inner, inputs=tuple(map(named, inner.inputs))) for inner in block.ops))

    def named(value: Value | None) -> Value | None:
        return own.get(value.key, value) if isinstance(value, Const) and value.is_small else value

    return replace(split, primal=renamed_in(split.primal), pullback=renamed_in(split.pullback))


def _size_key(value: Value) -> tuple[str, ...] | None:
    return None if value.sizes is None else tuple(map(str, value.sizes))


def _makes_symbols(split: Split, op: Op) -> bool:
    """Whether the split introduces sizes that depend on data: another use of the op must get other symbols."""
    known = {s for v in op.inputs if v is not None for d in v.type.shape or () for s in symbols(d)}
    made = (v for inner in (*split.primal.ops, *split.pullback.ops) for v in inner.outputs)
    return any(symbols(d) - known for v in made for d in v.type.shape or ())


def gradient_or_zeros(split: Split, gradients: Sequence[Array], values: Sequence[Array]) -> list[Array]:
    """Return one cotangent for each parameter in `wrt`: zeros if the results do not depend on it."""
    by_position = dict(zip(split.targets, gradients, strict=True))
    if unknown := set(by_position) - set(split.wrt):
        raise PrimsplitError(f"the split has no parameters {unknown}")
    return [by_position[i] if i in by_position else zeros_like(v) for i, v in zip(split.wrt, values, strict=True)]
