"""Differentiate an elementwise function in the forward pass, so that one number per element is kept: `forward`.

```
y = f(x)   ->   y, s = f(x), f'(x) in the forward pass;  dx = s * dy in the backward pass
```
"""

import functools
from collections.abc import Callable
from typing import Any

from primsplit import tracing
from primsplit.ir import is_call, walk
from primsplit.ir.errors import RuleError
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import ones_like
from primsplit.tracing.calls.primitive import Primitive, rrule
from primsplit.tracing.calls.projection import project_to
from primsplit.transforms.boundaries import primitive
from primsplit.transforms.forward import jacobian_vector

Function = Callable[..., Any]


def forward(function: Function) -> Primitive:
    """Make `function`, an elementwise one of arrays that broadcast, one op that keeps only its derivatives.

    Its forward pass computes the value and the derivative with respect to each argument, by forward mode; its pullback
    multiplies. The arrays are real. A long chain of elementwise operations so keeps one array per argument instead of
    one per operation. Use as a decorator. Raises RuleError for a function with an operator that is not elementwise, for
    which this would not be the gradient.

    >>> gelu = ps.forward(lambda x: 0.5 * x * (1.0 + np.tanh(0.8 * (x + 0.04 * x**3))))
    >>> made = ps.split(lambda x: np.sum(gelu(x)), ps.spec("float32", [100]))
    >>> [row["kind"] for row in made.capture_table()]
    ['intermediate']
    """
    made: Primitive = primitive(_checked(function))
    made.takes_complex = False

    @rrule(made)
    def rule(*args: Any) -> tuple[Any, Function]:
        arrays = [as_array(a) for a in args]
        value, derivatives = None, []
        for position, array in enumerate(arrays):
            tangents = [ones_like(a) if i == position and a.type.is_float else None for i, a in enumerate(arrays)]
            if array.type.is_float:
                value, derivative = jacobian_vector(function, arrays, tangents)
                derivatives.append(derivative)
            else:
                derivatives.append(None)
        value = function(*args) if value is None else value

        def pullback(dy: Array) -> tuple[Array | None, ...]:
            pairs = zip(derivatives, arrays, strict=True)
            return tuple(None if d is None else project_to(a)(dy * d) for d, a in pairs)

        return value, pullback

    rule.__name__ = f"{made.name}_rule"
    return made


def _checked(function: Function) -> Function:
    """Return the function, refused if it records an operator that is not elementwise."""

    @functools.wraps(function)
    def checked(*args: Any) -> Any:
        if not tracing.is_recording():
            return function(*args)
        into = tracing.current()
        before = len(into.ops)
        result = function(*args)
        for recorded in into.ops[before:]:
            for inner in (recorded, *(o for b in recorded.blocks() for o in walk(b))):
                if not is_call(inner) and not traits(inner.kind).elementwise:
                    raise RuleError(
                        f"{getattr(function, '__name__', 'the function')} is given to ps.forward, and {inner.kind} is "
                        "not elementwise",
                        place=inner.place,
                        cure="Leave ps.forward away, or keep it to the elementwise part.",
                    )
        return result

    return checked
