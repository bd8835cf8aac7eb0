"""The command measures a row, tells why a peer is missing, and adds to what was measured before."""

import json
import sys
from functools import partial

import numpy as np
import pytest

from tools.bench import all as every
from tools.bench.rows import Ours, Row, distance, function_row, library_of
from tools.bench.suite import rows


def square(xp, x):
    """A function in NumPy's names."""
    return xp.sum(x * x)


def test_a_peer_that_is_not_installed_is_absent(monkeypatch) -> None:
    monkeypatch.setattr(every, "is_installed", lambda library: library != "jax")
    assert every.checked("jax.jit", lambda: pytest.fail("it is made"), [], 1e-3) == "absent"


def test_a_peer_with_another_result_is_not_timed() -> None:
    ones = [np.ones(3)]
    assert every.checked("by hand", lambda: lambda: [np.full(3, 1.5)], ones, 1e-3) == "differs: by 3e-01"
    assert every.checked("by hand", lambda: lambda: [np.ones(4)], ones, 1e-3).startswith("cannot: ValueError")
    call = every.checked("by hand", lambda: lambda: [np.full(3, 1.0001)], ones, 1e-3)
    assert not isinstance(call, str)


def test_a_peer_that_fails_says_so() -> None:
    def fails():
        raise NotImplementedError("no such function\nmore")

    assert every.checked("by hand", fails, [], 1e-3) == "cannot: NotImplementedError: no such function"


def test_results_are_compared_relative_to_the_largest_element() -> None:
    assert distance([np.array([1.0, 100.0])], [np.array([2.0, 100.0])]) == pytest.approx(0.01)
    assert distance([np.array(1.0), np.ones(2)], [np.array(1.0)]) == 0.0
    with pytest.raises(ValueError, match="no results"):
        distance([np.ones(2)], [])


def test_the_library_of_a_peer_is_read_from_its_name() -> None:
    names = ["jax.jit", "torch eager", "torch.compile", "autograd", "NumPy by hand", "our log_softmax"]
    assert [library_of(name) for name in names] == ["jax", "torch", "torch", "autograd", "", ""]


def test_a_small_row_is_measured_with_its_work_and_every_peer_has_a_cell() -> None:
    x = np.arange(6.0)
    peers = {"by hand": lambda _: lambda: (np.sum(x * x), 2 * x), "wrong": lambda _: lambda: (0.0, x)}
    found = every.measured(function_row("small", "6", square, (x,), peers=peers), 1, is_quick=True)
    assert list(found["peers"]) == ["jax.jit", "torch eager", "autograd", "by hand", "wrong"]
    assert found["peers"]["by hand"]["ratio"] > 0.0
    assert found["peers"]["wrong"]["missing"].startswith("differs: by")
    assert found["ms"] > 0.0
    assert found["work"]["moved"] == (6 + 1 + 6) * 8
    assert every.measured(function_row("small", "6", square, (x,)), 1, ["jax.jit"], is_quick=True)["peers"][
        "jax.jit"
    ] == {"missing": "not run"}


def test_the_slower_side_has_the_larger_time() -> None:
    def loops(n):
        return lambda: [np.asarray(float(sum(range(n)) > 0))]

    row = Row("r", "float64", "1", lambda _: Ours(loops(2000)), {"by hand": lambda _: loops(20_000)})
    assert 3.0 < every.measured(row, 1, is_quick=True)["peers"]["by hand"]["ratio"] < 30.0


def test_rounds_fill_the_budget_within_bounds() -> None:
    assert [every.rounds_for(once, 1.0) for once in (1e-6, 0.1, 10.0)] == [31, 10, 5]


def test_new_measurements_keep_those_of_other_rows_and_cores() -> None:
    before = {"date": "a", "limits": {"1": "old", "2": "kept"}, "rows": {"fixed mlp": {"1": "old", "2": "kept"}}}
    now = {"date": "b", "limits": {"1": "new"}, "rows": {"fixed convnet": {"1": "new"}, "fixed mlp": {"1": "new"}}}
    assert every.merged(before, now) == {
        "date": "b",
        "limits": {"1": "new", "2": "kept"},
        "rows": {"fixed mlp": {"1": "new", "2": "kept"}, "fixed convnet": {"1": "new"}},
    }
    assert every.merged(None, now) == now


def test_a_processors_file_is_named_after_it() -> None:
    assert every.slug("Some(R) CPU, family 6") == "some_r_cpu_family_6"


def test_rows_are_named_after_the_file_they_come_from() -> None:
    folder = every.table.RESULTS.parent
    assert all((folder / f"{name.split()[0]}.py").exists() for name in rows())
    assert all(row.peers for row in rows().values())


def test_the_command_measures_one_row_on_one_core(monkeypatch, capsys) -> None:
    line = ["all", "--only", "nests log1p float64", "--cores", "1", "--quick", "--json"]
    monkeypatch.setattr(sys, "argv", line)
    every.main()
    found = json.loads(capsys.readouterr().out)
    row = found["rows"]["nests log1p float64"]["1"]
    assert found["processor"]
    assert found["limits"]["1"]["products"]["MLAS float64 64"] > 0.0
    assert row["peers"]["NumPy by hand"]["ratio"] > 0.0
    assert row["work"]["functions"] == {"float64": 72 * 72}


def test_an_unknown_row_measures_nothing(monkeypatch) -> None:
    monkeypatch.setattr(every, "_run", partial(pytest.fail, "a process is started"))
    monkeypatch.setattr(sys, "argv", ["all", "--only", "no such row", "--json", "--quick"])
    with pytest.raises(SystemExit, match="no row begins with"):
        every.main()
