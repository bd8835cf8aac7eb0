"""A trace freezes values, wherever the function reads them, and reports each."""

import hashlib
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.frozen import array_digest, frozen_values, literal_values

TABLE = {"rate": 0.5, "weights": np.array([1.0, 2.0, 3.0])}
COUNT = 3
SHADOWED = 4.0
X = np.array([1.0, 2.0, 3.0])


def _names(function: Any, *args: Any) -> dict[str, str]:
    return {f.name: f.value for f in frozen_values(ps.trace(function, *args), function)}


def test_globals_and_constant_keys_are_named() -> None:
    def f(x: Any) -> Any:
        for _ in range(COUNT):
            x = x * TABLE["rate"] + TABLE["weights"]
        return x.sum()

    assert _names(f, X) == {"TABLE['weights']": "[1.0, 2.0, 3.0]", "COUNT": "3", "TABLE['rate']": "0.5"}


def test_closed_over_variables_are_named_and_variables_of_its_own_are_not() -> None:
    scale, unused = np.array([2.0, 0.0, 1.0]), 7.0

    def f(x: Any) -> Any:
        SHADOWED = 2.0
        return (x * scale * SHADOWED).sum()

    assert _names(f, X) == {"scale": "[2.0, 0.0, 1.0]"}
    assert unused == 7.0


def test_attributes_of_an_object_are_named() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.array([1.0, 1.0, 2.0])
            self.inner = {"b": 3.0}

        def __call__(self, x: Any) -> Any:
            return (x * self.w + self.inner["b"]).sum()

    assert _names(Model(), X) == {"self.w": "[1.0, 1.0, 2.0]", "self.inner['b']": "3.0"}
    assert _names(Model().__call__, X) == {"self.w": "[1.0, 1.0, 2.0]", "self.inner['b']": "3.0"}


def test_an_array_made_inside_is_told_by_its_line() -> None:
    def f(x: Any) -> Any:
        return (x * np.linspace(0.0, 1.0, 3)).sum()

    (found,) = frozen_values(ps.trace(f, X), f)
    assert (found.name, found.type, found.size, found.origin) == ("", "float64[3]", 24, "computed")
    assert found.place is not None
    assert found.place.source == "return (x * np.linspace(0.0, 1.0, 3)).sum()"


def test_static_arguments_are_frozen() -> None:
    def f(x: Any, kind: str) -> Any:
        return x.sum() if kind == "sum" else x.mean()

    assert _names(f, X, "mean") == {"argument kind": "'mean'"}


GENERATOR = np.random.default_rng(0)


def test_calls_of_random_generators_are_told_for_scalars_too() -> None:
    generator = GENERATOR

    def f(x: Any) -> Any:
        noise = np.random.normal(size=3)
        return (x * noise * np.random.uniform() * GENERATOR.normal() * generator.normal() * random.random()).sum()

    found = [v for v in frozen_values(ps.trace(f, X), f) if v.type == "random"]
    assert sorted(v.name for v in found) == [
        "GENERATOR.normal()", "generator.normal()", "np.random.normal()", "np.random.uniform()", "random.random()",
    ]  # fmt: skip
    assert {v.value for v in found} == {"drawn while tracing"}


def test_what_makes_a_path_fail_is_not_frozen() -> None:
    def f(x: Any) -> Any:
        if x[0] > 1:
            raise ValueError("too large")
        return x * 2

    assert frozen_values(ps.trace(f, X), f) == []


def test_draws_of_the_program_are_not_frozen() -> None:
    def f(x: Any) -> Any:
        return (x * ps.random.normal(size=3)).sum()

    assert frozen_values(ps.trace(f, X), f) == []


def _origins(function: Any, *args: Any) -> dict[str, str]:
    return {f.name: f.origin for f in frozen_values(ps.trace(function, *args), function)}


