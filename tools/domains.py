"""Compare functions of SciPy and NumPy with primsplit's inside of their domains, at the ends and beyond.

    python -m tools.domains                      all families of scipy.stats, all ufuncs
    python -m tools.domains norm gammainc        these alone
    python -m tools.domains --cases 2000 stats   the families, with so many arguments a function

A value is right where it is SciPy's, or both are NaN. A gradient is right where it is no number at each NaN of the
value, and where it is what differences of SciPy's values say, if these settle. Cases with the reason in `reason_of` are
counted apart. A line for each kind of fault, with its first cases; then the counts. It exits with 1 where there is a
fault.
"""

import argparse
import collections
import functools
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
import scipy.stats

import primsplit as ps
from primsplit.frontends.scipy import stats
from primsplit.frontends.scipy.stats.kinds import Continuous, Discrete
from primsplit.numpy.ufuncs import ELEMENTWISE

Function = Callable[..., Any]
INF, NAN = np.inf, np.nan
NUMBERS = (-INF, -3.7, -1.0, -0.5, -0.0, 1e-10, 0.3, 0.5, 1.0, 1.7, 2.0, 4.4, 30.0, 1e4, INF, NAN)
"""Arguments of a function that is defined for any."""
PLAIN = tuple(x + 0.0 for x in NUMBERS)
"""The same for families, of which SciPy takes -0 for below the support in some formulas, and for 0 in others."""
CHANCES = (-0.1, 0.0, 1e-30, 0.01, 0.3, 0.5, 0.77, 1.0, 1.1, NAN)
SHAPES = (-INF, -1.1, -0.3, 0.0, 0.25, 0.6, 1.0, 1.7, 2.0, 3.4, 7.0, 40.0, INF, NAN)
PLACES, SCALES = (0.0, 0.4, NAN), (1.0, 1.3, 0.0, -1.0, INF, NAN)
QUANTILES = {"ppf", "isf"}


@dataclass(frozen=True)
class Subject:
    """A function of arrays of one shape, and what its arguments may be."""

    name: str
    function: Function
    arguments: Sequence[Sequence[float]]
    steps: frozenset[int] = frozenset()
    """The arguments that are numbers on a grid, of which there is no derivative."""

    def cases(self, most: int, seed: int) -> list[Any]:
        """The arguments, each an array: all there are, or so many at random."""
        count = int(np.prod([len(a) for a in self.arguments], dtype=np.int64))
        places = np.arange(count)
        if count > most:
            places = np.sort(np.random.default_rng(seed).choice(count, most, replace=False))
        indices = np.unravel_index(places, [len(a) for a in self.arguments])
        return [np.asarray(given, np.float64)[index] for given, index in zip(self.arguments, indices, strict=True)]


def of_family(name: str) -> Iterator[Subject]:
    """The functions of a family of scipy.stats."""
    family = stats.DISTRIBUTIONS[name]
    if not isinstance(family, Continuous | Discrete):
        return
    shapes = len(family.names) - (2 if "scale" in family.names else 1)
    parameters = [SHAPES] * shapes + [PLACES] + ([SCALES] if "scale" in family.names else [])
    for method in family.methods:
        if method == "interval":
            continue

        def function(*given: Any, method: str = method) -> Any:
            return getattr(getattr(scipy.stats, name), method)(*given)

        first = [] if method not in family.own else [CHANCES if method in QUANTILES else PLAIN]
        steps = frozenset() if isinstance(family, Continuous) else frozenset({0, shapes + 1})
        yield Subject(f"{name}.{method}", function, [*first, *parameters], steps if first else frozenset())


def of_ufunc(name: str) -> Iterator[Subject]:
    """A ufunc of NumPy or SciPy with one result that is a float."""
    ufunc = getattr(scipy.special, name, None)
    ufunc = ufunc if isinstance(ufunc, np.ufunc) else getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc) or ufunc.signature or not any(t.endswith("->d") for t in ufunc.types):
        return
    if not any(t.split("->")[0] == "d" * ufunc.nin for t in ufunc.types):
        return
    numbers = FEW if name.startswith("hyp") else NUMBERS
    known = KNOWN.get(name)
    if known is None:
        yield Subject(name, ufunc, [numbers] * ufunc.nin, frozenset(STEPS.get(name, ())))
    for first in known or ():
        yield Subject(f"{name} of {first:g}", functools.partial(ufunc, first), [numbers] * (ufunc.nin - 1))


