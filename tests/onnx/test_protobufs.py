"""Files that hold no protobuf of a model, and the graphs inside of graphs."""

import os
from pathlib import Path

import onnx.parser
import pytest
from onnx import numpy_helper

from primsplit.ir.errors import FileError, ParseError
from primsplit.onnx.protobufs import call_key, first_line, function_key, graphs, kinds_of
from tests.onnx.checks import refused
from tests.onnx.edits import W, linear, written


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no graph"),
        (b"hello\n" * 20, "no valid model"),
        (numpy_helper.from_array(W, "W").SerializeToString(), "no valid model"),
        (linear().graph.SerializeToString(), "no graph"),
        (linear().SerializeToString()[:-10], "no valid model"),
        (linear().SerializeToString().replace(b"Tanh", b"T\xff\xfeh"), "utf-8|UTF-8"),
    ],
    ids=["empty", "text", "a tensor", "a graph", "cut off", "no UTF-8"],
)
def test_a_file_that_holds_no_model_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    refused(written(tmp_path, content), ParseError, words)


def test_what_is_no_file_is_refused_without_being_read(tmp_path: Path) -> None:
    refused(str(tmp_path), FileError, "it is a folder")
    refused(str(tmp_path / "none.onnx"), FileError, "No such file")
    refused("model\0.onnx", FileError, "cannot read")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.onnx")
        refused(str(tmp_path / "pipe.onnx"), FileError, "it is no file")


def test_a_file_larger_than_a_protobuf_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with open(path, "wb") as file:
        file.truncate(50 * 10**9)
    refused(str(path), ParseError, r"50\.0 GB")


NESTED = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
g (bool c, float[n] x) => (float[n] y) {
  y = If (c) <
    then_branch = t () => (float[n] a) { a = If (c) <
      then_branch = u () => (float[n] p) { p = Exp(x) }, else_branch = v () => (float[n] q) { q = own.f(x) }
    > },
    else_branch = e () => (float[n] b) { b = Neg(x) }
  >
}
<domain: "own", opset_import: ["" : 21]> f (x) => (y) { y = Tan(x) }
""")


def test_all_graphs_of_a_model_are_found_and_those_of_functions_are_not() -> None:
    assert sorted(graph.name for graph in graphs(NESTED.graph)) == ["e", "g", "t", "u", "v"]
    assert kinds_of(NESTED) == {"If", "Exp", "f", "Neg"}


def test_a_call_has_the_key_of_its_function() -> None:
    (function,) = NESTED.functions
    calls = [node for graph in graphs(NESTED.graph) for node in graph.node if node.domain]
    assert [call_key(call) for call in calls] == [function_key(function)] == [("own", "f", "")]


def test_the_message_of_a_library_is_one_short_line() -> None:
    assert first_line(ValueError("a\n  b")) == "a b"
    assert first_line(ValueError()) == "ValueError"
    assert len(first_line(ValueError("a" * 300))) == 200
