"""The listing of a file has each node of the file once, and nothing else."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.file_listing import list_file
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, ModeName
from primsplit.ir.errors import MissingRule, ShapeError, SpecError
from primsplit.programs.export import Derived, save_derived
from primsplit.programs.forms import FORMS
from tests.networks import NAMES, light_network

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))
OTHERS = [name for name in NAMES if name != "squeezenet"]
CALLED = re.compile(r"^[^#\n]* = ([\w.]+(?:::\w+)*)\(", re.MULTILINE)
"""An operator of a listing, or the name of a graph inside."""


def in_file(path: str | Path) -> Counter[str]:
    """The operators of a file's nodes, in graphs inside and in functions too."""

    def operators(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
        for node in nodes:
            yield f"{node.domain}::{node.op_type}" if node.domain else node.op_type
            for attribute in node.attribute:
                yield from operators(attribute.g.node)

    model = onnx.load(path, load_external_data=False)
    return Counter([*operators(model.graph.node), *(k for f in model.functions for k in operators(f.node))])


def listed(path: str | Path) -> Counter[str]:
    """The operators of a file's listing."""
    names = CALLED.findall("\n".join(list_file(read_written(str(path)))))
    return Counter(name for name in names if "::" in name or onnx.defs.has(name))


def assert_listed(derived: Derived, mode: Any) -> None:
    """The listing of each file of a derivative, in each form that it has, has the nodes of the file."""
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            try:
                paths = save_derived(derived, f"{folder}/f.onnx", mode, form)  # type: ignore[arg-type]
            except SpecError:
                assert form != "joint"
                continue
            for path in paths:
                assert listed(path) == in_file(path), form


def assert_model_listed(path: Path, mode: ModeName | None) -> None:
    """The same for a model of ours in a mode, which it may not have."""
    try:
        made = Exported(str(path), None, None, None, quiet=True, mode=mode)
    except (ShapeError, MissingRule, SpecError):
        assert mode is not None
        pytest.skip("the model has no such derivative")
    assert_listed(made.derived, made.mode)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_listing_of_a_model_is_its_file(path: Path) -> None:
    assert_model_listed(path, None)


@pytest.mark.parametrize("mode", ModeName)
@pytest.mark.parametrize("stem", ["asian_option", "robust_regression"])
def test_the_listing_of_a_model_in_any_mode_is_its_file(stem: str, mode: ModeName) -> None:
    assert_model_listed(next(path for path in MODELS if path.stem == stem), mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ModeName)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_listing_of_every_model_in_every_mode_is_its_file(path: Path, mode: ModeName) -> None:
    assert_model_listed(path, mode)


@pytest.mark.parametrize("name", ["squeezenet", *(pytest.param(n, marks=pytest.mark.slow) for n in OTHERS)])
def test_the_listing_of_a_network_and_of_its_gradient_is_its_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    onnx.save(light_network(name), path)
    assert_same_without_types(path)
    assert_listed(ps.split(ps.load(path)), "gradient")


def assert_same_without_types(path: Path) -> None:
    """The same for a file whose listing may lack types."""
    found = [op.kind for op in read_written(str(path)).ops()]
    assert Counter(found) == in_file(path)


def test_values_have_the_names_and_types_of_the_file(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["x", "W"], ["/a b/Mul_out"], name="first"),
        helper.make_node("Tanh", ["/a b/Mul_out"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, 1, ["N", None, 3]) for name in "xy"]
    weight = helper.make_tensor("W", 1, [3], [1.0, 2.0, 3.0])
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight]))
    onnx.save(model, tmp_path / "m.onnx")
    (text,) = list_file(read_written(str(tmp_path / "m.onnx")))
    assert text.splitlines() == [
        "g(x: float32[N,?,3]):",
        "  `/a b/Mul_out`: float32[N,?,3] = Mul(x, W)  # first",
        "  y: float32[N,?,3]              = Tanh(`/a b/Mul_out`)",
        "  return y",
    ]


def test_a_line_names_the_users_line_and_the_rule(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    ps.export(loss, np.ones((3, 4)), np.ones((2, 3)), path=tmp_path / "f.onnx", wrt="w")
    (text,) = list_file(read_written(str(tmp_path / "f.onnx")))
    line = loss.__code__.co_firstlineno + 1
    assert re.search(rf"hidden: float64\[2,4\] += Tanh\(matmul\) +# test_file_listing.py:{line}$", text, re.MULTILINE)
    assert f"# test_file_listing.py:{line}  hidden = np.tanh(x @ w)" in text
    assert f"# test_file_listing.py:{line}  pullback of Tanh" in text
    assert "# forward: 3 nodes" in text
