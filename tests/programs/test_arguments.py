"""The arguments with which a file's function is exported and checked: examples, texts and annotations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Type
from primsplit.ir.dims import Kinded, SymbolKind, symbol
from primsplit.ir.errors import SpecError
from primsplit.programs.arguments import Arguments, arguments_of, draw_arrays
from primsplit.programs.userfile import load

MODEL = """import numpy as np
def loss(x, w, power=2):
    return np.sum((x @ w) ** power)
"""
EXAMPLE = "def example_inputs():\n    return np.ones((5, 3)), np.full(3, 2.0)\n"
TYPES = {"x": ps.spec("float32", ["N", 3]), "y": ps.spec("float64", ["N", "M"]), "i": ps.spec("int64", ["M"])}


def asked(text: str, folder: Path, *rest: Any) -> Arguments:
    (folder / "model.py").write_text(text)
    return arguments_of(load(str(folder / "model.py")), *rest)


def test_an_example_gives_values_and_types(tmp_path: Path) -> None:
    found = asked(MODEL + EXAMPLE, tmp_path)
    assert not found.drawn
    np.testing.assert_array_equal(found.values[0][0], np.ones((5, 3)))
    assert found.function(*found.values[0], **found.values[1]) == 5 * 36.0
    in_float32 = asked(MODEL + EXAMPLE, tmp_path, None, "float32")
    assert [x.dtype for x in in_float32.values[0][:2]] == [np.float32] * 2


def test_texts_give_types_and_numbers_are_drawn_whose_sizes_agree(tmp_path: Path) -> None:
    found = asked(MODEL, tmp_path, {"x": "f64[N,K]", "w": "f64[K]"})
    x, w, *_ = found.values[0]
    assert found.drawn
    assert x.dtype == np.float64
    assert x.shape[1] == w.shape[0] != x.shape[0]
    np.testing.assert_array_equal(asked(MODEL, tmp_path, {"x": "f64[N,K]", "w": "f64[K]"}).values[0][0], x)
    symbolic = asked(MODEL + EXAMPLE, tmp_path, {"x": "[N,3]"})
    np.testing.assert_array_equal(symbolic.values[0][0], np.ones((5, 3)))
    assert str(symbolic.specs[0][0].shape[0]) == "N"


@pytest.mark.parametrize(
    ("texts", "told"),
    [({"z": "f64[3]"}, "no input z"), ({"x": "f64[4,3]"}, "x"), ({"x": "[N,3]", "w": "[N]"}, "N is 5 in one example")],
)
def test_a_text_that_does_not_fit_is_refused(texts: dict[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=told):
        asked(MODEL + EXAMPLE, tmp_path, texts)


def test_arrays_of_one_size_agree_and_a_text_decides_it() -> None:
    drawn = draw_arrays(TYPES, {})
    assert {name: array.dtype.name for name, array in drawn.items()} == {"x": "float32", "y": "float64", "i": "int64"}
    assert drawn["x"].shape[1] == 3
    assert drawn["x"].shape[0] == drawn["y"].shape[0] != drawn["y"].shape[1] == drawn["i"].shape[0]
    told = draw_arrays(TYPES, {"y": "[7,2]"})
    assert [told[name].shape for name in TYPES] == [(7, 3), (7, 2), (2,)]
    assert [a.shape for a in draw_arrays(TYPES, {}, size=4).values()] == [(4, 3), (4, 4), (4,)]


def test_numbers_are_within_their_bounds_and_another_seed_draws_others() -> None:
    found = draw_arrays(TYPES, {"y": "[50,40]"}, ranges={"y": (-2.0, -1.0), "i": (5, 6)})
    assert -2 <= found["y"].min() < -1.9
    assert -1.1 < found["y"].max() <= -1
    assert set(found["i"].tolist()) == {5, 6}
    assert not np.array_equal(draw_arrays(TYPES, {})["x"], draw_arrays(TYPES, {}, seed=1)["x"])


@pytest.mark.parametrize(
    ("texts", "told"),
    [({"z": "[3]"}, "no input z"), ({"x": "[5,4]"}, "x is said to be"), ({"x": "f64[5,3]"}, "x is said to be"),
     ({"x": "[5]"}, "x is said to be"), ({"x": "[5,3]", "y": "[6,2]"}, "y is said to be")],
)  # fmt: skip
def test_a_text_that_a_model_does_not_take_is_refused(texts: dict[str, str], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        draw_arrays(TYPES, texts)


def test_an_unknown_rank_needs_a_text() -> None:
    types = {"x": Type("float32", None)}
    with pytest.raises(SpecError, match="the rank of x is not known"):
        draw_arrays(types, {})
    assert draw_arrays(types, {"x": "[2,1]"})["x"].shape == (2, 1)


def test_first_sizes_without_a_name_are_one_number_of_rows_and_names_are_not_read() -> None:
    def drawn(*sizes: str) -> list[int]:
        types = {name: Type("float32", [symbol(size), 2]) for name, size in zip("abc", sizes, strict=True)}
        return [array.shape[0] for array in draw_arrays(types, {}).values()]

    a, b, c = drawn(*(Kinded(f"{name}_0_1", SymbolKind.ROWS) for name in "abc"))
    assert a == b == c
    assert len({*drawn("a_0_1", "b_0_1", "c_0_1")}) == 3
