"""Random expressions of sizes, with the values that plain Python integers give."""

from hypothesis import strategies as st

from primsplit.ir import dims
from primsplit.ir.dims import Dim, symbol

N, M = symbol("N"), symbol("M")


VALUES = [{"N": n, "M": m} for n in (0, 1, 2, 3, 5, 8) for m in (0, 1, 2, 7)]


def binary(size: Dim, other: Dim, name: str) -> Dim:
    functions = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "max": dims.maximum,
        "min": dims.minimum, "//": dims.floor_divide, "%": dims.remainder,
    }  # fmt: skip
    return functions[name](size, other)


PLAIN = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "max": max, "min": min,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b,
}  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> tuple[Dim, list[int]]:
    """A size, and what plain Python integers make of the same expression for each of VALUES."""
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.sampled_from(["N", "M", "number"]))
        if leaf == "number":
            number = draw(st.integers(-3, 5))
            return number, [number] * len(VALUES)
        return symbol(leaf), [v[leaf] for v in VALUES]
    name = draw(st.sampled_from(list(PLAIN)))
    left, left_values = draw(expressions(depth - 1))
    if name in {"//", "%"}:
        divisor = draw(st.integers(1, 4))
        return binary(left, divisor, name), [PLAIN[name](a, divisor) for a in left_values]
    right, right_values = draw(expressions(depth - 1))
    return binary(left, right, name), [PLAIN[name](a, b) for a, b in zip(left_values, right_values, strict=True)]
