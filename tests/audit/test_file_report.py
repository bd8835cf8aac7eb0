"""What is reported of a file is read from it alone."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.json_report import json_reports
from primsplit.audit.written import read_written

W = np.linspace(-1, 1, 40).reshape(4, 10)


def layer(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return hidden @ W


SPECS = (ps.spec("float64", [3, 4]), ps.spec("float64", ["N", 3]))


def reports(path: Path, form: Any, **named: Any) -> list[dict[str, Any]]:
    paths = ps.export(layer, *SPECS, path=path, form=form, **named)
    return json_reports([read_written(p) for p in paths])


@pytest.mark.parametrize("form", ["joint", "functions"])
def test_the_captures_of_a_file_are_those_of_the_split(tmp_path: Path, form: Any) -> None:
    (found,) = reports(tmp_path / "f.onnx", form, wrt="w")
    table = ps.split(layer, *SPECS, wrt="w").capture_table()
    assert {(c["name"], c["bytes"]) for c in found["captures"]} >= {(r["name"], r["bytes"]) for r in table}
    assert found["stored"] == "32*N B"
    (hidden,) = (c for c in found["captures"] if c["name"] == "hidden")
    assert hidden["kind"] == "intermediate"
    assert hidden["source"] == ("hidden = np.tanh(x @ w)" if form == "joint" else "")


def test_the_second_of_two_files_reads_captures_of_the_first(tmp_path: Path) -> None:
    forward, backward = reports(tmp_path / "f.onnx", "split", wrt="w")
    assert forward["captures"] == []
    assert {c["name"]: c["kind"] for c in backward["captures"]} == {"hidden": "intermediate", "x": "input"}
    assert backward["stored"] == "32*N B"


def test_inputs_have_roles_and_every_node_is_counted_at_its_line(tmp_path: Path) -> None:
    (found,) = reports(tmp_path / "f.onnx", "joint", wrt="w")
    roles = {v["name"]: v["role"] for v in found["inputs"]}
    assert roles == {"w": "differentiated", "x": "data", "d_y": "cotangent"}
    for section, count in found["operators"].items():
        assert sum(line[section] for line in found["lines"]) == count
    assert len(found["nodes"]) == sum(found["operators"].values())
    assert {node["rule"] for node in found["nodes"] if node["section"] == "forward"} == {""}
    digest = subprocess.run(["sha256sum", tmp_path / "f.onnx"], capture_output=True, text=True, check=True).stdout
    assert found["sha256"] == digest.split()[0]


def test_arrays_are_constants_and_numbers_stand_in_the_listing(tmp_path: Path) -> None:
    (found,) = reports(tmp_path / "f.onnx", "joint", wrt="w")
    (array,) = (c for c in found["constants"] if c["type"] == "float64[4,10]")
    assert (array["bytes"], f"{array['name']})" in found["listing"]) == (320, True)
    assert [c["type"] for c in found["constants"]] == ["float64[4,10]"]


def test_a_tangent_is_an_input_and_a_section(tmp_path: Path) -> None:
    (found,) = reports(tmp_path / "f.onnx", "joint", mode="jvp", wrt="w")
    assert {v["name"]: v["role"] for v in found["inputs"]} == {"w": "data", "x": "data", "t_w": "tangent"}
    assert {*found["operators"]} == {"forward", "tangent"}


def test_without_provenance_a_file_is_listed_all_the_same(tmp_path: Path) -> None:
    (found,) = reports(tmp_path / "f.onnx", "joint", wrt="w", provenance="none")
    (told,) = reports(tmp_path / "f.onnx", "joint", wrt="w")
    assert Counter(n["operator"] for n in found["nodes"]) == Counter(n["operator"] for n in told["nodes"])
    assert found["operators"] == {"forward": len(told["nodes"])}
