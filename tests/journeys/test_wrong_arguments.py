"""Arguments of the public functions that mean nothing: refused by name, at the user's line, in a few lines."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import primsplit as ps
from primsplit.cli import app
from primsplit.ir.errors import PrimsplitError, RuleError, ShapeError, SpecError, TraceError

X = np.arange(3.0)
THREE = ps.spec("float64", [3])


def energy(x: Any) -> Any:
    return np.sum(x * x)


def step(carry: Any, x: Any) -> Any:
    return carry + x[0] * x[1], carry


PROGRAM = ps.trace(energy, THREE)

WRONG: list[tuple[Callable[[], Any], type[PrimsplitError], str]] = [
    (lambda: ps.grad(energy(X)), SpecError, "np.float64(5.0) is no function"),
    (lambda: ps.vmap(None), SpecError, "None is no function"),
    (lambda: ps.vjp(3, X), SpecError, "3 is no function"),
    (lambda: ps.jvp(None, (X,), (X,)), SpecError, "None is no function"),
    (lambda: ps.hessian("energy"), SpecError, "'energy' is no function"),
    (lambda: ps.split(X, X), SpecError, "is no function"),
    (lambda: ps.primitive(3), SpecError, "3 is no function"),
    (lambda: ps.cached(3), SpecError, "3 is no function"),
    (lambda: ps.guarded(energy, 3), SpecError, "3 is no function"),
    (lambda: ps.opt_out(energy), RuleError, "opt_out takes a primitive"),
    (lambda: ps.export_guarded(energy, "f.onnx"), SpecError, "no guard"),
    (lambda: ps.export_guarded(ps.guarded(energy), "f.onnx", form="many"), SpecError, "form='many' is none of"),
    (lambda: ps.grad(energy, 1.5)(X), SpecError, "wrt=1.5 names no argument"),
    (lambda: ps.split(energy, X, zeros="no"), SpecError, "zeros='no' is none of"),
    (lambda: ps.split(energy, X, seed="no"), SpecError, "seed='no' is none of"),
    (lambda: ps.split(PROGRAM, ps.spec("float64", [4])), SpecError, "has its inputs already: x"),
    (lambda: ps.trace(PROGRAM, x=X), SpecError, "has its inputs already: x"),
    (lambda: ps.trace(partial(energy)), SpecError, "energy has no spec for its parameter x"),
    (lambda: ps.spec(None, [3]), SpecError, "None is no dtype"),
    (lambda: ps.scan(step, 0.0, (X, np.ones(4))), ShapeError, "[1] of xs has 4, not 3"),
    (lambda: ps.scan(step, 0.0, (X, X), 2), ShapeError, "[0] of xs has 3, not 2"),
    (lambda: ps.scan(step, 0.0), ShapeError, "scan needs a length"),
    (lambda: ps.scan(lambda c, x: c + x, 0.0, X), TraceError, "returns a pair"),
    (lambda: ps.spec({"a": X}, [3]), SpecError, "is no dtype"),
    (lambda: ps.spec(X, [3]), SpecError, "is no dtype"),
    (lambda: ps.spec("f32", None), SpecError, "a shape is a list of sizes, not None"),
    (lambda: ps.spec("f32", np.array(2.0)), SpecError, "a shape is a list of sizes, not array(2.)"),
    (lambda: ps.split(energy, X, wrt=1.5), SpecError, "wrt=1.5 is neither a name nor a position"),
    (lambda: ps.split(energy, X, wrt=[X]), SpecError, "is neither a name nor a position"),
    (lambda: ps.split(energy, X, of=np.sin), SpecError, "is neither a name nor a position"),
    (lambda: ps.split(energy, X, of=[None]), SpecError, "of=None is neither a name nor a position"),
    (lambda: ps.export(energy, X, path="f.onnx", mode=["jvp"]), SpecError, "mode=['jvp'] is none of"),
    (lambda: ps.export(energy, X, path="f.onnx", form=X), SpecError, "there is no form"),
    (lambda: ps.export(energy, X, path="f.onnx", provider=["cpu"]), SpecError, "provider=['cpu'] is none of"),
    (lambda: ps.cond(X, energy, energy, X), ShapeError, "a condition must be one value, not float64[3]"),
    (lambda: ps.cond(True, 3, energy, X), SpecError, "3 is no function"),
    (lambda: ps.grad(lambda x: ps.cond(x.sum() > 0, x, energy, x))(X), SpecError, "is no function"),
    (lambda: ps.grad(lambda x: ps.cond([], energy, energy, x))(X), ShapeError, "a condition must be one value"),
    (lambda: ps.switch(X, [energy], X), ShapeError, "an index must be one value, not float64[3]"),
]


@pytest.mark.parametrize(("call", "error", "told"), WRONG, ids=[told for _, _, told in WRONG])
def test_what_means_nothing_is_refused(call: Callable[[], Any], error: type[PrimsplitError], told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    lines = str(caught.value).splitlines()
    assert told in lines[0]
    assert len(lines) < 10
    if caught.value.place is not None:
        assert Path(caught.value.place.filename) == Path(__file__)


SIZES: list[tuple[tuple[list[int | str], ...], tuple[int, ...], str]] = [
    ((["N + 1"], ["N + 1"]), (1, 6), "y has size 6 at axis 0, not N + 1 with N = 0"),
    ((["2*N"], ["N"]), (5, 2), "x has size 5 at axis 0, not 2*N with N = 2"),
    ((["2*N"], [3]), (5, 3), "x has size 5 at axis 0, not 2*N with N = 2"),
    ((["N + 1"], [3]), (0, 3), "x has size 0 at axis 0, not N + 1 with N = 0"),
    ((["N*M"], ["M"]), (7, 3), "x has size 7 at axis 0, not M*N with M = 3, N = 2"),
]


@pytest.mark.parametrize(("shapes", "sizes", "told"), SIZES, ids=lambda v: v if isinstance(v, str) else "")
def test_sizes_of_expressions_go_together_whatever_comes_first(
    shapes: tuple[list[int | str], ...], sizes: tuple[int, ...], told: str, tmp_path: Path
) -> None:
    program = ps.trace(lambda x, y: np.sum(x) + np.sum(y), *(ps.spec("float64", s) for s in shapes))
    program.save(tmp_path / "sums.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones(sizes[0]), y=np.ones(sizes[1]))
    with pytest.raises(ShapeError, match=re.escape(told)):
        program(*map(np.ones, sizes))
    done = CliRunner().invoke(app, ["run", str(tmp_path / "sums.onnx"), "--inputs", str(tmp_path / "in.npz")])
    assert (done.exit_code, told in done.output) == (1, True)


def test_sizes_of_expressions_that_go_together_are_taken() -> None:
    specs = [ps.spec("float64", s) for s in (["N*M"], ["2*N + 1"], ["N", "M"])]
    program = ps.trace(lambda x, y, z: np.sum(x) + np.sum(y) + np.sum(z), *specs)
    assert program(np.ones(6), np.ones(5), np.ones((2, 3))) == 17.0


def test_methods_of_objects_that_cython_made_are_refused_by_name() -> None:
    with pytest.raises(TraceError, match="known only at run time"):
        ps.grad(np.random.default_rng(0).normal)(1.0)
