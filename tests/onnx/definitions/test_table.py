"""The table of definitions: the meaning of an operator in each version of its domain."""

import pytest

from primsplit.ir.errors import RuleError
from primsplit.onnx.definitions import table
from primsplit.onnx.definitions.table import defined_names, defines, definition_of


@pytest.fixture(autouse=True)
def own_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is defined, and what a test defines is forgotten after it."""
    for name in ("DEFINITIONS", "_VERSIONS", "NAMED"):
        monkeypatch.setattr(table, name, {})


def node(*, outputs: int = 1) -> None:
    """No operator."""


def test_a_model_has_the_newest_definition_that_its_version_knows() -> None:
    for since in (3, 1, 7):
        defines("acme", "Swoosh", since=since)(node)
    versions = {v: definition_of("acme::Swoosh", v) for v in (0, 1, 2, 3, 6, 7, 8, None)}
    assert {v: found and found.since for v, found in versions.items()} == {
        0: None, 1: 1, 2: 1, 3: 3, 6: 3, 7: 7, 8: 7, None: 7,
    }  # fmt: skip
    assert definition_of("acme::Other") is None


def test_names_are_told_once_and_the_packages_own_spellings_are_not() -> None:
    for name, since in (("acme::Swoosh", 0), ("acme::Swoosh", 3), ("primsplit::own", 0), ("primsplit.old::Add", 0)):
        defines(name, since=since)(node)
    assert defined_names() == {"acme::Swoosh"}


def test_an_operator_of_the_standard_is_refused_unless_it_is_replaced_or_of_a_version() -> None:
    with pytest.raises(RuleError, match="Sin is an operator of the standard"):
        defines("Sin")(node)
    defines("Sin", replace=True)(node)
    defines("Cos", since=3)(node)
    assert defined_names() == {"Sin", "Cos"}


def test_a_function_that_takes_no_outputs_becomes_a_primitive_of_the_operators_name() -> None:
    made = defines("acme", "Doubled")(lambda x, *, by=2.0: x * by)
    assert table.NAMED["acme::Doubled"] is made
    found = definition_of("acme::Doubled")
    assert found is not None
    assert list(found.signature.parameters) == ["x", "by", "outputs"]
    assert made(3.0) == 6.0
