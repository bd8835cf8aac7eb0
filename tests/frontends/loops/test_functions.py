"""The scalar functions of nests: NumPy's and SciPy's functions of these names."""

from typing import Any

import numpy as np
import pytest
import scipy.special

from primsplit.frontends.loops.functions import ALIASES, COMBINATIONS, FUNCTIONS, REDUCTIONS, TRUTHS, cost
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.notation import parse_notation

ARGUMENTS = (np.array([0.3, 0.8]), np.array([1.7, 0.6]), np.array([0.9, 2.0]))


def reference(name: str) -> Any:
    own = {"relu": lambda x: np.maximum(x, 0), "cot": lambda x: 1 / np.tan(x), "exp10": lambda x: 10.0**x}
    return own.get(name) or getattr(np, name, None) or getattr(scipy.special, name)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"off_zero", "where"}))
def test_a_function_is_that_of_numpy_or_scipy_with_this_name_and_so_many_arguments(name: str) -> None:
    arity = FUNCTIONS[name].arity
    given = [x + (name == "arccosh") for x in ARGUMENTS[:arity]]
    text = f"z[i] := {name}({', '.join(f'{n}[i]' for n in 'xyw'[:arity])})"
    found = interpret(parse_notation(text), dict(zip("xyw", given, strict=False)))["z"]
    np.testing.assert_allclose(found, reference(name)(*given), rtol=1e-14)


def test_truths_are_true_or_false_and_no_other_function_is() -> None:
    for name in set(FUNCTIONS) - {"off_zero", "where", "relu", "cot", "exp10"}:
        found = reference(name)(*(x + (name == "arccosh") for x in ARGUMENTS[: FUNCTIONS[name].arity]))
        assert (np.asarray(found).dtype == bool) is (name in TRUTHS), name


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_another_name_is_one_of_the_table_and_means_what_python_or_numpy_means(alias: str) -> None:
    assert ALIASES[alias] in {*FUNCTIONS, *COMBINATIONS}
    meant = getattr(np, alias, None)
    if meant is not None and ALIASES[alias] in FUNCTIONS and alias not in {"select", "float"}:
        given = ARGUMENTS[: FUNCTIONS[ALIASES[alias]].arity]
        given = tuple(x + (alias == "acosh") for x in given)
        reduces = alias in {"max", "min"}
        wanted = reference(ALIASES[alias])(*given)
        np.testing.assert_allclose(meant(given, axis=0) if reduces else meant(*given), wanted)


@pytest.mark.parametrize(
    ("name", "formula"),
    [("identity", lambda a, b, c: a), ("muladd", lambda a, b, c: a * b + c), ("fma", lambda a, b, c: a * b + c),
     ("fms", lambda a, b, c: a * b - c), ("fnma", lambda a, b, c: c - a * b), ("fnms", lambda a, b, c: -a * b - c)],
)  # fmt: skip
def test_a_combination_is_its_formula(name: str, formula: Any) -> None:
    text = f"z[i] := {name}({', '.join(f'{n}[i]' for n in 'xyw'[: COMBINATIONS[name]])})"
    found = interpret(parse_notation(text), dict(zip("xyw", ARGUMENTS[: COMBINATIONS[name]], strict=False)))["z"]
    np.testing.assert_allclose(found, formula(*ARGUMENTS), rtol=1e-15)


def test_transcendental_functions_cost_more_than_products_and_unknown_ones_without_bound() -> None:
    assert cost("multiply") <= cost("exp") <= cost("power")
    assert cost("exp") > cost("add")
    assert cost("nobodys") == np.inf
    assert REDUCTIONS.keys() == {"+", "*", "max", "min"}
