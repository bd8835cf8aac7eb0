"""Files of functions of distributions, loaded and differentiated: a file holds operators, not their own rules."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats as ss

from tests.frontends.scipy.stats.family import CONTINUOUS, DISCRETE, PARAMETERS, SHAPES
from tests.special.loaded import Function, wrong_slopes

PLACES = np.array([*np.arange(-3.0, 4.5, 0.5), 0.1, 0.25, 0.3, 0.35, 0.7, 1.5, 5.0, 8.0, 12.0])
CHANCES = np.array([-0.5, -0.1, 0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0, 1.1, 2.0])
WHOLE = np.array([*np.arange(-1.0, 6.5, 0.5), 0.1, 8.0, 12.0])
BY_PLACE = ("logpdf", "pdf", "logcdf", "logsf")
BY_SHAPE = ("logpdf", "logcdf", "sf")


def by_place(name: str, method: str) -> Function:
    """A function of a family at its usual shapes, of the number or the probability alone."""
    return lambda x: getattr(getattr(ss, name), method)(x, *SHAPES.get(name, ()))


def by_shape(name: str, method: str, which: int) -> Function:
    """A function of a family at a number, of one of its shapes alone."""
    usual = SHAPES[name]
    place = 0.4 if name not in {"pareto", "loguniform", "reciprocal"} else 1.5

    def function(shape: object) -> object:
        shapes = [shape if i == which else usual[i] for i in range(len(usual))]
        return getattr(getattr(ss, name), method)(place, *shapes)

    return function


def by_parameter(name: str, method: str) -> Function:
    """A function of a family of whole numbers, of its last parameter alone."""
    *first, _ = PARAMETERS[name]
    return lambda p: getattr(getattr(ss, name), method)(2, *first, p)


CASES: dict[str, tuple[Function, np.ndarray]] = {
    **{f"{n}.{m}": (by_place(n, m), PLACES) for n, f in CONTINUOUS.items() for m in BY_PLACE if m in f.methods},
    **{f"{n}.ppf": (by_place(n, "ppf"), CHANCES) for n, f in CONTINUOUS.items() if "ppf" in f.methods},
    **{
        f"{n}.{m} by shape {i}": (by_shape(n, m, i), WHOLE)
        for n, f in CONTINUOUS.items()
        for m in BY_SHAPE
        if m in f.methods
        for i in range(len(SHAPES.get(n, ())))
    },
    **{
        f"{n}.{m} by parameter": (by_parameter(n, m), np.concatenate([CHANCES, WHOLE]))
        for n, f in DISCRETE.items()
        for m in ("logpmf", "cdf")
        if m in f.methods
    },
}


@pytest.mark.sweep(1080)
@pytest.mark.parametrize("name", CASES)
def test_the_slope_of_a_loaded_file_is_right_or_nan(name: str, tmp_path: Path) -> None:
    function, points = CASES[name]
    if name == "foldnorm.logcdf by shape 0":
        points = points[points != 8.0]  # there SciPy subtracts two numbers of 1 - 1e-14, and keeps two digits
    assert wrong_slopes(function, tmp_path / "f.onnx", points) == []
