"""The measures of the house that must not get worse, and that the tool sees what it is asked for."""

from pathlib import Path

import onnx.defs
import pytest

from tools.house import (
    ALLOWED,
    ROOMS,
    Module,
    at_the_root,
    beyond_the_door,
    code,
    has_mirrored_test,
    modules,
    reads_of_python,
    tables,
)

KINDS = frozenset(schema.name for schema in onnx.defs.get_all_schemas())
TABLES = 0
"""Tables of operator names outside of `ops`: only fewer are right."""
UNTESTED = 5
"""Modules without a test at the mirrored path: only fewer are right."""


BEYOND = {"frontends/loops": 38, "frontends/scipy": 136, "onnx/sequences": 46}
"""Names that folders import beside the public ones and those of `primsplit.extend`: only fewer are right."""


@pytest.mark.parametrize("folder", BEYOND)
def test_a_folder_that_should_need_the_door_alone_imports_no_more_beside_it(folder: str) -> None:
    assert len(beyond_the_door(folder)) <= BEYOND[folder]


def test_three_modules_and_the_rooms_stand_at_the_root() -> None:
    assert at_the_root() == {"__init__", "__main__", "extend", *ROOMS}


def test_no_room_but_ops_gets_another_table_of_operator_names() -> None:
    assert len([t for m in modules() if m.room not in ("", "ops") for t in tables(m, KINDS)]) <= TABLES


def test_a_new_module_has_a_test_at_the_mirrored_path() -> None:
    assert len([m for m in modules() if not has_mirrored_test(m) and code(m)]) <= UNTESTED


def test_only_modules_with_a_reason_read_how_cpython_runs_a_function() -> None:
    """Opcodes, frames, local variables of others, reference counts, the collector: a new one needs a reason."""
    assert {f"{m.name} {read}" for m in modules() for read in reads_of_python(m)} == {*ALLOWED}


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("import dis", "opcodes"),
        ("from dis import opname", "opcodes"),
        ("code.co_code", "opcodes"),
        ("import gc", "collector"),
        ("sys.getrefcount(x)", "reference counts"),
        ("sys._getframe(1)", "frames"),
        ("inspect.currentframe()", "frames"),
        ("frame.f_locals['x']", "local variables"),
    ],
)
def test_reads_of_how_cpython_runs_a_function_are_found(line: str, read: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"import ast\ndef f():\n    frame.f_back\n    {line}\n")
    assert reads_of_python(Module(path)) == {read}


def tables_of(tmp_path: Path, text: str) -> list[str]:
    """The tables of a module with this text."""
    path = tmp_path / "module.py"
    path.write_text(text)
    return list(tables(Module(path), KINDS))


def test_a_table_is_a_set_a_tuple_a_dictionary_or_a_text_of_operators(tmp_path: Path) -> None:
    text = (
        'A = frozenset({"Add", "Mul", "Sub"})\nB: tuple[str, ...] = ("Add", "Mul", "Sub")\n'
        'C = {"Add": 1, "Mul": 2, "Sub": 3}\nD = "Add Mul Sub".split()\n'
        'E = ("Add", "Mul")\nF = ("some", "other", "texts")\ndef g():\n    H = ("Add", "Mul", "Sub")\n'
    )
    assert tables_of(tmp_path, text) == ["A", "B", "C", "D"]


def test_a_dictionary_of_functions_is_no_table_and_one_of_data_is(tmp_path: Path) -> None:
    text = (
        'A = {"Add": add, "Mul": np.multiply, "Sub": lambda a, b: a - b}\n'
        'B = {**dict.fromkeys(("Add", "Mul", "Sub"), _rule), "Div": made("Div"), "Neg": (_one, _other)}\n'
        'C = {kind: _rule(kind) for kind in ("Add", "Mul", "Sub")}\n'
        'D = {"Add": _ANY, "Mul": Form(1), "Sub": frozenset({0})}\nE = dict.fromkeys(("Add", "Mul", "Sub"), 1)\n'
    )
    assert tables_of(tmp_path, text) == ["D", "E"]


def test_a_table_whose_docstring_says_why_it_is_no_trait_is_not_counted(tmp_path: Path) -> None:
    text = 'A = ("Add", "Mul", "Sub")\n"""No trait: kernels that fail."""\nB = ("Add", "Mul", "Sub")\n"""Sums."""\n'
    assert tables_of(tmp_path, text) == ["B"]