def subjects(names: Sequence[str], start: str | None = None) -> Iterator[Subject]:
    """All that is asked for."""
    every: dict[str, Function] = dict.fromkeys(stats.DISTRIBUTIONS, of_family)
    every |= {n: of_ufunc for n in ELEMENTWISE if n not in every}
    groups = {"stats": of_family, "ufuncs": of_ufunc}
    for name, make in itertools.dropwhile(lambda item: start not in {None, item[0]}, every.items()):
        if not names or name in names or any(groups.get(n) is make for n in names):
            yield from make(name)


def slopes_of(subject: Subject, given: list[Any], index: int) -> Any:
    """Differences of SciPy's values in one argument, NaN where they do not settle, or are of rounding.

    Those to both sides and those of a step a quarter as long must agree.
    """
    found = []
    for part in (1.0, 0.25):
        size = part * 1e-6 * np.where(given[index] == 0, 0.1, np.abs(given[index]))
        low, middle, high = (
            subject.function(*given[:index], given[index] + s * size, *given[index + 1 :]) for s in (-1, 0, 1)
        )
        left, right, slope = (middle - low) / size, (high - middle) / size, (high - low) / (2 * size)
        agree = np.abs(left - right) <= 1e-4 * np.abs(slope) + 1e-9
        is_rounding = np.abs(middle) * 1e-15 > 1e-4 * np.abs(slope) * size
        found.append(np.where(agree & ~is_rounding & np.isfinite(given[index]), slope, NAN))
    return np.where(np.abs(found[0] - found[1]) <= 1e-3 * np.abs(found[1]) + 1e-9, found[1], NAN)


Fault = tuple[str, tuple[Any, ...], Any, Any]

STEPS = {
    "pdtr": {0}, "pdtrc": {0}, "bdtr": {0, 1}, "gammasgn": {0}, "hyp0f1": {0}, "hyp1f1": {0, 1}, "hyp2f1": {0, 1, 2},
    "expn": {0},
}  # fmt: skip
"""The arguments of ufuncs of which there is no derivative."""
ORDERS, DEGREES = (-1.0, 0.0, 1.0, 2.5, 12.0), (0.0, 1.0, 2.0, 5.0)
KNOWN = {
    **dict.fromkeys(("jv", "jve", "yv", "yve", "iv", "ive", "kv", "kve", "struve", "modstruve"), ORDERS),
    **dict.fromkeys(("yn", "kn"), (0, 1, 5)),
    **{n: DEGREES for n in dir(scipy.special) if n.startswith("eval_") and "sh_" not in n},
}
"""First arguments that are known when tracing."""
FEW = (-3.7, -1.0, -0.5, -0.0, 1e-10, 0.3, 1.0, 1.7, 4.4, 30.0, NAN)
"""Arguments of hypergeometric functions, of which SciPy takes minutes for large ones."""


