"""Checks a local rewrite: it is applied where it should be, and changes no result."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import Op
from primsplit.ir.errors import Place
from primsplit.programs.api import trace
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.rewrites.patterns import Rewrite
from primsplit.rewrites.rewrites.table import Rewritten, Site
from primsplit.rewrites.simplify import Simplifying
from primsplit.testing.failures import CheckFailed
from primsplit.testing.reference import evaluate

Arrays = Sequence[npt.NDArray[Any]]
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 6e-8, -6e-8, 65504.0)
"""Numbers that a rewrite may treat differently; every float dtype has them."""


def check_rewrite(
    rewrite: Rewrite, function: Callable[..., Any], *inputs: npt.ArrayLike, rtol: float | None = None
) -> int:
    """Check a rewrite on a function of arrays that it changes, and return how often it is applied.

    The function's program is run with and without it, by onnx's reference: on these arrays, and, if the rewrite is
    `exact="bit"`, on arrays of the same shapes that hold infinities, NaN, zeros of both signs and denormal numbers. The
    results must then be equal to the bit, up to the payload of NaN; otherwise they must agree to `rtol`, by default a
    few roundings of their dtype. Raises CheckFailed if the rewrite is not applied ("used"), with the reason for which
    its `check` refused, or if results differ ("same").

    >>> from primsplit import extend
    >>> halves = extend.rewrite(lambda x: extend.pattern.Div(x, 2.0), None, lambda x: x * 0.5, exact="bit")
    >>> ps.testing.check_rewrite(halves, lambda x: x / 2.0 + 1.0, np.arange(3.0))
    1
    >>> halves.remove()
    """
    arrays = [np.asarray(x) for x in inputs]
    block = inline_calls(trace(function, *arrays).block)
    walk = _Using(rewrite)
    after = walk.run(block)
    if not walk.uses:
        told = [f"{reason} ({'' if place is None else place})" for place, reason in walk.refused]
        raise CheckFailed("used", "; ".join(told) or f"{rewrite!r} fits no ops of {block.name}")
    points = [arrays]
    if rewrite.exact == "bit":
        points += [_odd(arrays, shift) for shift in range(len(ODD))]
    for point in points:
        with np.errstate(all="ignore"):
            wanted, found = evaluate(block, point, None), evaluate(after, point, None)
        for a, b in zip(found, wanted, strict=True):
            _compare(rewrite, a, b, rtol)
    return walk.uses


class _Using(Simplifying):
    """The walk of `simplify` with one rewrite alone. `refused` says why its `check` left ops, and where."""

    def __init__(self, rewrite: Rewrite) -> None:
        super().__init__()
        self.rewrite = rewrite
        self.uses = 0
        self.refused: list[tuple[Place | None, str]] = []

    def rewritten(self, op: Op) -> Rewritten:
        """Return the replacement that the rewrite makes for the op."""
        if op.kind != self.rewrite.root.kind:
            return None
        for match in self.rewrite.matches(op, self.made_by):
            with self.rewrite.recorded(op, match):
                reason = self.rewrite.refusal(op, match.arguments(self.rewrite.names))
            if reason is not None:
                self.refused.append((op.place, reason))
        found = self.rewrite(Site(op, self.made_by, self.add))
        self.uses += found is not None
        return found


def _odd(arrays: Arrays, shift: int) -> list[npt.NDArray[Any]]:
    """The arrays with odd numbers in the place of floats, starting with a different one in each."""
    found = []
    for position, x in enumerate(arrays):
        numbers = np.roll(np.asarray(ODD), shift * (position + 1) + position)
        found.append(np.resize(numbers, x.shape).astype(x.dtype) if x.dtype.kind == "f" else x)
    return found


def _compare(rewrite: Rewrite, found: npt.NDArray[Any], wanted: npt.NDArray[Any], rtol: float | None) -> None:
    if rewrite.exact == "bit" or found.dtype.kind != "f":
        same = (found == wanted) | ((found != found) & (wanted != wanted))  # noqa: PLR0124  # NaN is NaN
        same &= (found.dtype.kind != "f") | (np.signbit(found) == np.signbit(wanted)) | (found != found)  # noqa: PLR0124
    else:
        tolerance = RTOL.get(found.dtype.name, 1e-5) if rtol is None else rtol
        same = np.isclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not np.all(same):
        at = np.unravel_index(int(np.argmin(same)), np.shape(same))
        raise CheckFailed("same", f"{rewrite!r} gives {found[at]!r} where {wanted[at]!r} is right")
