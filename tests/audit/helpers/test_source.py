"""The texts of helpers stand alone."""

import ast
import builtins

from primsplit.audit.helpers.source import helper_source, helpers, needed


def test_a_helper_is_written_with_its_name_and_without_annotations() -> None:
    text = helper_source("_divide")
    assert text.startswith("def _divide(a, b):\n")
    assert "AnyArray" not in text


def test_a_helper_brings_the_helpers_that_it_calls() -> None:
    assert needed(["_scatter_nd", "np", "hidden"]) == ["_scatter_nd", "_written"]


def test_helpers_read_numpy_python_and_each_other_alone() -> None:
    for name in helpers():
        tree = ast.parse(helper_source(name))
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - stored
        assert read <= {"np", *dir(builtins), *helpers()}, name
        assert not stored & {*helpers()}, name
        assert not {f"_{n}" for n in stored} & {*helpers()}, name