JUMPING = {"floor_divide", "fmod", "nextafter", "remainder"}
Case = tuple[float, ...]
POLYNOMIAL = "of polynomials that SciPy's formula does not give"
POLE = "of poch beside a pole"
SHAPELESS = "of chances out of range for a shape of 0"
FROM_ONE = "of small numbers that SciPy takes from 1"
LAST = "of inverses that SciPy ends at the smallest normal number"
SURE = "of SciPy's sure events for parameters out of range"
SMALL = "of logarithms of what SciPy rounds to 0"
REASONS: tuple[tuple[str, Callable[[Case, float, float], Any], str], ...] = (
    ("cotdg", lambda at, comes, right: abs(comes / right - 1) < 1e-5, "of cotdg, of which SciPy loses digits near 0"),
    ("fdtri", lambda at, comes, right: right > 1e290, LAST),
    ("betaincinv", lambda at, comes, right: right < 1e-307, LAST),
    ("stdtrit", lambda at, comes, right: at[0] < 1e-9 or at[1] == 0, LAST),
    ("poch", lambda at, comes, right: np.isnan(comes) and right == 0, "of 0 times a gamma function that overflows"),
    ("poch", lambda at, comes, right: at[0] + at[1] < 0.5 and abs(at[0] + at[1] - round(at[0] + at[1])) < 1e-9, POLE),
    ("gammaincinv", lambda at, comes, right: np.isnan(comes) and at[0] < 1e-9 and not 0 <= at[1] <= 1, SHAPELESS),
    ("gammainccinv", lambda at, comes, right: np.isnan(comes) and at[0] < 1e-9 and not 0 <= at[1] <= 1, SHAPELESS),
    ("betaprime", lambda at, comes, right: at[0] == at[3], "of betaprime's density at its end, which SciPy has as 0"),
    ("voigt_profile", lambda at, comes, right: at[1] * at[2] < 0, "of cosines of more than 1e16 in Voigt profiles"),
    (
        "eval_gegenbauer",
        lambda at, comes, right: not abs(comes - right) > 1e-5 * max(1.0, abs(right)),
        POLYNOMIAL,
    ),
    ("eval_genlaguerre", lambda at, comes, right: at[0] > 1e3, POLYNOMIAL),
    (
        "eval_jacobi",
        lambda at, comes, right: not abs(comes - right) > 1e-5 * max(1.0, abs(right)),
        POLYNOMIAL,
    ),
    ("eval_jacobi", lambda at, comes, right: np.isnan(comes), "of Jacobi's recurrence where it divides by 0"),
    ("hyp1f1", lambda at, comes, right: np.isnan(comes), "of series that cancel, which are NaN"),
    ("hyp2f1", lambda at, comes, right: at[3] >= 1 and np.isinf(comes), "of hypergeometric functions from 1 on"),
    ("hyp2f1", lambda at, comes, right: at[1] < 1e-9 and abs(comes - 1) < 1e-8, "of SciPy's digits beside a pole"),
    ("yve", lambda at, comes, right: at[-1] == 0 and np.isinf(comes), "of infinities that SciPy has as NaN"),
    ("hyp2f1", lambda at, comes, right: np.isnan(comes), "of series that cancel, which are NaN"),
    ("hyp2f1", lambda at, comes, right: right == INF, POLYNOMIAL),
    ("hyp1f1", lambda at, comes, right: at[0] == 0 and comes == 1, "of a series without a second term"),
    ("logcdf", lambda at, comes, right: np.isnan(comes) and right == 0, SURE),
    ("logcdf", lambda at, comes, right: right == -INF and comes < -20, SMALL),
    ("logsf", lambda at, comes, right: right == -INF and comes < -20, SMALL),
    ("mielke", lambda at, comes, right: np.isnan(right) or comes < -34, "of powers that overflow in SciPy's formula"),
    ("powernorm", lambda at, comes, right: np.isnan(right) and comes == 0, "of 0 times inf in SciPy's formula"),
    ("logsf", lambda at, comes, right: max(comes, right) < -20 and abs(comes / right - 1) < 1e-6, FROM_ONE),
    ("mielke", lambda at, comes, right: np.isnan(right) or comes < -34, "of powers that overflow in SciPy's formula"),
    ("powernorm", lambda at, comes, right: np.isnan(right) and comes == 0, "of 0 times inf in SciPy's formula"),
    ("logsf", lambda at, comes, right: max(comes, right) < -34, "of numbers that differ from an end by rounding"),
    ("truncnorm", lambda at, comes, right: at[0] == 1e-30, FROM_ONE),
    ("logpdf", lambda at, comes, right: right == -INF and comes < -700, SMALL),
    ("logpmf", lambda at, comes, right: right == -INF and comes < -700, SMALL),
    ("isf", lambda at, comes, right: right == INF and comes > 0, "of quantiles that SciPy takes of 1 - q"),
)
"""Names of functions or methods, which values of theirs count apart, and why."""


