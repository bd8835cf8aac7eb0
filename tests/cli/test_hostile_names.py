"""Whatever a model's names, sizes and texts are, no command lets a terminal obey them, and no listing runs them."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as onh
import pytest

import primsplit as ps
from primsplit.audit.rebuild import run_source
from primsplit.ir.notation.listing import constants, listing
from primsplit.ir.notation.parsing import parse
from primsplit.ir.plain_text import in_lines
from primsplit.programs.python_text import to_python

HOSTILE = {
    "line breaks": "x\nimport os; os.system('touch pwned')\ndef forged(): pass",
    "escapes": "x\x1b]0;title\x1b\\\x1b[31m\x9b2J",
    "quotes": "x\"\"\"', __import__('os').system('touch pwned'), \"`\\",
    "directions": "x\u202e\u2066\r\u200b\u2028\x85\x00",
    "names of the source": "op",
    "letters that Python normalizes": "ｏｐ",
    "markup": "[red]</pre><script>alert(1)</script>{{7*7}}:red_circle:",
}
PLACES = ("input", "output", "weight", "value", "size", "node", "graph", "remark", "text")


def hostile_model(path: Path, **names: str) -> Path:
    """A model with a product, a sum, and texts of all kinds; `names` replace its own."""
    own = dict(zip(PLACES, ("x", "y", "w", "a", "N", "mul", "g", "told", "doc"), strict=True)) | names
    tensor = oh.make_tensor_value_info
    nodes = [
        oh.make_node("Mul", [own["input"], own["weight"]], [own["value"]], name=own["node"], doc_string=own["text"]),
        oh.make_node("ReduceSum", [own["value"]], [own["output"]], keepdims=0),
    ]
    for node in nodes:
        for key in ("remark", "place", "source"):
            node.metadata_props.add(key=key, value=own["remark"])
    weight = onh.from_array(np.full(1, 2, np.float32), own["weight"])
    graph = oh.make_graph(
        nodes, own["graph"], [tensor(own["input"], 1, [own["size"]])], [tensor(own["output"], 1, [])], [weight]
    )
    graph.doc_string = own["text"]
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10, producer_name=own["text"])
    path.write_bytes(model.SerializeToString())
    return path


def assert_safe(text: str) -> None:
    """No character is left that a terminal would obey or hide."""
    assert in_lines(text) == text


COMMANDS: list[tuple[str, ...]] = [
    ("audit",),
    ("audit", "--style", "text"),
    ("audit", "--style", "html"),
    ("audit", "--style", "numpy"),
    ("grad", "--onnx", "out.onnx"),
    ("grad", "--wrt", "none"),
    ("check",),
    ("run",),
    ("rules", "--missing-for"),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("told", HOSTILE)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_what_a_terminal_obeys(
    primsplit: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {place: f"{HOSTILE[told]}{i}" for i, place in enumerate(PLACES)}
    path = hostile_model(tmp_path / "m.onnx", **names)
    arguments = [*command, path] if command[0] == "rules" else [command[0], path, *command[1:]]
    done = primsplit(*arguments)
    assert_safe(done.out + done.error)
    assert "inside primsplit" not in done.error
    if "html" not in command:
        told_in_json = primsplit(*arguments, "--json")
        assert_safe(told_in_json.out)
        assert json.loads(told_in_json.out)
    assert "<script>" not in done.out or "html" not in command
    assert not (tmp_path / "pwned").exists()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("told", HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_a_listing_as_python_or_text_is_the_program_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    block = ps.load(hostile_model(tmp_path / "m.onnx", **{place: HOSTILE[told]})).block
    source, plain = to_python(block), to_python(ps.load(hostile_model(tmp_path / "plain.onnx")).block)
    assert_safe(source)
    assert [type(s).__name__ for s in ast.parse(source).body] == [type(s).__name__ for s in ast.parse(plain).body]
    assert source.count("\n") == plain.count("\n")
    assert run_source(source, constants(block)) == block
    assert parse(listing(block), constants(block)) == block
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("op_type", ["Nope\x1b[2J", "Nope\nimport os"])
def test_an_operator_with_a_hostile_name_is_refused_in_one_line(
    primsplit: Callable[..., Any], tmp_path: Path, op_type: str
) -> None:
    model = onnx.load(hostile_model(tmp_path / "m.onnx"))
    model.graph.node[0].op_type = op_type
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    listed = primsplit("audit", tmp_path / "m.onnx")
    assert_safe(listed.out)
    assert not any(line.strip().startswith("import os") for line in listed.out.splitlines())
    for command in ("audit --stage split", "grad", "check", "run", "bench"):
        done = primsplit(*command.split(), tmp_path / "m.onnx")
        assert done.status == 1
        assert_safe(done.error)
        assert not any(line.startswith("import os") for line in done.error.splitlines())


def test_a_hostile_path_is_told_in_one_line(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    for name in ("a\x1b[31m\n.onnx", "a\x1b[31m\n.py", "\udcff.onnx"):
        for command in ("audit", "run", "check", "export"):
            done = primsplit(command, tmp_path / name)
            assert_safe(done.error)
            assert done.status == 1
    for arguments in (("audit", "m.onnx", "--\x1b[2J"), ("audit", "m.onnx", "a\x1b[2J"), ("\x1b[2J",)):
        done = primsplit(*arguments)
        assert (done.status, "\x1b" in done.error) == (2, False)


def test_a_traceback_and_a_user_error_are_safe_to_print(
    primsplit: Callable[..., Any], model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model("def loss(x):\n    raise ValueError('a\\x1b[2Jb\\nc\\u202e')\n")
    done = primsplit("export", path, "--spec", "x:f64[3]")
    assert_safe(done.error)
    assert "a\\x1b[2Jb\nc" in done.error
    monkeypatch.setenv("PRIMSPLIT_TRACEBACK", "1")
    assert_safe(primsplit("export", path, "--spec", "x:f64[3]").error)


def test_what_python_shows_of_a_program_is_safe_to_print(tmp_path: Path) -> None:
    names = {place: f"{HOSTILE['escapes']}\n{i}" for i, place in enumerate(PLACES)}
    program = ps.load(hostile_model(tmp_path / "m.onnx", **names))
    split = ps.split(program)
    for shown in (program, split, program.params, program.state, program.block.params[0], split.listing()):
        assert_safe(str(shown))
    assert len(repr(program).splitlines()) == len(repr(split).splitlines()) == 1
