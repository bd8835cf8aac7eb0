"""Signatures, docstrings and results of functions."""

import ast

from primsplit.audit.numpy_functions import WIDTH, docstring


def test_a_docstring_holds_texts_as_they_are_on_lines_of_their_own() -> None:
    texts = ['a"""\nb', "", "c\\" + " word" * 40]
    text = docstring(texts, 1)
    assert max(map(len, text.splitlines())) <= WIDTH
    (node,) = ast.parse(f"def f():\n{text}").body
    assert isinstance(node, ast.FunctionDef)
    assert (ast.get_docstring(node) or "").startswith("a'''/nb\n")
