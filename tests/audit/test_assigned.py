"""What made a value from outside is read from its assignment: a draw, a clock, a file."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from primsplit.audit.assigned import origin_behind

SOURCE = """
import time
import numpy as np
from scipy import special

RNG = np.random.default_rng(1)
NOISE = RNG.normal(size=3)
MIXED = 2 * NOISE[::-1] + 1
STARTED = time.time()
TABLE = {"w": np.load("w.npy")}
PLAIN = np.linspace(0, 1, 3)
FACTOR = special.gamma(3.0)


def seeded():
    return np.random.default_rng(5).uniform()


LATE = seeded() * 2


class Layer:
    noise = np.random.rand(3)
    size = 3

    def __init__(self):
        self.scale = np.random.rand(3)
        self.bias = np.zeros(3)


def other():
    level = np.random.rand()
    return level


def around(shift=np.random.rand(3), *, plain=1.0):
    closed = np.random.rand(3)

    def inner(x, level):
        return x
"""
LINE = SOURCE[: SOURCE.index("return x")].count("\n") + 1


@pytest.mark.parametrize(("path", "origin"), [
    ("NOISE", "draw"), ("MIXED", "draw"), ("LATE", "draw"), ("STARTED", "clock"), ("TABLE['w']", "file"),
    ("PLAIN", ""), ("FACTOR", ""), ("self.noise", "draw"), ("Layer.noise", "draw"), ("self.scale", "draw"),
    ("self.bias", ""), ("self.size", ""), ("closed", "draw"), ("shift", "draw"), ("plain", ""), ("level", ""),
])  # fmt: skip
def test_a_value_comes_from_what_its_assignment_calls(path: str, origin: str) -> None:
    found = origin_behind(ast.parse(path, mode="eval").body, "f.py", LINE, lambda _: ast.parse(SOURCE))
    assert found == origin


def test_a_name_is_followed_into_the_module_that_it_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings_of_a_model.py").write_text("import random\nLEVEL = random.random()\nSIZE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("settings_of_a_model")
    source = "from settings_of_a_model import LEVEL as level, SIZE\nimport settings_of_a_model as s\n"

    def parsed(filename: str) -> ast.Module:
        return ast.parse(source if filename == "f.py" else Path(filename).read_text())

    paths = ("level", "SIZE", "s.LEVEL", "s.SIZE")
    found = [origin_behind(ast.parse(path, mode="eval").body, "f.py", 3, parsed) for path in paths]
    assert found == ["draw", "", "draw", ""]
