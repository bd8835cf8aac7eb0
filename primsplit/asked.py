"""What is asked of a traced array that only a run can answer, and what to write instead."""

import numpy as np

from primsplit import tracing
from primsplit.dims import Dim, Size
from primsplit.errors import MissingAttribute, NumberAsked
from primsplit.ir import Type


def literal_size(dim: Dim, what: str) -> int:
    """The size, where it is a literal. Raises NumberAsked, telling what asked for it."""
    if isinstance(dim, Size):
        raise NumberAsked(
            f"{what} asks for the size {dim}, which is known only at run time",
            place=tracing.user_place(),
            cure="Work on the whole axis at once, loop over it with ps.scan, or give it a fixed size in the spec.\n"
            "  To calculate with it, write x.shape[0].",
        )
    return dim


_INSTEAD = {
    "float()": "Write x.astype(float): a traced number stays traced.",
    "int()": "Write x.astype(int): a traced number stays traced.",
    "complex()": "Write x + 1j * y: a traced number stays traced.",
    "`in`": "Write np.any(x == item).",
    "an integer index": "For table[x] write np.take(table, x, axis=0), for a loop of x steps ps.fori_loop.",
    "a hash": "Give dicts, sets and functools.cache a known key: a place, a name, a number that is no traced value.",
    "the text": "Return the value from the function, and format it outside; a print may show its type, {x}.",
}
"""What to write instead, by the beginning of what was asked."""

_ELSE = (
    "Keep to NumPy's functions of whole arrays, x.astype(np.float64) for np.float64(x), and np.take(table, x, axis=0)\n"
    "  for table[x]; or pass the number as a static argument."
)


_OF_A_LIBRARY = (
    "Write it with NumPy's functions of whole arrays, or put the line into a function with @ps.primitive and give it\n"
    "  a rule with @ps.rrule; or pass what it computes as an argument."
)


def no_number(type: Type, what: str) -> NumberAsked:
    """The error for what wants the number that a value of this type is."""
    instead = next((cure for asked, cure in _INSTEAD.items() if what.startswith(asked)), "")
    called = "" if instead else tracing.called_function()
    return NumberAsked(
        f"{what} was asked of a value that is known only at run time",
        place=tracing.user_place(),
        because=(f"it is {type}", *([f"{called} asked for it"] if called else [])),
        cure=instead or (_OF_A_LIBRARY if called else _ELSE),
    )


def missing_attribute(name: str) -> AttributeError:
    """The error for an attribute that traced arrays do not have: at the user's line where NumPy's arrays have it."""
    if name.startswith("__") or not hasattr(np.ndarray, name):
        return AttributeError(f"a traced array has no attribute {name!r}")
    error = MissingAttribute(
        f"a traced array has no {name}: it is an array without memory",
        place=tracing.user_place(),
    )
    error.again = name == "device"  # which SciPy's functions of arrays of any library ask for
    return error
