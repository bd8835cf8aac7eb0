"""Listings of two days, line by line."""

import pytest

from primsplit.audit.review.committed import compare_texts, style_of

MODULE = '''"""main: the nodes of mlp.onnx as statements of NumPy 2."""

import numpy as np

c14 = np.array([1, 2])


def forward(w, x):
    # hidden = np.tanh(x @ w)  mlp.py:5
    matmul = x @ w
    hidden = np.tanh(matmul)
    # return np.sum(hidden * c)  mlp.py:6
    mul_1 = hidden * c14
    y = np.sum(mul_1)
    return y, (hidden, mul_1)


def pullback(captures):
    hidden, mul_1 = captures
    mul_2 = mul_1 * hidden
    return mul_2
'''


def test_a_listing_is_the_same_as_itself() -> None:
    found = compare_texts(MODULE, MODULE)
    assert (found.lines, found.statements, found.remarks, found.moved) == ((), 0, 0, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"mlp.py:5": "mlp.py:7", "mlp.py:6": "mlp.py:8"},
        {"mul_1": "mul_7", "mul_2": "mul"},
        {"c14": "c3"},
        {"NumPy 2.": f"NumPy 2. {'0af3' * 16}"} | {"mlp.onnx as": "mlp.onnx as"},
    ],
    ids=["lines", "temporaries", "arrays", "nothing"],
)
def test_other_numbers_of_lines_and_names_are_no_difference(changes: dict[str, str]) -> None:
    other = MODULE
    for old, new in changes.items():
        other = other.replace(old, new)
    old = MODULE.replace("NumPy 2.", f"NumPy 2. {'1bf3' * 16}") if "NumPy 2." in changes else MODULE
    found = compare_texts(old, other)
    assert (found.lines, found.moved) == ((), True)


def test_renamed_arrays_are_told() -> None:
    assert compare_texts(MODULE, MODULE.replace("c14", "c3")).renamed == {"c14": "c3"}


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("np.tanh(matmul)", "np.sin(matmul)", 2),
        ("mul_2 = mul_1 * hidden", "mul_2 = hidden * mul_1", 2),
        ("return mul_2", "return mul_1", 1),
        ("    y = np.sum(mul_1)\n", "", 1),
        ("np.array([1, 2])", "np.array([1, 3])", 2),
        ("hidden * c14", "hidden", 2),
    ],
)
def test_another_statement_is_a_difference(old: str, new: str, count: int) -> None:
    assert old in MODULE
    found = compare_texts(MODULE, MODULE.replace(old, new))
    assert found.statements == count
    assert found.remarks == 0
    added = [line for line in found.lines if line.startswith("+")]
    assert [new.strip() in line for line in added] == [True] * bool(new)


def test_two_names_that_become_one_are_a_difference() -> None:
    old = "def f(x):\n    mul_1 = x\n    mul_2 = x\n    return mul_1 + mul_2\n"
    new = "def f(x):\n    mul_3 = x\n    mul_3 = x\n    return mul_3 + mul_3\n"
    assert compare_texts(old, new).statements == 2


def test_names_of_inputs_and_dtypes_must_stay() -> None:
    old = "def f(x_1, x_2):\n    return x_1 - x_2  # float32\n"
    assert compare_texts(old, old.replace("x_1", "x_3")).statements == 0
    assert compare_texts(old, old.replace("x_1", "x_3"), {"x_1", "x_2", "x_3"}).statements > 0
    assert compare_texts("y: float32 = Exp(x)", "y: float64 = Exp(x)").statements > 0


def test_another_text_of_a_line_is_a_remark() -> None:
    found = compare_texts(MODULE, MODULE.replace("np.tanh(x @ w)  ", "np.tanh(x @ w + 0)  "))
    assert (found.statements, found.remarks > 0) == (0, True)
    trailing = "y = Exp(x)  # mlp.py:5  y = np.exp(x)"
    found = compare_texts(trailing, trailing.replace("y = np.exp(x)", "y = np.exp(1 * x)"))
    assert (found.statements, found.remarks) == (0, 1)


def test_old_lines_have_the_new_names_and_stand_under_their_remark() -> None:
    new = MODULE.replace("mul_1", "mul_9").replace("np.sum(mul_9)", "np.max(mul_9)")
    assert compare_texts(MODULE, new).lines == (
        "      # return np.sum(hidden * c) mlp.py",
        "-     y = np.sum(mul_9)",
        "+     y = np.max(mul_9)",
    )


@pytest.mark.parametrize(
    ("text", "style"),
    [
        (MODULE, "numpy"),
        ("import numpy as np\nimport primsplit as ps\n", "python"),
        ("mlp.onnx  main(x) -> y   float64\n13 nodes: 5 forward   sha256 d7e446ca6b5fedb7\n", "math"),
        ("main(x: float32[3]):\n  y: float32[3] = Exp(x)\n", "text"),
        ("<!doctype html>\n<html>", "html"),
        ('{"files": []}', "json"),
    ],
)
def test_the_style_is_recognized_by_the_beginning(text: str, style: str) -> None:
    assert style_of(text) == style
