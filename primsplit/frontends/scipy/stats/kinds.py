"""Builds a distribution's methods from the logarithm of its standard density and other known functions."""

import copy
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from primsplit.frontends.scipy.stats.moments import Moments
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.validity import defined, where_valid
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like

Function = Callable[..., Any]

TINY = float(np.finfo(np.float64).tiny)
"""The start of a density that is undefined at 0."""
LARGEST = float(np.finfo(np.float64).max)


def both(*conditions: Any) -> Any:
    """Return where all of these hold; conditions known to hold everywhere are left out."""
    open_ones = [c for c in conditions if isinstance(c, Array) or not np.all(c)]
    return functools.reduce(np.logical_and, open_ones) if open_ones else True


def all_positive(*shapes: Any) -> Any:
    """Return where all shapes are above 0, as SciPy requires for most families."""
    return both(*(s > 0 for s in shapes))


def _known_or_traced(x: Array) -> Any:
    """The numbers of a constant, else the array."""
    known = x.known()
    return x if known is None else known


class Bounded(NamedTuple):
    """A function whose support the shapes bound, and where a number is outside of it: the value there has no part."""

    is_outside: Any
    value: Any


class _Known:
    """The quantities that depend only on the parameters, where `moments` are known; float64, as in SciPy.

    `valid` tells where the shapes are those of a distribution. Shapes and scales that are none become NaN before
    anything is computed of them, so that each function and its derivatives are NaN there, as in SciPy.
    """

    names: tuple[str, ...]
    own: tuple[str, ...]
    """The functions of a number and the parameters."""
    valid: Function
    moments: Moments | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The functions that there are."""
        middle = ("median", "interval") if "ppf" in self.own else ()
        if self.moments is None:
            return (*self.own, *middle)
        return (*self.own, *middle, "mean", "var", "std", *(("entropy",) if self.moments.entropy else ()))

    def knowing(self, moments: Moments) -> Self:
        """The family, with its moments."""
        found = copy.copy(self)
        found.moments = moments
        return found

    def _checked(self, parameters: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Array], Array, Array, Any]:
        """The shapes, the place and the scale as they are given, and where they are those of a distribution."""
        found = _bound(self.names, parameters, named)
        if "scale" not in self.names:
            found.append(array_like(1.0))
        *shapes, loc, scale = found
        is_valid = both(self.valid(*map(_known_or_traced, shapes)), _known_or_traced(scale) > 0)
        return shapes, loc, scale, is_valid

    def _parameters(self, parameters: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Array], Array, Array]:
        """The shapes, the place and the scale, all NaN where one is NaN or they are those of no distribution."""
        shapes, loc, scale, is_valid = self._checked(parameters, named)
        is_place = ~np.isnan(_known_or_traced(loc))
        *shapes, loc, scale = where_valid(both(is_valid, is_place), *shapes, loc, scale)
        return shapes, loc, scale

    def _moment(self, of: Function, parameters: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A function of the shapes and the scale, which the place has a part in only where it is NaN."""
        shapes, loc, scale = self._parameters(parameters, named)
        found = of(shapes, scale)
        if loc.known() is None or loc.ndim:
            found = found + 0.0 * np.where(np.isinf(loc), 0.0, loc)
        return defined(found, *shapes, loc, scale)

    def mean(self, *parameters: Any, **named: Any) -> Any:
        """The mean."""
        assert self.moments is not None
        shapes, loc, scale = self._parameters(parameters, named)
        return defined(loc + scale * self.moments.mean(*shapes), *shapes, loc, scale)

    def var(self, *parameters: Any, **named: Any) -> Any:
        """The variance."""
        assert self.moments is not None
        variance = self.moments.variance
        return self._moment(lambda shapes, scale: variance(*shapes) * scale**2, parameters, named)

    def std(self, *parameters: Any, **named: Any) -> Any:
        """The standard deviation."""
        assert self.moments is not None
        variance = self.moments.variance
        return self._moment(lambda shapes, scale: np.sqrt(variance(*shapes)) * scale, parameters, named)

    def entropy(self, *parameters: Any, **named: Any) -> Any:
        """The differential entropy."""
        assert self.moments is not None
        entropy = self.moments.entropy
        assert entropy is not None
        return self._moment(lambda shapes, scale: entropy(*shapes) + np.log(scale), parameters, named)


