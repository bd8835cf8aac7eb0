"""Errors of Python and of libraries are told as primsplit's own, with the node; those of the user's code stay."""

import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from primsplit.ir.errors import FileError, ParseError, PrimsplitError
from primsplit.tracing.own_errors import own_errors
from tests.onnx.edits import linear, node, with_nodes, written


def test_a_foreign_error_is_told_with_its_class_and_keeps_its_cause() -> None:
    with pytest.raises(FileError, match="it cannot be read: JSONDecodeError: Expecting") as caught:
        raised_by_a_library()
    assert isinstance(caught.value.__cause__, json.JSONDecodeError)
    assert len(str(caught.value).splitlines()) < 5


def raised_by_a_library() -> None:
    """The frame that holds the door counts as the caller's, so it is told to be primsplit's."""
    exec(compile("with own_errors('it cannot be read', FileError): loads('?')", "door", "exec"), DOOR)


DOOR = {"__name__": "primsplit.door", "own_errors": own_errors, "FileError": FileError, "loads": json.loads}


def test_an_error_of_the_users_code_stays() -> None:
    def unlucky() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        exec(compile("with own_errors('x'): unlucky()", "door", "exec"), {**DOOR, "unlucky": unlucky})


def test_an_error_of_a_rule_of_the_users_stays_in_a_split() -> None:
    @ps.primitive
    def double(x: ps.Array) -> ps.Array:
        return x + x

    @ps.rrule(double)
    def rule(x: ps.Array) -> object:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ps.split(double, ps.spec("float32", [3]))


def test_deep_json_in_the_metadata_is_refused(tmp_path: Path) -> None:
    model = linear()
    for key in ("primsplit.states", "primsplit.jumps"):
        del model.metadata_props[:]
        model.metadata_props.add(key=key, value="[" * 100_000)
        with pytest.raises(ParseError):
            ps.load(written(tmp_path, model))


@pytest.mark.parametrize("remark", [b"\xff\xfe\xff\xfe", b"pullback of Sin (order " + b"9" * 5000 + b")"])
def test_a_remark_that_says_nothing_is_left_out(remark: bytes, tmp_path: Path) -> None:
    model = linear()
    model.graph.node[0].metadata_props.add(key="remark", value="Q" * len(remark))
    data = model.SerializeToString().replace(b"Q" * len(remark), remark)
    ps.split(ps.load(written(tmp_path, data))).save(tmp_path / "gradient.onnx")


def with_state(reads: str, writes: str, outputs: list[str]) -> onnx.ModelProto:
    """t = x + s, its sum y; the state is read and written as these values."""
    info = helper.make_tensor_value_info
    nodes = [node("Add", "x s", "t"), node("ReduceSum", "t", "y", keepdims=0)]
    made = [info("y", 1, []), *(info(name, 1, [3]) for name in outputs)]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [3]), info("s", 1, [3])], made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    row = {"name": "w", "in": reads, "out": writes, "initial": 1.0}
    model.metadata_props.add(key="primsplit.states", value=json.dumps([row]))
    return model


def run(program: ps.Program, x: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    found = program(x)
    return [np.asarray(v) for v in (found if isinstance(found, tuple) else (found,))]


def test_a_state_may_be_an_output_too(tmp_path: Path) -> None:
    program = ps.load(written(tmp_path, with_state("s", "t", ["t", "s"])))
    x = np.array([1, 2, 3], np.float32)
    for before in ([1, 1, 1], [2, 3, 4]):  # the state, which starts at ones and becomes x + s
        total, shown = run(program, x)
        np.testing.assert_array_equal(total, np.sum(x + before))
        np.testing.assert_array_equal(shown, before)
    ps.split(program).save(tmp_path / "gradient.onnx")
    onnxruntime.InferenceSession(str(tmp_path / "gradient.onnx"))


def test_a_state_that_is_handed_on_as_it_came_keeps_its_value(tmp_path: Path) -> None:
    program = ps.load(written(tmp_path, with_state("s", "s", ["s"])))
    x = np.array([1, 2, 3], np.float32)
    assert [float(run(program, x)[0]) for _ in range(2)] == [9, 9]


def test_a_rule_that_fails_says_at_which_node(tmp_path: Path) -> None:
    """An input that a rule cannot take is a fault; here constants that no reader checks, as long as there are such."""
    model = linear()
    with_nodes(node("MatMul", "x W", "z"), node("ThresholdedRelu", "z", "y"))(model)
    program = ps.load(written(tmp_path, model))

    def broken(*_: object, **__: object) -> object:
        return json.loads("?")

    split = sys.modules["primsplit.transforms.split"]
    find_rule = split.find_rule
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(broken.__globals__, "__name__", "primsplit.rules.broken")
        patch.setattr(split, "find_rule", lambda op: broken if op.kind == "ThresholdedRelu" else find_rule(op))
        with pytest.raises(PrimsplitError, match="at ThresholdedRelu: JSONDecodeError") as caught:
            ps.split(program)
    assert "model.onnx:2" in str(caught.value)
