"""`primitive`: a function that stays one op; with `inline=False` also through derivatives and in a file's functions."""

from collections.abc import Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir import Block, Value, own_symbols, same_types
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.calls.primitive import Function, Primitive
from primsplit.tracing.calls.slots import Initial, Keeping
from primsplit.transforms.split import split_block


def primitive(
    function: Function | None = None, *, name: str = "", inline: bool = True, state: Initial | None = None
) -> Any:
    """Make a function one op of the program. Use as a decorator; give it a rule with `rrule` or `frule`.

    `name` is its name in listings and files, by default the function's.

    With `inline=False` it stays one op for whatever differentiates it: its forward pass and its pullback are calls too,
    and so are theirs. A file of `form="functions"` keeps them as model-local functions; every other form is written
    without calls.

    With `state`, initial values by name (or a function of the arguments that returns them), the function takes an array
    of each name by keyword, may write to it, and gets it back the next time that the same line calls it: a starting
    point from the last solution, running statistics. Each call site keeps its own; its rules get them too. See
    `ps.state` for how a program and a file carry them.

    Its arguments and result may be nested; an argument that is neither array nor float is static, and it is recorded
    once for each signature. For NumPy arrays outside of a trace it does what the function itself does; what it writes
    to its arguments stays inside of it. Raises TraceError if it has a rule and reads a traced value that is no
    argument.

    >>> @ps.primitive
    ... def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> [op.kind for op in ps.trace(lambda x: softplus(x) + 1.0, ps.spec("float64")).block.ops]
    ['call::softplus', 'Add']
    """

    def made(given: Function) -> Primitive:
        bounded = None if inline else Bounded
        found = Primitive(given, name, bounded) if state is None else Keeping(given, name, bounded, state)
        found.takes_complex = True
        return found

    return made if function is None else made(function)


class Bounded:
    """The reverse rule of a call that stays one: calls of the body's forward pass and of its pullback."""

    def __init__(self, name: str, body: Block) -> None:
        self.name = name
        self.body = body

    def __call__(self, *inputs: Array) -> tuple[list[Array], Function]:
        name, body = self.name, _met(self.body, inputs)
        wrt = [i for i, x in enumerate(inputs) if x.type.is_float]
        of = [i for i, r in enumerate(body.results) if r.type.is_float]
        split = split_block(body, wrt, of)
        stored = split.stored()
        primal = split.primal
        values = _call(f"{name}__forward", split.forward, inputs) if stored else _call(name, primal, inputs)
        outputs = values[: len(primal.results)]
        known: dict[Value, Array] = dict(zip(primal.params, inputs, strict=True))
        known.update({r: o for r, o in zip(primal.results, outputs, strict=True) if r not in known})
        known.update(zip(stored, values[len(outputs) :], strict=True))

        def pullback(*cotangents: Array | None) -> list[Array | None]:
            given = [zeros_like(outputs[i]) if (c := cotangents[i]) is None else c for i in split.of]
            found = _call(f"{name}__pullback", split.pullback, [*(known[c] for c in split.captures), *given])
            gradients = dict(zip(split.targets, found, strict=True))
            return [gradients.get(i) for i in range(len(inputs))]

        return outputs, pullback


def _met(body: Block, inputs: Sequence[Array]) -> Block:
    """Return the body for these inputs: with their sizes, and new symbols for sizes that depend on data.

    A program that holds the call may have been inlined since, and twice.
    """
    pairs = zip(body.params, inputs, strict=True)
    if all(same_types(p.type, x.type) for p, x in pairs) and not own_symbols(body):
        return body
    with tracing.recording() as again:
        params = [again.param(x.type, p.hint) for p, x in zip(body.params, inputs, strict=True)]
        results = tracing.inline(body, params)
    return tracing.close(body.name, params, again, results)


def _call(name: str, body: Block, inputs: Sequence[Array]) -> list[Array]:
    """Record a call that stays one."""
    attributes = {"inline": False, "rule": Bounded(name, body)}
    outputs = tracing.emit_call(name, body, [a.value for a in inputs], attributes)
    return [Array(v) for v in outputs]
