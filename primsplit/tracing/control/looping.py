"""`while_loop` and `fori_loop`: a body that runs as often as the data say.

```
ps.while_loop(lambda x: x > 1, lambda x: x / 2, x)   ->   Loop(None, x > 1, x): c = Div(b, 2); return c > 1, c
```
"""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.control.bodies import as_loop, record_body
from primsplit.tracing.control.states import Carried, with_states
from primsplit.tracing.control.structure import Function, arrays_of, plain_integer, traced_integer
from primsplit.tracing.functionlike import name_of
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.regions import emit_loop

BOUND = "a loop's bound"


def while_loop(condition: Function, body: Function, init: Any) -> Any:
    """Return the last carry of `while condition(carry): carry = body(carry)`, starting from `init`.

    The carry keeps its structure, dtypes and numbers of axes; a size that a step changes is known only at run time. In
    the file it is a Loop; the gradient walks back over the steps that were run, however many there were, none included.
    Raises TraceError, DtypeError or ShapeError if a step returns another carry.

    >>> halved = lambda x: ps.while_loop(lambda x: x > 1, lambda x: x / 2, x)
    >>> [float(ps.grad(halved)(x)) for x in (0.5, 6.0)]
    [1.0, 0.125]
    """
    if not tracing.is_recording():
        carry = init
        while np.asarray(condition(carry)).item():
            carry = body(trees.owned(carry))
        return trees.owned(carry)

    def recorded(carried: Carried) -> tuple[Any, Any]:
        def step(carry: Any, _: list[Array]) -> tuple[Any, None]:
            return carried.step(carry, lambda own: (body(own), None))

        def goes_on(carry: Any) -> Any:
            return carried.look(carry, condition)

        starts, spec = arrays_of(carried.start(init))
        recorded_body, block = record_body(name_of(body), starts, spec, [], step, goes_on)
        first = scalar_condition(goes_on(trees.unflatten(recorded_body.spec, recorded_body.starts)))
        loop = as_loop(block, len(recorded_body.starts), recorded_body.again)
        outputs = emit_loop(None, first, loop, [a.value for a in recorded_body.starts], recorded_body.last_types())
        return recorded_body.unflatten(outputs)

    return with_states(recorded)[0]


def fori_loop(lower: Any, upper: Any, body: Function, init: Any) -> Any:
    """Return the last carry of `for i in range(lower, upper): carry = body(i, carry)`, starting from `init`.

    The bounds are integers, known or not. The carry obeys the rules of `while_loop`. In the file it is a Loop. Raises
    DtypeError for a bound that is no integer, and what `while_loop` raises.

    >>> power = lambda x, n: ps.fori_loop(0, n, lambda i, y: y * x, 1.0)
    >>> [float(ps.grad(power)(2.0, n)) for n in (0, 1, 3)]
    [0.0, 1.0, 12.0]
    """
    if not tracing.is_recording():
        carry = init
        for i in range(plain_integer(lower, BOUND), plain_integer(upper, BOUND)):
            carry = body(i, trees.owned(carry))
        return trees.owned(carry)
    first, last = traced_integer(lower, BOUND), traced_integer(upper, BOUND)

    def recorded(carried: Carried) -> tuple[Any, Any]:
        def step(carry: Any, extras: list[Array]) -> tuple[Any, None]:
            counter: Array = op.Add(extras[0], first)
            integer_ranges.note_range(counter.value, -integer_ranges.COUNTED, integer_ranges.COUNTED)
            number = Array(counter.value, weak=True, scalar=True)  # promoted as Python's integer is
            return carried.step(carry, lambda own: (body(number, own), None))

        starts, spec = arrays_of(carried.start(init))
        recorded_body, block = record_body(name_of(body), starts, spec, [Type(np.int64, ())], step)
        trips = op.Sub(last, first).value
        loop = as_loop(block, len(recorded_body.starts), None)
        outputs = emit_loop(trips, None, loop, [a.value for a in recorded_body.starts], recorded_body.last_types())
        return recorded_body.unflatten(outputs)

    return with_states(recorded)[0]
