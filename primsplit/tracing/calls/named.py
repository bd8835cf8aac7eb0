"""Record a function of this package by name, and look the name up: `named`, `called_by_name` and `arguments_of`.

```
y = np.max(x, axis=1)   ->   y = call::max(x), listed as max(x, axis=1)
                             # arguments_of(op, extrema.NAMED["max"]) is {"axis": 1, "keepdims": False, ...}
```

The call holds the function's program, and has a rule of its own, for derivatives or batches. A pass that looks for a
maximum asks for the name; every other one sees a call, and reads its program where it has to. Calls are inlined before
a file is written. A user's primitive of the same name is another function, so `arguments_of` compares functions.
"""

from collections.abc import Callable
from typing import Any

from primsplit.ir import Op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.flat_rules import Flat
from primsplit.tracing.calls.primitive import Function, Primitive


def named(name: str) -> Callable[[Function], Primitive]:
    """Make a function a call that listings show by this name with its static arguments, in one line."""

    def make(function: Function) -> Primitive:
        made = Primitive(function, name)
        made.is_named = True
        return made

    return make


def called_by_name(call: Primitive, x: Array, **arguments: Any) -> Array:
    """Record a call with the arguments that are not the function's defaults, as a listing shows it."""
    defaults = _defaults(call)
    found: Array = call(x, **{n: v for n, v in arguments.items() if n not in defaults or v != defaults[n]})
    return found


def _defaults(call: Primitive) -> dict[str, Any]:
    return getattr(call.function, "__kwdefaults__", None) or {}


def arguments_of(op: Op, call: Primitive) -> dict[str, Any] | None:
    """Return the static arguments, by name, of an op that is a call of this function and no other; else None.

    Those that were not passed are the function's defaults.
    """
    for name in ("rule", "batch"):
        rule = op.attributes.get(name)
        if isinstance(rule, Flat) and rule.primitive is call:
            return {**_defaults(call), **rule.keywords}
    return None