def test_every_array_has_the_name_of_its_variable_and_its_origin(tmp_path: Path) -> None:
    np.arange(3.0).tofile(tmp_path / "table.bin")
    outer = np.array([3.0, 2.0, 1.0])

    def f(x: Any) -> Any:
        drawn = np.random.default_rng(0).standard_normal(3)
        read = np.fromfile(tmp_path / "table.bin")
        grid = np.linspace(0.0, 1.0, 3)
        return np.sum((x * drawn + read) ** grid * outer * TABLE["weights"])

    assert _origins(f, X) == {
        "drawn": "draw",
        "read": "file",
        "grid": "computed",
        "outer": "closure",
        "TABLE['weights']": "global",
    }


DRAWN = np.random.default_rng(0).normal(size=3)
STEPS = {"first": (0.5, 0.25), "last": (2.0, 1.0)}


class Layer:
    noise = np.random.default_rng(0).normal(size=3)

    def __call__(self, x: Any) -> Any:
        return x * self.noise


LAYER = Layer()


def test_draws_outside_of_the_function_are_draws_and_a_dictionary_is_one_value() -> None:
    closed = np.random.default_rng(2).normal(size=3)

    def f(x: Any) -> Any:
        for a, b in STEPS.values():
            x = x * a + b
        return np.sum(LAYER(x) * DRAWN * closed * Layer.noise)

    assert _origins(f, X) == {
        "DRAWN": "draw",
        "Layer.noise": "draw",
        "closed": "draw",
        "self.noise": "draw",
        "STEPS": "global",
    }


def test_an_array_without_a_variable_stands_beside_those_of_its_line() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * TABLE["weights"] * np.linspace(0.0, 1.0, 3)[:, None])

    found = frozen_values(ps.trace(f, X), f)
    assert [(v.name, v.type) for v in found] == [("TABLE['weights']", "float64[3]"), ("", "float64[3,1]")]


LEVELS = np.linspace(0.0, 1.0, 100)


def turned_round(x: Any) -> Any:
    read = {"levels": LEVELS[::-1].copy()}
    return np.sum(x * LEVELS * read["levels"])


def test_an_array_that_is_computed_from_another_one_is_told_too() -> None:
    rows = frozen_values(ps.trace(turned_round, np.ones(100)), turned_round)
    assert [(f.name, f.digest) for f in rows] == [("LEVELS", array_digest(LEVELS)), ("", array_digest(LEVELS[::-1]))]


def dropping_out(x: Any) -> Any:
    mask = np.random.default_rng(0).random(4) > 0.5
    return np.sum(x * mask)


def test_an_array_that_is_converted_keeps_the_name_of_its_variable() -> None:
    (row,) = frozen_values(ps.trace(dropping_out, np.ones(4, np.float32)), dropping_out)
    mask = np.random.default_rng(0).random(4) > 0.5
    assert (row.name, row.origin, row.digest) == ("mask", "draw", array_digest(mask.astype(np.float32)))


def test_draws_and_clocks_come_first() -> None:
    def f(x: Any) -> Any:
        noise = np.random.normal(size=3)
        return np.sum(x * TABLE["weights"] * noise) * time.time()

    origins = [*_origins(f, X).values()]
    assert sorted(origins[:3]) == ["clock", "draw", "draw"]
    assert origins[3:] == ["global"]


def test_a_digest_is_that_of_the_bytes() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * TABLE["weights"])

    (found,) = frozen_values(ps.trace(f, X), f)
    assert hashlib.sha256(X.tobytes()).hexdigest().startswith(found.digest)
    assert len(found.digest) == 16


def test_literals_are_the_numbers_of_the_users_lines() -> None:
    def f(x: Any) -> Any:
        hidden = np.tanh(x * 0.12345) + 7
        return np.sum(np.log1p(hidden)) * COUNT

    found = literal_values(ps.trace(f, X))
    line = f.__code__.co_firstlineno
    assert [(v.name, v.origin, v.place.line if v.place else 0) for v in found] == [
        ("0.12345", "literal", line + 1),
        ("7", "literal", line + 1),
    ]


CALLS: list[int] = []


def test_methods_of_global_lists_and_arrays_are_no_draws() -> None:
    def f(x: Any) -> Any:
        CALLS.append(1)
        return X.mean() * x.sum() + X.max() * len(CALLS)

    assert "draw" not in {f.origin for f in frozen_values(ps.trace(f, X), f)}
