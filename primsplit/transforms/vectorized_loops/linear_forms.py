"""Forms: values of all steps of a loop that are linear in its carries, and what elementwise operators make of them.

```
a = Mul(s, x); b = Add(a, y)   ->   the slope of b by s is x, its rest y
```
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primsplit.ir import Op
from primsplit.ops import op as operators
from primsplit.tracing.array import Array


@dataclass(frozen=True, slots=True)
class Form:
    """A value of all steps that is linear in the carries before each: its coefficient by carry, and the rest.

    A coefficient that is absent is 0, and so is a rest that is None. All broadcast with [n, ...].
    """

    slopes: dict[int, Array] = field(default_factory=dict)
    rest: Array | None = None


ONE: Any = np.float64(1.0)
"""A coefficient of 1, by which nothing is multiplied."""


def times(a: Array, b: Array) -> Array:
    """The product, without a factor that is 1."""
    return b if a is ONE else a if b is ONE else operators.Mul(a, b)


def _written_out(each: Op, x: Array) -> Any:
    """The coefficient as an array of the op's dtype, also where it is 1."""
    return np.ones((), each.outputs[0].type.dtype) if x is ONE else x


def _sum(each: Op, a: Form, b: Form) -> Form:
    slopes = {k: _added(each, a.slopes.get(k), b.slopes.get(k)) for k in dict.fromkeys((*a.slopes, *b.slopes))}
    return Form({k: s for k, s in slopes.items() if s is not None}, _added(each, a.rest, b.rest))


def _added(each: Op, a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return operators.Add(_written_out(each, a), _written_out(each, b))


def _difference(each: Op, a: Form, b: Form) -> Form:
    return _sum(each, a, _negative(each, b))


def _negative(each: Op, a: Form) -> Form:
    return _mapped(a, lambda x: operators.Neg(_written_out(each, x)))


def _product(_: Op, a: Form, b: Form) -> Form:
    form, factor = (a, b.rest) if a.slopes else (b, a.rest)
    assert factor is not None
    return _mapped(form, lambda x: times(x, factor))


def _quotient(each: Op, a: Form, b: Form) -> Form:
    assert b.rest is not None
    divisor = b.rest
    return _mapped(a, lambda x: operators.Div(_written_out(each, x), divisor))


def _choice(each: Op, condition: Form, a: Form, b: Form) -> Form:
    nothing = np.zeros((), each.outputs[0].type.dtype)

    def chosen(x: Array | None, y: Array | None) -> Array | None:
        if x is None and y is None:
            return None
        sides = (nothing if v is None else _written_out(each, v) for v in (x, y))
        return operators.Where(condition.rest, *sides)

    slopes = {k: chosen(a.slopes.get(k), b.slopes.get(k)) for k in dict.fromkeys((*a.slopes, *b.slopes))}
    return Form({k: s for k, s in slopes.items() if s is not None}, chosen(a.rest, b.rest))


def _mapped(form: Form, function: Any) -> Form:
    return Form({k: function(s) for k, s in form.slopes.items()}, None if form.rest is None else function(form.rest))


FORMULAS: dict[str, Callable[..., Form]] = {
    "Add": _sum,
    "Sub": _difference,
    "Neg": _negative,
    "Mul": _product,
    "Div": _quotient,
    "Identity": lambda _, a: a,
    "Where": _choice,
}


def value_of(form: Form, carries: Sequence[Array]) -> Array:
    """The value of a form for these carries before each step."""
    terms = [times(carries[k], slope) for k, slope in form.slopes.items()]
    terms += [] if form.rest is None else [form.rest]
    total = terms[0]
    for term in terms[1:]:
        total = operators.Add(total, term)
    return total
