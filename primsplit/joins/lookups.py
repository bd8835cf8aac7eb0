"""Lists and tuples of numbers that are indexed by a number that only the run knows: looked up in their stack."""

from typing import Any

from primsplit.array import Array
from primsplit.joins.growing import Grown, element


def item(held: Any, index: Any) -> Any:
    """`held[index]`; of what holds no numbers, or tuples of as many, Python's own."""
    is_asked = type(index) is Array and index.known() is None and index.dtype.kind in "iu" and index.shape == ()
    if not is_asked or type(held) not in {list, tuple}:
        return held[index]
    listed = Grown(held)
    stack = listed.stack_of_numbers()
    return held[index] if stack is None else element(Grown(None, stack, listed.most), index)
