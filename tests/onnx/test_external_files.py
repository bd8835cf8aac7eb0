"""No command hands a file to onnxruntime whose data lie where a model may not read."""

import os
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as onh
import pytest

import primsplit as ps
from primsplit.audit.written import read_written
from primsplit.ir.errors import FileError, ParseError
from primsplit.programs.opened import OpenedFile
from primsplit.programs.runtime import Session

PLACES = ("initializer", "constant", "branch", "function", "default", "call", "sparse")
OUTSIDE = (
    "../secret",
    "link",
    "link_to_link",
    "up/secret",
    "sub/../../secret",
    "deep/down/../../../secret",
    "absolute",
)
NO_FILE = ("hard", "fifo", "folder", "missing", "sub/missing", "data/", "data/.")
NUMBERS = np.arange(7, dtype=np.uint8) + 65


def tensor(location: str, *more: tuple[str, str], name: str = "w") -> onnx.TensorProto:
    """A tensor of seven bytes that lie in another file."""
    made = onnx.TensorProto(name=name, data_type=onnx.TensorProto.UINT8, dims=[7], data_location=1)
    for key, value in (("location", location), *more):
        made.external_data.add(key=key, value=value)
    return made


def save(path: Path, weight: onnx.TensorProto, place: str = "initializer") -> str:
    """A model that adds the weight to its input, and has it in this place."""
    told = oh.make_tensor_value_info
    opset = oh.make_opsetid("", 17)
    imports, functions, first, stored, sparse = [opset], [], [], [], []
    if place == "initializer":
        stored = [weight]
    elif place == "sparse":
        indices = onh.from_array(np.arange(7), "indices")
        sparse = [onnx.SparseTensorProto(values=weight, indices=indices, dims=[7])]
    elif place == "constant":
        first = [oh.make_node("Constant", [], ["w"], value=weight)]
    elif place == "function":
        body = [oh.make_node("Constant", [], ["o"], value=weight)]
        functions = [oh.make_function("own", "F", [], ["o"], body, [opset])]
        first, imports = [oh.make_node("F", [], ["w"], domain="own")], [opset, oh.make_opsetid("own", 1)]
    elif place in {"default", "call"}:
        constant = oh.make_node("Constant", [], ["o"])
        constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR, ref_attr_name="held")
        functions = [oh.make_function("own", "F", [], ["o"], [constant], [opset])]
        first, imports = [oh.make_node("F", [], ["w"], domain="own")], [opset, oh.make_opsetid("own", 1)]
        given = oh.make_attribute("held", weight)
        if place == "default":
            functions[0].attribute_proto.append(given)
        else:
            functions[0].attribute.append("held")
            first[0].attribute.append(given)
    else:
        held = [oh.make_graph([oh.make_node("Identity", ["w1"], [n])], n, [], [told(n, 2, [7])]) for n in "ab"]
        for graph in held:
            graph.initializer.add().CopyFrom(weight)
            graph.initializer[0].name = "w1"
        stored = [onh.from_array(np.array(True), "which")]
        first = [oh.make_node("If", ["which"], ["w"], then_branch=held[0], else_branch=held[1])]
    nodes = [*first, oh.make_node("Cast", ["w"], ["c"], to=1), oh.make_node("Add", ["x", "c"], ["y"])]
    graph = oh.make_graph(nodes, "g", [told("x", 1, [7])], [told("y", 1, [7])], stored)
    graph.sparse_initializer.extend(sparse)
    model = oh.make_model(graph, opset_imports=imports, functions=functions, ir_version=8)
    path.write_bytes(model.SerializeToString())
    return str(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with data in it, and many ways out of it to a secret."""
    made = tmp_path / "model"
    (made / "sub").mkdir(parents=True)
    (made / "folder").mkdir()
    (made / "data").write_bytes(NUMBERS.tobytes())
    (tmp_path / "secret").write_bytes(b"hunter2")
    (made / "link").symlink_to("../secret")
    (made / "link_to_link").symlink_to("link")
    (made / "up").symlink_to("..")
    (made / "hard").hardlink_to(tmp_path / "secret")
    # The system reads `deep/down/../../..` as the folder itself, a reader that takes `..` out first as its parent.
    (made / "a/b/c").mkdir(parents=True)
    (made / "deep").mkdir()
    (made / "deep/down").symlink_to("../a/b/c")
    os.mkfifo(made / "fifo")
    return made


@pytest.mark.parametrize("place", PLACES)
def test_data_in_the_folder_are_read(folder: Path, place: str) -> None:
    for location in ("data", "sub/../data", "./data"):
        path = save(folder / "m.onnx", tensor(location), place)
        (found,) = OpenedFile(path)({"x": np.zeros(7, np.float32)}).values()
        np.testing.assert_array_equal(found, NUMBERS)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("location", OUTSIDE)
def test_data_outside_of_the_folder_are_refused_before_onnxruntime_sees_them(
    folder: Path, place: str, location: str
) -> None:
    if location.startswith("deep"):
        (folder / "secret").write_bytes(b"hunter2")
    location = str(folder.parent / "secret") if location == "absolute" else location
    path = save(folder / "m.onnx", tensor(location), place)
    for read in (OpenedFile, Session) if place == "sparse" else (OpenedFile, Session, ps.load):
        with pytest.raises(ParseError, match="outside the model's folder"):
            read(path)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("location", NO_FILE)
def test_what_is_no_plain_file_of_the_folder_is_refused(folder: Path, place: str, location: str) -> None:
    path = save(folder / "m.onnx", tensor(location), place)
    for read in (OpenedFile,) if place == "sparse" else (OpenedFile, ps.load, read_written):
        with pytest.raises(FileError, match="cannot read the data of w"):
            read(path)


@pytest.mark.parametrize(
    "more",
    [
        [("location", "../secret")],
        [("offset", "0"), ("offset", "1")],
        [("offset", "-1")],
        [("offset", "x")],
        [("offset", "0_0")],
        [("offset", "\u0660")],
        [("offset", "9" * 5000)],
        [("length", "6")],
        [("length", "8")],
        [("length", "1e3")],
    ],
)
def test_data_that_are_told_twice_or_wrongly_are_refused(folder: Path, more: list[tuple[str, str]]) -> None:
    path = save(folder / "m.onnx", tensor("data", *more))
    for read in (OpenedFile, ps.load):
        with pytest.raises(ParseError, match="data"):
            read(path)


def test_data_behind_the_end_of_the_file_are_refused(folder: Path) -> None:
    for offset in (1, 7, 2**63 - 1, 2**64):
        with pytest.raises(FileError, match="ends at byte 7"):
            OpenedFile(save(folder / "m.onnx", tensor("data", ("offset", str(offset)))))


def test_an_address_in_memory_is_refused_although_there_is_a_file_of_that_name(folder: Path) -> None:
    (folder / "*/_ORT_MEM_ADDR_").mkdir(parents=True)
    (folder / "*/_ORT_MEM_ADDR_/*").write_bytes(bytes(100))
    with pytest.raises(ParseError, match="outside the model's folder"):
        OpenedFile(save(folder / "m.onnx", tensor("*/_ORT_MEM_ADDR_/*")))


def test_hard_links_inside_of_the_folder_and_models_that_are_links_are_read(folder: Path, tmp_path: Path) -> None:
    save(folder / "m.onnx", tensor("data"))
    (folder / "again").hardlink_to(folder / "data")
    (folder / "also.onnx").symlink_to("m.onnx")
    for name in ("m.onnx", "also.onnx"):
        np.testing.assert_array_equal(ps.load(folder / name)(np.zeros(7, np.float32)), NUMBERS)
        assert OpenedFile(str(folder / name)).path
