"""Write the lines of a `ps.fori_loop` that replace a user's loop over a number that only the run knows.

```
for i in range(n):              def step(i, y):
    y = y * x             ->        ...  # the lines of the loop
                                    return y
                                y = ps.fori_loop(0, n, step, y)
```
"""

import ast
from collections.abc import Iterator, Sequence

from primsplit.tracing.call_stack import innermost_frame
from primsplit.tracing.places import is_library
from primsplit.tracing.source_nodes import nodes_around


def as_fori_loop() -> tuple[str, ...]:
    """Return the lines for the loop over `range(...)` that the user's line begins.

    None if it is none, or carries no names.

    It carries the names that it assigns and that have a value before.
    """
    frame = innermost_frame(is_library)
    loops = [] if frame is None else [n for n in nodes_around(frame) if isinstance(n, ast.For)]
    if frame is None or not loops or (bounds := _bounds(loops[-1])) is None:
        return ()
    loop = loops[-1]
    names = [n for n in dict.fromkeys(_given(loop.body)) if n in frame.f_locals]
    if any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(loop)):
        counted = ", ".join([ast.unparse(loop.target), *names])
        return (f"It may end early: write it with ps.while_loop, which carries {counted}, and tests what ends it.",)
    return _lines(ast.unparse(loop.target), bounds, names) if names else ()


def _bounds(loop: ast.For) -> str | None:
    """Return the bounds of a loop that counts by ones; None for another loop."""
    call = loop.iter
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "range":
        return None
    if call.keywords or len(call.args) not in {1, 2} or not isinstance(loop.target, ast.Name) or loop.orelse:
        return None
    return ", ".join(["0"] * (2 - len(call.args)) + [ast.unparse(a) for a in call.args])


def _given(body: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that statements assign to, or to whose elements, in order."""
    for node in (inner for statement in body for inner in ast.walk(statement)):
        owner = node
        while isinstance(owner, ast.Subscript):
            owner = owner.value
        if isinstance(owner, ast.Name) and isinstance(getattr(node, "ctx", None), ast.Store):
            yield owner.id


def _lines(counter: str, bounds: str, names: Sequence[str]) -> tuple[str, ...]:
    if len(names) == 1:
        (name,) = names
        first, before = f"def step({counter}, {name}):", []
        given = told = name
    else:
        told = ", ".join(names)
        first, before = f"def step({counter}, carried):", [f"    {told} = carried"]
        given = f"({told})"
    last = [f"    return {told}", f"{told} = ps.fori_loop({bounds}, step, {given})"]
    lines = [first, *before, "    ...  # the lines of the loop", *last]
    return ("Write it as a loop that is recorded once, for any number of steps:", *(f"  {line}" for line in lines))
