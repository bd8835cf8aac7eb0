"""The listing of a file has each node of the file once, and nothing else."""

import difflib
import importlib.util
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
from primsplit.cli.options import Exported, FunctionDerivation, ModeName
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
        made = Exported(str(path), FunctionDerivation(mode=mode), quiet=True)
    except (ShapeError, MissingRule, SpecError):
        assert mode is not None
        pytest.skip("the model has no such derivative")
    assert_listed(made.derived, made.mode)


@pytest.mark.sweep(2)
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


def test_nodes_stand_under_the_users_lines_with_the_rules_that_made_them(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    ps.export(loss, np.ones((3, 4)), np.ones((2, 3)), path=tmp_path / "f.onnx", wrt="w")
    (text,) = list_file(read_written(str(tmp_path / "f.onnx")))
    line = loss.__code__.co_firstlineno + 1
    at = "test_file_listing.py"
    assert text.splitlines() == [
        "loss(w: float64[3,4], x: float64[2,3]):",
        "  # forward: 3 nodes",
        f"  # {at}:{line}  hidden = np.tanh(x @ w)",
        "  matmul_x: float64[2,4] = MatMul(x, w)",
        "  hidden: float64[2,4]   = Tanh(matmul_x)",
        f"  # {at}:{line + 1}  return np.sum(hidden)",
        "  y: float64 = ReduceSum(hidden, keepdims=0)",
        "  # backward: 3 nodes",
        "  # Grad of: hidden = np.tanh(x @ w)",
        "  mul_hidden: float64[2,4] = Mul(hidden, hidden)  # pullback of Tanh",
        "  sub_hidden: float64[2,4] = Sub(1.0, mul_hidden)  # pullback of Tanh",
        "  d_w: float64[3,4]        = Gemm(x, sub_hidden, transA=1, transB=0)  # pullback of MatMul",
        "  return y, d_w",
    ]


MLP = """import numpy as np


def loss(w1, b, w2, x):
    hidden = np.maximum(x @ w1 + b, 0.0)
    scores = hidden @ w2
    log_z = np.log(np.exp(scores).sum(axis=-1))
    return np.mean(log_z) + 1e-4 * np.sum(w1**2)
"""
SIZES = ([3, 4], [4], [4, 2], [6, 3])


def listed_lines(source: str, folder: Path) -> list[str]:
    """The lines of the listing of the gradient of the loss in a source file."""
    folder.mkdir()
    (folder / "mlp.py").write_text(source)
    spec = importlib.util.spec_from_file_location("mlp", folder / "mlp.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types = (ps.spec("float32", sizes) for sizes in SIZES)
    path = folder / "mlp.onnx"
    ps.export(module.loss, *types, path=path, wrt=("w1", "b", "w2"))
    return list_file(read_written(str(path)))[0].splitlines()


def changed(old: list[str], new: list[str]) -> list[str]:
    """The lines of both that a comparison shows."""
    return [line for line in difflib.ndiff(old, new) if line[0] in "+-"]


def test_a_comment_on_top_changes_a_line_for_each_line_of_the_users(tmp_path: Path) -> None:
    lines = changed(listed_lines(MLP, tmp_path / "a"), listed_lines(f"# a comment\n{MLP}", tmp_path / "b"))
    places = sorted(re.fullmatch(r"([+-])   # mlp.py:(\d+)  .*", line).groups() for line in lines)  # type: ignore[union-attr]
    assert places == [*(("+", str(n)) for n in (6, 7, 8, 9)), *(("-", str(n)) for n in (5, 6, 7, 8))]


def test_another_function_of_a_line_changes_its_nodes_and_their_readers_alone(tmp_path: Path) -> None:
    old = listed_lines(MLP, tmp_path / "a")
    new = listed_lines(MLP.replace("np.maximum(x @ w1 + b, 0.0)", "np.tanh(x @ w1 + b)"), tmp_path / "b")
    own = re.compile(r"nodes$|hidden|Grad of|where|greater|gemm_x|pullback of (Max|Tanh|Add|MatMul)")
    lines = changed(old, new)
    assert [line for line in lines if not own.search(line)] == []
    assert len([line for line in lines if line[0] == "-"]) <= 16
