"""Mutants of a toy package: tested code kills them, code whose tests check little does not."""

from pathlib import Path

import pytest

from tools import mutants

CODE = """
def clipped(x):
    return x if x < 3 else 3


def counted(n):
    while n > 0:
        n -= 1
    return n
"""
STRONG = """
from toy.numbers import clipped, counted

def test_clipped():
    assert [clipped(x) for x in (1, 3.5, 9)] == [1, 3, 3]

def test_counted():
    assert [counted(5), counted(0)] == [0, 0]
"""
WEAK = "from toy.numbers import clipped\n\ndef test_clipped():\n    clipped(1)\n"


@pytest.fixture(autouse=True)
def _without_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run starts a pytest, which would import plugins that these tests do without for half of its time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def tree(root: Path, test: str) -> Path:
    """A package `toy` with one module."""
    files = {"toy/__init__.py": "", "toy/numbers.py": CODE, "tests/test_numbers.py": test}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run(root: Path, *words: str) -> int:
    """The status of a run."""
    return mutants.main([*words, "--root", str(root), "--package", "toy", "--seconds", "3"])


def test_a_test_that_compares_results_kills_all_mutants_that_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tree(tmp_path, STRONG), "numbers.py", "--line", "3") == 1
    # At 3 both sides of the boundary are 3.
    report = """\
numbers.py: 5 of 6 killed, 1 survived
  survived   toy/numbers.py:3  boundary: return x if x < 3 else 3  ->  return x if (x <= 3) else 3
"""
    assert capsys.readouterr().out.endswith(report)


def test_a_test_that_checks_nothing_kills_none_and_the_tree_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, WEAK)
    assert run(root, "numbers.py", "--count", "2") == 1
    assert "numbers.py: 0 of 2 killed, 2 survived" in capsys.readouterr().out
    assert (root / "toy" / "numbers.py").read_text() == CODE


def test_an_endless_loop_times_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.mutating.running.SLACK", 2)
    root = tree(tmp_path, STRONG)
    assert run(root, "numbers.py", "--line", "8") == 1
    assert "timed out  toy/numbers.py:8  statement: n -= 1  ->  pass" in capsys.readouterr().out


def test_a_list_is_printed_without_a_run_and_an_unknown_area_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, STRONG)
    assert run(root, ".", "--list", "--count", "3") == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    with pytest.raises(FileNotFoundError, match="toy/nowhere is neither"):
        run(root, "nowhere")


def test_a_module_without_tests_that_pass_is_untested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree(tmp_path, "def test_it():\n    assert False\n"), "numbers.py", "--count", "1") == 1
    assert "numbers.py: 0 of 1 killed, 1 untested" in capsys.readouterr().out
