"""A file whose statements are joined is written once for what is asked of it, however often it is traced."""

import pathlib
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion import rewritten


def clipped(x: Any) -> Any:
    for i in range(14):
        x = x * 0.5 if x[i % 3] > 1.0 else x + 0.1
    return np.sum(x**2)


def doubled(x: Any) -> Any:
    return ps.grad(clipped)(x) * 2.0


def test_a_second_trace_finds_what_the_first_one_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    write = rewritten._rewritten
    monkeypatch.setattr(rewritten, "_rewritten", lambda asked: written.append(asked) or write(asked))
    x = np.array([3.0, 0.2, -1.0])
    for dtype in ("float64", "float32", "float64"):
        found = ps.trace(clipped, ps.spec(dtype, [3]))(x.astype(dtype))
        np.testing.assert_allclose(found, clipped(x.astype(dtype)), rtol=1e-5)
    assert len(written) == len(set(written)) > 0


def test_traces_inside_of_one_another_have_their_own() -> None:
    x = np.array([3.0, 0.2, -1.0])
    np.testing.assert_allclose(ps.trace(doubled, ps.spec("float64", [3]))(x), ps.grad(clipped)(x) * 2.0, rtol=1e-12)


def test_a_function_whose_file_has_changed_keeps_its_branches(tmp_path: pathlib.Path) -> None:
    """It was joined with the branches that stand in its lines now."""
    path = tmp_path / "module.py"
    text = "def f(x):\n    if x > 0:\n        return {} * x\n    return -{} * x\n"
    path.write_text(text.format(2, 3))
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.write_text(text.format(5, 7))
    program = ps.trace(names["f"], ps.spec("float64", []))
    assert [float(program(x)) for x in (1.0, -1.0)] == [2.0, 3.0]
