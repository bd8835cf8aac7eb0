"""The misfit of a model of hares and lynxes to 21 years of furs; the gradient fits its parameters.

hares' = birth hares - hunt hares lynxes, lynxes' = gain hares lynxes - death lynxes (Lotka, 1925; Volterra, 1926), and
the furs that the Hudson's Bay Company took from 1900 to 1920, in thousands (Howard, Modeling Basics, 2009; fitted in
Carpenter, Predator-Prey Population Dynamics, Stan case study, 2018). The equations are integrated by the method of
Dormand and Prince (J. Comp. Appl. Math. 6, 1980) with the steps that its error estimate requires (Hairer, Norsett and
Wanner, Solving Ordinary Differential Equations I, 1993, eq. II.4.13): `ps.while_loop` in `ps.scan`, so that one file
serves every number of observations. `fixed_misfit` takes Runge-Kutta steps of equal size.

The file takes `params.log_rates`, `params.log_first`, `years` and `furs`, and gives the misfit `y` and two gradients.
The demo prints a misfit of 0.048 over all years and rates of 0.540, 0.0272, 0.0237 and 0.796, near the 0.55, 0.028,
0.024 and 0.80 of the case study.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Params = Mapping[str, Array]
Advance = Callable[[Params, Array, Array], Array]

HARES = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
TOLERANCE = 1e-6
SUBSTEPS = 20

STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)

main = "misfit"
wrt = ("params",)
specs = {"years": "[N]", "furs": "[N,2]"}


def rates(params: Params, animals: Array) -> Array:
    """The change a year, [2], of hares and lynxes [2]; the parameters are logarithms."""
    birth, hunt, gain, death = np.exp(params["log_rates"])
    alone, together = np.stack([birth, -death]), np.stack([-hunt, gain])
    change: Array = animals * (alone + together * animals[::-1])
    return change


def adaptive(params: Params, animals: Array, years: Array) -> Array:
    """The animals [2] so many years later, in steps whose estimated error is TOLERANCE of what there is."""
    import primsplit as ps

    def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        left, size, now = carry
        taken = np.minimum(size, left)
        slopes = [rates(params, now)]
        for row in STAGES:
            ahead = now + taken * sum(a * slope for a, slope in zip(row, slopes, strict=True))
            slopes.append(rates(params, ahead))
        error = taken * sum(a * slope for a, slope in zip(ERROR, slopes, strict=True))
        miss = np.maximum(np.mean((error / (TOLERANCE * np.maximum(now, ahead))) ** 2), 1e-10)
        is_good = miss <= 1.0
        better = taken * np.clip(0.9 * miss**-0.1, 0.2, 5.0)
        rest = np.where(size < left, left - taken, 0.0)
        return np.where(is_good, rest, left), better, np.where(is_good, ahead, now)

    found: Array = ps.while_loop(lambda carry: carry[0] > 0.0, step, (years, 0.1 * years, animals))[2]
    return found


def fixed(params: Params, animals: Array, years: Array) -> Array:
    """The animals [2] so many years later, in SUBSTEPS classical Runge-Kutta steps."""
    import primsplit as ps

    size = years / SUBSTEPS

    def step(_: int, now: Array) -> Array:
        first = rates(params, now)
        second = rates(params, now + 0.5 * size * first)
        third = rates(params, now + 0.5 * size * second)
        fourth = rates(params, now + size * third)
        ahead: Array = now + size * (first + 2.0 * second + 2.0 * third + fourth) / 6.0
        return ahead

    found: Array = ps.fori_loop(0, SUBSTEPS, step, animals)
    return found


def course(params: Params, years: Array, advance: Advance) -> Array:
    """The animals [N, 2] at the years [N], of which the first is the one that the parameters start from."""
    import primsplit as ps

    def step(animals: Array, passed: Array) -> tuple[Array, Array]:
        later = advance(params, animals, passed)
        return later, later

    first = np.exp(params["log_first"])
    _, later = ps.scan(step, first, years[1:] - years[:-1])
    return np.concatenate([first[None], later])


def misfit(params: Params, years: Array, furs: Array) -> np.float64:
    """Mean squared difference of logarithms, a scalar, between the model's animals and the furs [N, 2] of years [N]."""
    value: np.float64 = np.mean((np.log(course(params, years, adaptive)) - np.log(furs)) ** 2)
    return value


def fixed_misfit(params: Params, years: Array, furs: Array) -> np.float64:
    """The same in steps of equal size."""
    value: np.float64 = np.mean((np.log(course(params, years, fixed)) - np.log(furs)) ** 2)
    return value


def observations() -> tuple[Array, Array]:
    """The years since 1900, [21], and the furs of hares and lynxes, [21, 2], in thousands."""
    return np.arange(21.0), np.stack([np.array(row.split(), np.float64) for row in (HARES, LYNXES)], axis=1)


def first_guess() -> dict[str, Array]:
    """Rates a year, and the animals of 1900."""
    return {"log_rates": np.log([0.6, 0.03, 0.03, 0.9]), "log_first": np.log([30.0, 4.0])}


def example_inputs() -> tuple[dict[str, Array], Array, Array]:
    """The first guess, and the first six years."""
    years, furs = observations()
    return first_guess(), years[:6], furs[:6]


def minimized(told: Callable[[Array], tuple[float, Array]], point: Array, steps: int) -> tuple[Array, float, Array]:
    """Return the minimum by the method of Broyden, Fletcher, Goldfarb and Shanno, with the value and the slope there.

    Nocedal and Wright, Numerical Optimization, 2nd edition, 2006, algorithm 6.1.
    """
    (value, slope), inverse = told(point), np.eye(point.size) * 0.1
    for _ in range(steps):
        if np.abs(slope).max() < 1e-7:
            break
        move = -inverse @ slope
        move = move / max(1.0, 4.0 * np.abs(move).max())
        while told(point + move)[0] > value + 1e-4 * slope @ move and np.abs(move).max() > 1e-9:
            move = 0.5 * move
        (value, after), before = told(point + move), slope
        point, slope, change = point + move, after, after - before
        if (along := change @ move) > 0.0:
            left = np.eye(point.size) - np.outer(move, change) / along
            inverse = left @ inverse @ left.T + np.outer(move, move) / along
    return point, value, slope


def demo(gradient_file: str = "predator_prey.onnx", *, steps: int = 40) -> dict[str, float]:
    """Fit the first ten years, then all of them; misfit and gradient are the file's."""
    import onnxruntime

    session = onnxruntime.InferenceSession(gradient_file)
    start = first_guess()
    names, sizes = list(start), np.cumsum([v.size for v in start.values()])[:-1]
    all_years, all_furs = observations()

    def told(count: int, at: Array) -> tuple[float, Array]:
        parts = dict(zip(names, np.split(at, sizes), strict=True))
        feed = {f"params.{n}": v for n, v in parts.items()}
        feed |= {"years": all_years[:count], "furs": all_furs[:count]}
        value, *slopes = session.run(["y", *(f"d_params.{n}" for n in names)], feed)
        return float(value), np.concatenate(slopes)

    point = np.concatenate(list(start.values()))
    first, _ = told(10, point)
    for count in (10, all_years.size):
        point, last, slope = minimized(partial(told, count), point, steps)
    return {
        "first_misfit": first,
        "last_misfit": last,
        "largest_slope": float(np.abs(slope).max()),
        **{k: float(v) for k, v in zip(("birth", "hunt", "gain", "death"), np.exp(point[:4]), strict=True)},
    }


if __name__ == "__main__":
    for name, found in demo(*sys.argv[1:2]).items():
        print(f"{name:34}{found}")
