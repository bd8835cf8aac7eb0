"""A user's file: the function that is meant in it."""

import sys
from pathlib import Path

import pytest

from primsplit.ir.errors import FileError, PrimsplitError, SpecError
from primsplit.programs.userfile import load, read_target


def saved(folder: Path, text: str, name: str = "model.py") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


ONE = "import numpy as np\ndef energy(x):\n    return np.sum(x ** 2)\ndef _own(x):\n    return x\n"
TWO = ONE + "def other(x, y):\n    return x * y\n"


@pytest.mark.parametrize(
    ("target", "wanted"),
    [("model.py", ("model.py", None)), ("a/model.py:loss", ("a/model.py", "loss")), ("model.py:", ("model.py", None)),
     ("C:/x/model.py:Model.energy", ("C:/x/model.py", "Model.energy"))],
)  # fmt: skip
def test_a_target_is_a_path_and_perhaps_a_name(target: str, wanted: tuple[str, str | None]) -> None:
    path, name = read_target(target)
    assert (path, name or None) == wanted


def test_the_only_public_function_is_meant_or_the_one_that_is_named(tmp_path: Path) -> None:
    assert load(saved(tmp_path, ONE)).function.__name__ == "energy"
    both = saved(tmp_path, TWO, "both.py")
    assert load(f"{both}:other").function(2.0, 3.0) == 6.0
    with pytest.raises(SpecError) as raised:
        load(both)
    assert "energy, other" in str(raised.value)
    assert load(saved(tmp_path, TWO + "main = 'other'\n", "told.py")).function.__name__ == "other"


def test_a_method_is_named_by_its_object(tmp_path: Path) -> None:
    text = "class Model:\n    def energy(self, x):\n        return x * 2\nmodel = Model()\n"
    assert load(saved(tmp_path, text) + ":model.energy").function(3.0) == 6.0


@pytest.mark.parametrize(
    ("text", "told"),
    [("def f(:\n", "is not Python"), ("x = 1\n", "no function"), (ONE.replace("energy", "_e"), "no function")],
)
def test_a_file_without_a_function_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PrimsplitError, match=told):
        load(saved(tmp_path, text))


def test_a_file_that_is_not_there_or_a_name_that_it_has_not_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        load(str(tmp_path / "none.py"))
    with pytest.raises(SpecError, match="energi"):
        load(saved(tmp_path, ONE) + ":energi")


def test_a_file_imports_its_neighbours_and_its_package_and_leaves_no_cache(tmp_path: Path) -> None:
    saved(tmp_path, "SCALE = 3.0\n", "package/numbers_of_it.py")
    saved(tmp_path, "", "package/__init__.py")
    path = saved(tmp_path, "from .numbers_of_it import SCALE\ndef f(x):\n    return SCALE * x\n", "package/model.py")
    assert load(path).function(2.0) == 6.0
    assert not (tmp_path / "package" / "__pycache__" / "model.cpython-311.pyc").exists()


def test_a_file_in_a_package_that_imports_no_neighbour_is_no_part_of_it(tmp_path: Path) -> None:
    """Neither its name nor what is importable depends on the folder above."""
    saved(tmp_path, "", "around/__init__.py")
    path = saved(tmp_path, "from math import pi\ndef f(x):\n    return pi * x\n", "around/alone.py")
    assert load(path).module.__name__ == "primsplit_model_alone"
    assert str(tmp_path) not in sys.path
