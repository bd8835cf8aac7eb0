"""Record the bodies of a file's loops for types that hold in every step.

```
body for x: float32[3], but a step returns float32[4]   ->   body again for x: float32[changing]
```

The declared types of values inside are often wider than what is known around the loop. So a body is recorded for
carries of the first step's types, and again with unknown sizes if a step changes them, until it keeps them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import onnx

from primsplit import tracing
from primsplit.ir import Block, Type, Value, Var
from primsplit.ir.errors import ParseError
from primsplit.tracing.regions import outside, visible, widened

MOST_AGAIN = 5
"""The most nested loops that are recorded again at once: each doubles how often the innermost is recorded."""

Subgraph = Callable[[onnx.GraphProto, Sequence[Type] | None], Block]


def given(value: Value | None) -> Value:
    """Return an input that must be present. Raises ParseError."""
    if value is None:
        raise ParseError("an input is missing")
    return value


@contextmanager
def again() -> Iterator[None]:
    """Record a body once more inside, for other types. Raises ParseError if too many loops around do."""
    around = tracing.current()
    if around.again >= MOST_AGAIN:
        raise ParseError(
            f"more than {MOST_AGAIN} loops in each other change the sizes of what they carry",
            place=around.place,
            cure="Give the inputs shapes in which the sizes stay, or export the model with fewer loops in each other.",
        )
    around.again += 1
    try:
        yield
    finally:
        around.again -= 1


def steady(
    record: Callable[[Sequence[Type]], Block],
    starts: Sequence[Type],
    first: int,
    lead: int,
    stem: Callable[[int], str] = lambda _: "changing",
) -> tuple[Block, list[Type]]:
    """Return the body for carries of types that every step keeps, and those types; the first ones if they are kept.

    The carries begin at parameter `first` and at result `lead`. `stem` names the sizes of a carry that may change.
    """
    types = list(starts)
    body = record(types)
    while True:
        after = [r.type for r in body.results[lead : lead + len(types)]]
        known = visible([*body.params[first : first + len(types)]]) | visible([Var(t) for t in starts])
        for a, b in zip(types, after, strict=True):
            if a.dtype != b.dtype:
                raise ParseError(f"a carry of a loop is {a.dtype} before a step and {b.dtype} after it")
        triples = enumerate(zip(starts, types, after, strict=True))
        wider = [widened(s, a, outside(b, known), stem(k)) for k, (s, a, b) in triples]
        if wider == types:
            return body, types
        types = wider
        with again():
            body = record(types)


def after_steps(types: Sequence[Type], starts: Sequence[Value]) -> list[Type]:
    """Return the types of a loop's carries after it: a size that steps change is none of those inside the loop."""
    known = visible(starts)
    return [outside(t, known, "changed") for t in types]
