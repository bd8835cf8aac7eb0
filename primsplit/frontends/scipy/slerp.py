"""scipy.spatial.transform.Slerp: interpolation between rotations, at a constant rate from each to the next."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import double, of_at_least, of_length
from primsplit.frontends.scipy.rotations import Turn, of
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.refusing import refusing
from primsplit.tracing.asarray import array_like


@dataclass(frozen=True)
class Slerp:
    """Times in growing order, and from each but the last the rotation there and the one to the next, as a vector."""

    times: Any
    starts: Turn
    ways: Any

    def __call__(self, times: Any) -> Turn:
        """The rotations at these times; a run fails outside of the range."""
        asked: Any = array_like(double(times))
        inside = (asked >= self.times[0]) & (asked <= self.times[-1])
        asked = refusing(asked, np.logical_not(inside), ValueError("Interpolation times must be within the range."))
        place: Any = np.clip(np.searchsorted(self.times, asked) - 1, 0, self.times.shape[0] - 2)
        before, after = self.times[place], self.times[place + 1]
        share: Any = (asked - before) / (after - before)
        return self.starts[place] * Turn.from_rotvec(self.ways[place] * share[..., None])


def slerp(times: Any, rotations: Any) -> Slerp:
    """The interpolant of rotations at times, either of which may be traced. Raises ShapeError."""
    places: Any = array_like(double(times))
    turns = of(rotations)
    if turns.single or places.ndim != 1 or not dims.could_be(turns.shape[0], places.shape[0]):
        raise ShapeError("Slerp takes a time for each of several rotations", place=tracing.user_place())
    places = of_at_least(of_length(places, turns.shape[0]), 2)
    return Slerp(places, turns[:-1], (turns[:-1].inv() * turns[1:]).as_rotvec())


def between(known: Any, times: Any) -> Turn:
    """The rotations at traced times between those of one of SciPy's."""
    return Slerp(array_like(known.times), of(known.rotations), array_like(known.rotvecs))(times)
