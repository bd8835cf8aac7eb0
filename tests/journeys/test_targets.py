"""`target=` on each door that writes a file: the file has no way around what is mended in that version."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError

X = np.array([0.3, -1.2, 2.0])
NEW = "onnxruntime>=1.32"


def energy(x: Any) -> Any:
    return np.sum(np.cos(x) ** 2)


def operators(*paths: str | Path) -> set[str]:
    """The operators of files, and of the functions and branches in them."""
    rest = [holder for model in map(onnx.load, paths) for holder in (model.graph, *model.functions)]
    found = set()
    while rest:
        for node in rest.pop().node:
            found.add(node.op_type)
            rest += [attribute.g for attribute in node.attribute]
    return found


def exported(path: Path, **more: Any) -> list[str]:
    return ps.export(energy, X, path=path, **more)


def guarded(path: Path, form: str = "joint", **more: Any) -> list[str]:
    function = ps.guarded(energy, lambda x: bool(x[0] > 0))
    function(X)
    return [p for p in ps.export_guarded(function, path, form=form, **more) if p.endswith(".onnx")]


def saved(path: Path, **more: Any) -> list[Path]:
    ps.trace(energy, X).save(path, **more)
    return [path]


def as_proto(path: Path, **more: Any) -> list[Path]:
    onnx.save(ps.trace(energy, X).to_onnx(**more), path)
    return [path]


DOORS: dict[str, Callable[..., Any]] = {
    "export": exported,
    "export in two files": lambda path, **more: exported(path, form="split", **more),
    "export as functions": lambda path, **more: exported(path, form="functions", **more),
    "export of tangents": lambda path, **more: exported(path, mode="jvp", **more),
    "export of products": lambda path, **more: exported(path, mode="hvp", **more),
    "export of a Hessian": lambda path, **more: exported(path, mode="hessian", **more),
    "export of a Split": lambda path, **more: ps.export(ps.split(energy, X), path=path, **more),
    "export_guarded": guarded,
    "export_guarded in variants": lambda path, **more: guarded(path.with_suffix(""), "variants", **more),
    "Program.save": saved,
    "Program.to_onnx": as_proto,
    "SplitProgram.save": lambda path, **more: ps.split(energy, X).save(path, **more),
}


@pytest.mark.parametrize("name", DOORS)
def test_a_file_for_newer_versions_has_the_operator_and_others_the_way_around(name: str, tmp_path: Path) -> None:
    old = operators(*DOORS[name](tmp_path / "old.onnx"))
    new = operators(*DOORS[name](tmp_path / "new.onnx", target=NEW))
    assert "Cos" in new - old


@pytest.mark.parametrize("name", DOORS)
def test_the_default_target_is_the_oldest_version(name: str, tmp_path: Path) -> None:
    files = [DOORS[name](tmp_path / "f.onnx", **more) for more in ({}, {"target": "onnxruntime>=1.20"})]
    assert operators(*files[0]) == operators(*files[1])


@pytest.mark.parametrize("name", DOORS)
def test_what_is_no_target_is_refused_at_each_door(name: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"target='ort' names no runtime"):
        DOORS[name](tmp_path / "f.onnx", target="ort")
    assert not list(tmp_path.glob("*.onnx"))
