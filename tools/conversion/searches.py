"""SciPy's functions that are refused, as how many steps they take depends on the values."""

from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize

from tools.conversion.rows import Row, Section


def cubature(x: Any) -> Any:
    return scipy.integrate.cubature(lambda v: v * x, [0.0], [1.0]).estimate


def tanhsinh(x: Any) -> Any:
    return scipy.integrate.tanhsinh(lambda v: v * x, 0.0, 1.0).integral


def solve_bvp(x: Any) -> Any:
    times, guess = np.linspace(0.0, 1.0, 5), np.zeros((2, 5))
    wave = lambda t, y: np.vstack((y[1], -x * y[0]))
    return scipy.integrate.solve_bvp(wave, lambda a, b: np.array([a[0], b[0] - 1]), times, guess).y[0, 2]


def away(v: Any, x: Any) -> Any:
    return (v[0] - x) ** 2


def basinhopping(x: Any) -> Any:
    return scipy.optimize.basinhopping(lambda v: away(v, x), [0.1], niter=2).fun


def bracket(x: Any) -> Any:
    return scipy.optimize.bracket(lambda v: (v - x) ** 2)[1]


def differential_evolution(x: Any) -> Any:
    return scipy.optimize.differential_evolution(lambda v: away(v, x), [(-2.0, 2.0)]).fun


def dual_annealing(x: Any) -> Any:
    return scipy.optimize.dual_annealing(lambda v: away(v, x), [(-2.0, 2.0)]).fun


def shgo(x: Any) -> Any:
    return scipy.optimize.shgo(lambda v: away(v, x), [(-2.0, 2.0)]).fun


def linprog(x: Any) -> Any:
    return scipy.optimize.linprog([x, 1.0], bounds=[(1.0, 2.0), (1.0, 2.0)]).fun


def milp(x: Any) -> Any:
    return scipy.optimize.milp([x, 1.0]).fun


SEARCHES = Section(
    "Functions of SciPy that are refused",
    "How many steps these take, and where, depends on the values. Give such a function a rule of its own, by "
    "`ps.primitive`, or write its steps with `ps.fori_loop` or `ps.while_loop`.",
    [
        Row("`scipy.integrate.cubature`", cubature, refused="scipy.integrate.cubature has no form for traced arrays"),
        Row("`scipy.integrate.tanhsinh`", tanhsinh, refused="scipy.integrate.tanhsinh has no form for traced arrays"),
        Row(
            "`scipy.integrate.solve_bvp`", solve_bvp, refused="scipy.integrate.solve_bvp has no form for traced arrays"
        ),
        Row(
            "`scipy.optimize.basinhopping`",
            basinhopping,
            refused="scipy.optimize.basinhopping has no form for traced arrays",
        ),
        Row("`scipy.optimize.bracket`", bracket, refused="scipy.optimize._optimize.bracket raised BracketError"),
        Row(
            "`scipy.optimize.differential_evolution`",
            differential_evolution,
            refused="scipy._lib._util._transition_to_rng",
        ),
        Row(
            "`scipy.optimize.dual_annealing`",
            dual_annealing,
            refused="scipy.optimize.dual_annealing has no form for traced arrays",
        ),
        Row("`scipy.optimize.shgo`", shgo, refused="scipy.optimize.shgo has no form for traced arrays"),
        Row("`scipy.optimize.linprog`", linprog, refused="scipy.optimize.linprog has no form for traced arrays"),
        Row("`scipy.optimize.milp`", milp, refused="scipy.optimize.milp has no form for traced arrays"),
    ],
)