class Continuous(_Known):
    """`logpdf(x, *shapes, loc=0, scale=1)` and the like, whose arguments may all be traced; float64, as in SciPy.

    `density` is the log density of the standard distribution between `low` and `high`. `parts` are the probabilities of
    a smaller and a larger number, `head` and `tail` their logarithms, of which a tail alone is enough. `quantile` is
    the inverse of the first part, `above` that of the second. Each is asked for valid shapes alone, or for NaN. A
    density may be `Bounded`, a tail too if the numbers outside are those above its support.
    One of density, head, tail and parts may give a NaN a slope that is a number, such as a formula that chooses by a
    comparison: then `chooses` is True, and the gradient is made NaN, which takes time.
    """

    def __init__(
        self,
        shapes: str,
        density: Function,
        *,
        low: float = -np.inf,
        high: float = np.inf,
        tail: Function | None = None,
        head: Function | None = None,
        parts: tuple[Function, Function] | None = None,
        quantile: Function | None = None,
        above: Function | None = None,
        valid: Function = all_positive,
        chooses: bool = False,
    ) -> None:
        self.names = (*shapes.split(), "loc", "scale")
        self.valid = valid
        self.chooses = chooses
        self.density = density
        self.low = low
        self.high = high
        self.tail = tail
        self.head = head
        self.parts = parts
        self.quantile = quantile
        self.above = above
        probabilities = ("cdf", "logcdf", "sf", "logsf") if tail or parts else ()
        quantiles = (*(("ppf",) if quantile else ()), *(("isf",) if above else ()))
        self.own = ("pdf", "logpdf", *probabilities, *quantiles)

    def completed(
        self,
        parts: tuple[Function, Function] | None,
        quantile: Function | None,
        above: Function | None,
        head: Function | None,
        tail: Function | None,
    ) -> "Continuous":
        """The family, with probabilities and quantiles that it lacks."""
        return Continuous(
            " ".join(self.names[:-2]),
            self.density,
            low=self.low,
            high=self.high,
            tail=self.tail or tail,
            head=self.head or head,
            parts=self.parts or parts,
            quantile=self.quantile or quantile,
            above=self.above or above,
            valid=self.valid,
            chooses=self.chooses,
        )

    def logpdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of the density; -inf outside of the support."""
        return self._by(self.density, (-np.inf, -np.inf), x, parameters, named, is_density=True)

    def pdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, *parameters, **named))

    def logsf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of `sf`, right far out too."""
        if self.tail is None:
            return _log_of(self._part(1, x, parameters, named), self._part(0, x, parameters, named))
        return self._by(self.tail, (0.0, -np.inf), x, parameters, named)

    def sf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The probability of a larger number."""
        return self._part(1, x, parameters, named) if self.parts else np.exp(self.logsf(x, *parameters, **named))

    def cdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The probability of a number that is not larger."""
        return self._part(0, x, parameters, named) if self.parts else -np.expm1(self.logsf(x, *parameters, **named))

    def logcdf(self, x: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of `cdf`, right far out too: log(1 - sf) in the form that cancels nothing."""
        if self.head is not None:
            return self._by(self.head, (-np.inf, 0.0), x, parameters, named)
        if self.parts is not None:
            return _log_of(self._part(0, x, parameters, named), self._part(1, x, parameters, named))
        tail = self.logsf(x, *parameters, **named)
        is_large = tail > -math.log(2)
        small = np.log1p(-np.exp(np.where(is_large, -1.0, tail)))
        return np.where(is_large, np.log(-np.expm1(np.where(is_large, tail, -1.0))), small)

    def ppf(self, q: Any, *parameters: Any, **named: Any) -> Any:
        """The number that a draw is below with probability `q`; NaN where that is none."""
        assert self.quantile is not None
        return self._inverted(self.quantile, q, parameters, named)

    def isf(self, q: Any, *parameters: Any, **named: Any) -> Any:
        """The number that a draw is above with probability `q`; NaN where that is none."""
        assert self.above is not None
        return self._inverted(self.above, q, parameters, named)

    def _inverted(self, inverse: Function, q: Any, parameters: tuple[Any, ...], named: dict[str, Any]) -> Any:
        shapes, loc, scale = self._parameters(parameters, named)
        chance = cast_to(array_like(q), np.float64)
        chance, loc = where_valid((chance >= 0) & (chance <= 1), chance, loc)
        return defined(loc + scale * inverse(chance, *shapes), chance, *shapes, loc, scale)

    def median(self, *parameters: Any, **named: Any) -> Any:
        """The number that a draw is below as often as above."""
        return self.ppf(0.5, *parameters, **named)

    def interval(self, confidence: Any, *parameters: Any, **named: Any) -> tuple[Any, Any]:
        """The ends of the middle part of this probability."""
        tail = 0.5 * (1.0 - cast_to(array_like(confidence), np.float64))
        return self.ppf(tail, *parameters, **named), self.ppf(1.0 - tail, *parameters, **named)

    def _part(self, which: int, x: Any, parameters: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The probability of a smaller number, or of a larger one."""
        assert self.parts is not None
        return self._by(self.parts[which], (float(which), 1.0 - which), x, parameters, named)

    def _by(
        self,
        of: Function,
        ends: tuple[float, float],
        x: Any,
        parameters: tuple[Any, ...],
        named: dict[str, Any],
        *,
        is_density: bool = False,
    ) -> Any:
        """A function of the standardized number and the shapes inside of the support, with these values beside it.

        A log density less the logarithm of the scale.
        """
        shapes, loc, scale, is_valid = self._checked(parameters, named)
        *shapes, scale = where_valid(is_valid, *shapes, scale)
        given = cast_to(array_like(x), np.float64)
        z = (given - loc) / scale
        is_outside, inside = self._held(z)
        found = of(inside, *shapes)
        if isinstance(found, Bounded):
            is_outside = found.is_outside if is_outside is False else np.logical_or(is_outside, found.is_outside)
            found = found.value
        if is_density:
            found = found - np.log(scale)
        if is_outside is not False:
            beside = ends[0] if ends[0] == ends[1] else np.where(z < self.low, *ends)
            found = np.where(is_outside, beside, found)
        return defined(found, given, *shapes, loc, scale) if self.chooses else found

    def _held(self, z: Array) -> tuple[Any, Any]:
        """Return whether `z` is outside of the support or infinite, and `z` with a number inside there.

        That number keeps NaN out of the gradient.
        """
        if self.low == -np.inf:
            return False, z
        is_outside = np.logical_or(z < self.low, z > min(self.high, LARGEST))
        return is_outside, np.where(is_outside, max(self.low, 0.0) + 0.5, z)


def _log_of(chance: Any, rest: Any) -> Any:
    """The logarithm of a probability, by the rest of it where that is the smaller part."""
    is_large = chance > 0.5
    return np.where(is_large, np.log1p(-np.where(is_large, rest, 0.0)), np.log(np.where(is_large, 1.0, chance)))


class Discrete(_Known):
    """`logpmf(k, *shapes, loc=0)` and `pmf`, from the log probability of integers from `low` to `high(*shapes)`."""

    def __init__(
        self,
        shapes: str,
        probability: Function,
        *,
        low: int = 0,
        high: Function = lambda *_: np.inf,
        parts: tuple[Function, Function] | None = None,
        tail: Function | None = None,
        valid: Function = all_positive,
    ) -> None:
        self.names = (*shapes.split(), "loc")
        self.valid = valid
        self.tail = tail
        self.probability = probability
        self.low = low
        self.high = high
        self.parts = parts
        self.own = ("pmf", "logpmf", *(("cdf", "sf", "logcdf", "logsf") if parts else ()))

    def logpmf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of the probability; -inf for what is no integer of the support."""
        shapes, loc, _ = self._parameters(parameters, named)
        number = cast_to(array_like(k) - loc, np.float64)
        is_outside = (number < self.low) | (number > self.high(*shapes)) | (number > np.floor(number))
        found = self.probability(np.where(is_outside, float(self.low), number), *shapes)
        return defined(np.where(is_outside, -np.inf, found), *shapes, loc)

    def pmf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The probability."""
        return np.exp(self.logpmf(k, *parameters, **named))

    def cdf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The probability of a number that is not larger."""
        return self._part(0, k, parameters, named)

    def sf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The probability of a larger number."""
        return self._part(1, k, parameters, named)

    def logcdf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of `cdf`."""
        return _log_of(self.cdf(k, *parameters, **named), self.sf(k, *parameters, **named))

    def logsf(self, k: Any, *parameters: Any, **named: Any) -> Any:
        """The logarithm of `sf`, right far out where there is a `tail`."""
        if self.tail is not None:
            return self._by(self.tail, (0.0, -np.inf), k, parameters, named)
        return _log_of(self.sf(k, *parameters, **named), self.cdf(k, *parameters, **named))

    def _part(self, which: int, k: Any, parameters: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The probability of a number that is not larger, or of a larger one."""
        assert self.parts is not None
        return self._by(self.parts[which], (float(which), 1.0 - which), k, parameters, named)

    def _by(
        self, of: Function, ends: tuple[float, float], k: Any, parameters: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """A function of the number and the shapes inside of the support, with these values beside it."""
        shapes, loc, _ = self._parameters(parameters, named)
        number = np.floor(cast_to(array_like(k) - loc, np.float64))
        is_below, is_above = number < self.low, number >= self.high(*shapes)
        found = of(np.where(is_below | is_above, float(self.low), number), *shapes)
        return defined(np.where(is_below, ends[0], np.where(is_above, ends[1], found)), *shapes, loc)


def _bound(names: tuple[str, ...], parameters: tuple[Any, ...], named: dict[str, Any]) -> list[Array]:
    """The parameters in the order of `names`, as float64. Raises TypeError as a call of a function does."""
    given = dict(zip(names, parameters, strict=False))
    if len(parameters) > len(names) or not given.keys().isdisjoint(named) or not named.keys() <= set(names):
        raise TypeError(f"the parameters are {', '.join(names)}")
    given |= {"loc": 0.0, "scale": 1.0} | given | named
    missing = [n for n in names if n not in given]
    if missing:
        raise TypeError(f"missing parameters: {', '.join(missing)}")
    return [cast_to(array_like(given[n]), np.float64) for n in names]