def reason_of(name: str, kind: str, at: tuple[float, ...], comes: float, right: float) -> str:
    """Why a case counts apart; empty where it is a fault."""
    if kind.endswith("at NaN") and hasattr(np, name):
        return "of slopes of NumPy's functions at NaN"  # log'(x) is 1 / x below 0, too, as in torch and JAX
    if np.isinf(at).any() and kind.endswith("at NaN"):
        return "of slopes of families beside NaN at infinite arguments" if "." in name else ""
    if np.isinf(at).any() and (np.isnan(right) or not np.isfinite(comes)):
        return "of infinite arguments, whose limits are NaN in one of both"
    if np.isinf(at).any() and "." in name and kind == "value":
        return "of powers of infinite shapes"
    if kind.startswith("gradient"):
        if name in JUMPING:
            return "of functions that jump more often than differences see"
        # At an end: a product of 0 and inf, told as NaN.
        return "of gradients that are NaN where differences settle" if np.isnan(comes) else ""
    if np.isnan(comes) and np.isnan(at).any():
        return "of NaN that SciPy leaves out"
    if abs(comes - right) < 1e-14:
        return "of what is lost beside 1 in either"
    word, method = (*re.split("[ .]", name), "")[:2]
    return next((why for told, is_so, why in REASONS if told in {word, method} and is_so(at, comes, right)), "")


def values_and_gradients(subject: Subject, given: list[Any], wrt: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """The values, and the gradients of their sum, of one program for both."""
    if not wrt:
        return np.asarray(ps.trace(subject.function, *given)(*given), np.float64), []
    made = ps.split(subject.function, *given, wrt=wrt, seed="ones").joint()
    value, *gradients = made(*given)
    return np.asarray(value, np.float64), gradients


def faults(subject: Subject, most: int, seed: int) -> Iterator[Fault]:
    """Yield the wrong results: the kind, the arguments, the result and the right one."""
    given = subject.cases(most, seed)
    try:
        right = np.asarray(subject.function(*given), np.float64)
    except ValueError:  # SciPy integrates some probabilities, which stops at NaN
        are_numbers = ~np.any(np.isnan(given), axis=0)
        given = [g[are_numbers] for g in given]
        right = np.asarray(subject.function(*given), np.float64)
    wrt = tuple(i for i in range(len(given)) if i not in subject.steps)
    comes, gradients = values_and_gradients(subject, given, wrt)
    close = np.isclose(comes, right, rtol=1e-8, atol=1e-300) | (np.isnan(comes) & np.isnan(right))
    for i in np.flatnonzero(~close):
        yield "value", tuple(g[i] for g in given), comes[i], right[i]
    for index, gradient in zip(wrt, gradients, strict=True):
        lost = np.isnan(comes) & np.isfinite(gradient)
        for i in np.flatnonzero(lost):
            yield f"gradient {index} at NaN", tuple(g[i] for g in given), gradient[i], NAN
        slopes = slopes_of(subject, given, index)
        wanted = np.isfinite(slopes) & close & np.isfinite(right)
        apart = ~np.isclose(gradient, slopes, rtol=1e-3, atol=1e-6)
        apart &= (slopes != 0) | (np.abs(gradient * given[index]) > 1e-9)  # else SciPy may round the change away
        for i in np.flatnonzero(wanted & apart):
            yield f"gradient {index}", tuple(g[i] for g in given), gradient[i], slopes[i]


def judged(subject: Subject, most: int, seed: int) -> tuple[list[Fault], collections.Counter[str]]:
    """The faults, and how many cases count apart, by the reason."""
    found, apart = [], collections.Counter[str]()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fault in faults(subject, most, seed):
            reason = reason_of(subject.name, *fault)
            if reason:
                apart[reason] += 1
            else:
                found.append(fault)
    return found, apart


def main() -> int:
    """Print what is wrong, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--shown", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", help="leave out what comes before this family or ufunc")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter({"functions": 0, "wrong": 0})
    for subject in subjects(options.names, options.start):
        counts["functions"] += 1
        try:
            found, apart = judged(subject, options.cases, options.seed)
        except (TypeError, ValueError, ps.PrimsplitError) as error:
            counts["refused"] += 1
            print(f"{subject.name}: refused: {str(error).splitlines()[0][:90]}", flush=True)
            continue
        counts.update(apart)
        for kind, group in itertools.groupby(found, key=lambda f: f[0]):
            rows = list(group)
            counts["wrong"] += len(rows)
            for _, at, comes, right in rows[: options.shown]:
                told = ", ".join(f"{float(a):.6g}" for a in at)
                print(f"{subject.name}: {kind} x{len(rows)}: at ({told}) {comes}, right {right}", flush=True)
    print(", ".join(f"{n} {word}" for word, n in counts.items() if n or word == "wrong"))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
