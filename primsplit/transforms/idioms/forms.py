"""The patterns that are looked for before differentiation, and the walk that replaces what they fit.

```
Idiom(lambda x: pattern.Exp(pattern.Log(x)), check, build, exact="rounds")
```

A form whose inner values something else reads stays as it is. So does one that `check` refuses, with a reason.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from primsplit.ir import Block, Op, Var, same_types
from primsplit.rewrites.rewrites.matching import Capture, Match, Template
from primsplit.rewrites.rewriting import drop_dead_code, recorded_beside
from primsplit.rewrites.uses import Ops

Function = Callable[..., Any]


class Idiom:
    """Ops that a pattern fits, and what is recorded in their place.

    `wanted`, `check` and `build` are as in `rewrites.patterns.rewrite`. `exact` is "bit" if values keep their bits, and
    "rounds" if they differ by roundings.
    """

    def __init__(
        self, wanted: Function, check: Function | None, build: Function, *, exact: Literal["bit", "rounds"]
    ) -> None:
        parameters = inspect.signature(wanted).parameters.values()
        self.names = [p.name for p in parameters if p.default is p.empty]
        self.root = wanted(**{name: Capture(name) for name in self.names})
        self.template = Template(self.root)
        self.check = check
        self.build = build
        self.exact = exact

    def matches(self, op: Op, ops: Ops) -> Iterator[Match]:
        """Yield each way in which the form fits, its inner values read by nothing else."""
        return (match for match in self.template.matches(op, ops.made_by) if _is_closed(match, ops))


def _is_closed(match: Match, ops: Ops) -> bool:
    """Whether only the ops of a match read their values, the outermost one's aside."""
    own = {id(op) for op in match.ops}
    inner = (v for op in match.ops[1:] for v in op.outputs)
    return all(id(reader) in own for v in inner for reader in ops.readers.get(v, ()))


def by_kind(idioms: Sequence[Idiom]) -> Mapping[str, list[Idiom]]:
    """Return the idioms by the kind of their outermost op, in their order."""
    found: dict[str, list[Idiom]] = {}
    for idiom in idioms:
        found.setdefault(idiom.root.kind, []).append(idiom)
    return found


def replaced(block: Block, idioms: Mapping[str, Sequence[Idiom]], refusals: list[str] | None = None) -> Block:
    """Return the block with each form replaced by what its idiom builds; itself if there are none.

    Sub-blocks stay, as each is differentiated by itself. `refusals` gets why forms that fit were left as they are.
    """
    if block.kinds.isdisjoint(idioms):
        return block
    seen = Ops(block)
    ops: list[Op] = []
    for op in block.ops:
        ops += _in_place_of(op, idioms.get(op.kind, ()), seen, [] if refusals is None else refusals)
    if all(a is b for a, b in zip(ops, block.ops, strict=False)) and len(ops) == len(block.ops):
        return block
    return drop_dead_code(replace(block, ops=tuple(ops)))


def _in_place_of(op: Op, idioms: Sequence[Idiom], seen: Ops, refusals: list[str]) -> list[Op]:
    """Return the op, or the ops of the first idiom that fits it: the last one of them computes its result."""
    for idiom in idioms:
        for match in idiom.matches(op, seen):
            built = _built(op, idiom, match, refusals)
            if built:
                return built
    return [op]


def _built(op: Op, idiom: Idiom, match: Match, refusals: list[str]) -> list[Op]:
    """Return the ops that compute the result of a form in its place; none if the idiom refuses."""
    with recorded_beside(op) as around:
        for value in match.captured.values():
            if isinstance(value, Var):
                around.learn(value)
        arguments = match.arguments(idiom.names)
        refusal = None if idiom.check is None else idiom.check(*arguments)
        if refusal is not None:
            refusals.append(refusal)
            return []
        value = idiom.build(*arguments).value
    *before, last = around.ops
    if last.outputs != (value,) or not same_types(value.type, op.outputs[0].type):
        refusals.append(f"{value.type} is built in the place of {op.outputs[0].type}")
        return []
    return [*before, replace(last, outputs=op.outputs)]
