"""States in a file's metadata are checked before anything is made of them."""

import base64
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError, RunError
from primsplit.programs.opened import OpenedFile
from primsplit.tracing.states import State


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., str]:
    """A function that writes a model that adds its input to a state, with metadata about that."""

    def write(metadata: str, shape: tuple[int | str, ...] = (3,), dtype: int = 1) -> str:
        told = oh.make_tensor_value_info
        nodes = [oh.make_node("Add", ["s", "x"], ["t"]), oh.make_node("ReduceSum", ["t"], ["y"], keepdims=0)]
        inputs = [told("x", dtype, shape[-1:]), told("s", dtype, shape), told("u", dtype, shape)]
        nodes.append(oh.make_node("Identity", ["u"], ["v"]))
        outputs = [told("y", dtype, []), told("t", dtype, None), told("v", dtype, shape)]
        graph = oh.make_graph(nodes, "g", inputs, outputs)
        made = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
        made.metadata_props.add(key="primsplit.states", value=metadata)
        path = tmp_path / "m.onnx"
        path.write_bytes(made.SerializeToString())
        return str(path)

    return write


def row(**changed: Any) -> dict[str, Any]:
    """A state that is right, but for what is changed."""
    return {"name": "w", "in": "s", "out": "t", "initial": 1.0, **changed}


NOT_READ: dict[str, Any] = {
    "no JSON": "{",
    "nested deep": "[" * 100_000,
    "nested deep in objects": '{"a":' * 100_000,
    "no list": "3",
    "an object": "{}",
    "null": "null",
    "a text in the list": '["w"]',
    "a list in the list": "[[]]",
    "nothing told": [{}],
    "a number as name": [row(name=1)],
    "a list as name": [row(name=["a"])],
    "null as name": [row(name=None)],
    "no name": [row(name="")],
    "no such input": [row(**{"in": "nope"})],
    "a list as input": [row(**{"in": ["s"]})],
    "null as input": [row(**{"in": None})],
    "no such output": [row(out="nope")],
    "an input as output": [row(out="x")],
    "an object as output": [row(out={})],
    "an output of another shape": [row(out="y")],
    "null as first value": [row(initial=None)],
    "a list as first value": [row(initial=[1.0, 1.0, 1.0])],
    "an object as first value": [row(initial={})],
    "a number too large": '[{"name": "w", "in": "s", "out": "t", "initial": 1' + "0" * 400 + "}]",
    "no base64": [row(initial="=*=")],
    "bytes too few": [row(initial=base64.b64encode(bytes(11)).decode())],
    "bytes too many": [row(initial=base64.b64encode(bytes(16)).decode())],
    "no bytes": [row(initial="")],
    "one name twice": [row(), row(**{"in": "u", "out": "v"})],
    "one input twice": [row(), row(name="w2", out=None)],
    "one output twice": [row(), row(name="w2", **{"in": "u"})],
}


@pytest.mark.parametrize("told", NOT_READ)
def test_what_is_no_state_is_refused(model: Callable[..., str], told: str) -> None:
    metadata = NOT_READ[told]
    path = model(metadata if isinstance(metadata, str) else json.dumps(metadata))
    for read in (ps.load, OpenedFile):
        with pytest.raises(ParseError, match=r"the metadata primsplit\.states of the file cannot be read") as caught:
            read(path)
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize("initial", [1.5, 2**40, True])
def test_a_first_value_that_the_dtype_does_not_hold_is_refused(model: Callable[..., str], initial: Any) -> None:
    path = model(json.dumps([row(initial=initial)]), dtype=6)
    if initial is True:
        assert ps.load(path).state["s"].tolist() == [1, 1, 1]
        return
    with pytest.raises(ParseError, match="starts as"):
        ps.load(path)


def test_a_state_has_sizes_that_are_known(model: Callable[..., str]) -> None:
    for read in (ps.load, OpenedFile):
        with pytest.raises(ParseError, match="whose sizes are known"):
            read(model(json.dumps([row()]), shape=("N", 3)))


def test_states_that_fit_are_read_and_run(model: Callable[..., str]) -> None:
    first = base64.b64encode(np.array([1, 2, 3], "<f4").tobytes()).decode()
    states = [row(initial=first), row(name="../x\x1b", initial=2, **{"in": "u", "out": "v"})]
    program = ps.load(model(json.dumps(states)))
    assert program(np.ones(3, np.float32)) == 9
    assert program.state["s"].tolist() == [2, 3, 4]
    program.state.reset()
    assert program.state["s"].tolist() == [1, 2, 3]
    assert [pair.name for pair in OpenedFile(model(json.dumps(states))).states] == ["w", "../x\x1b"]


@pytest.mark.parametrize("read", [ps.load, OpenedFile])
def test_a_large_state_takes_no_memory_before_it_is_run(model: Callable[..., str], read: Any) -> None:
    path = model(json.dumps([row()]), shape=(2**22, 3))
    tracemalloc.start()
    read(path)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 2**22


def test_states_larger_than_the_memory_are_refused_at_once(model: Callable[..., str]) -> None:
    for rows in (2**45, 2**60):
        with pytest.raises(ParseError, match="more than this machine's memory"):
            OpenedFile(model(json.dumps([row()]), shape=(rows, 3)))


def test_a_state_for_which_there_is_no_memory_says_so() -> None:
    state = State("w", np.broadcast_to(np.float32(0), (2**50,)), object())
    with pytest.raises(RunError, match="no memory for the state w"):
        state.reset()


def test_one_number_for_all_elements_stays_what_it_was() -> None:
    number = np.zeros(1, np.float32)
    state = State("w", np.broadcast_to(number, (4,)), object())
    number[0] = 7
    state.now[1] = 5
    assert state.now.tolist() == [0, 5, 0, 0]
    state.reset()
    assert state.now.tolist() == [0, 0, 0, 0]
