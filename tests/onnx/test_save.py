"""Files: all of them or none, long data beside the model, numbers that stay where they are until they are copied."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import FileError, PrimsplitError
from primsplit.onnx.provenance import read_lines
from tests.versions import since

rng = np.random.default_rng(5)
W = rng.standard_normal((40, 30))
U = rng.standard_normal((30, 50))
BOUND = "primsplit.onnx.save.LARGEST"
"""Above so many bytes the numbers go to another file; tests make it small."""


def loss(x: Any) -> Any:
    """A program with two constants too long for a node."""
    return np.sum(np.tanh(np.tanh(x @ W) @ U) ** 2)


def gradient(x: Any) -> Any:
    """By hand."""
    first = np.tanh(x @ W)
    second = np.tanh(first @ U)
    return ((2 * second * (1 - second**2)) @ U.T * (1 - first**2)) @ W.T


@pytest.fixture
def made() -> ps.SplitProgram:
    return ps.split(loss, ps.spec("float64", ["N", 40]))


def run(path: str, **feeds: Any) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, {i.name: feeds[i.name] for i in session.get_inputs()}), strict=True))


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_arrays_have_the_names_of_the_variables_that_hold_them(tmp_path: Path) -> None:
    inner = np.arange(100.0)

    def program(x: Any) -> Any:
        local = np.sin(inner)
        return loss(x) + np.sum(np.exp(local * x[0, 0]) * np.tanh(inner * x[0, 1]))

    (path,) = ps.export(program, np.ones((2, 40)), path=tmp_path / "f.onnx", mode="value")
    held = {t.name: t.dims[0] for t in onnx.load(path).graph.initializer if np.prod(t.dims) > 64}
    assert held == {"W": 40, "U": 30, "local": 100, "inner": 100}


# All or none.


# Data beside the model.


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_long_data_go_to_a_file_beside_the_model_and_the_numbers_are_the_same(
    made: ps.SplitProgram, form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BOUND, 0)
    paths = made.save(str(tmp_path / "f.onnx"), form)
    assert names(tmp_path) == sorted(os.path.basename(p) for path in paths for p in (path, f"{path}.data"))
    feeds: dict[str, Any] = {"x": rng.standard_normal((3, 40))}
    for path in paths:
        onnx.checker.check_model(path, full_check=True)
        assert os.path.getsize(f"{path}.data") >= W.nbytes
        feeds |= run(path, **feeds)
    np.testing.assert_allclose(feeds["d_x"], gradient(feeds["x"]), rtol=1e-12)


def test_data_of_a_megabyte_begin_where_they_can_be_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BOUND, 0)
    short, long = rng.standard_normal(100), rng.standard_normal(2**18)
    path = str(tmp_path / "f.onnx")
    ps.trace(lambda x: x * short[0] + np.sum(short) * 0 + long[:1] + x * np.sum(x * long), long).save(path)
    tensors = onnx.load(path, load_external_data=False).graph.initializer
    offsets = [int(e.value) for t in tensors for e in t.external_data if e.key == "offset" and t.dims[0] > 2**17]
    assert offsets
    assert all(offset % 65536 == 0 for offset in offsets)
    np.testing.assert_allclose(
        next(iter(run(path, x=long).values())), long * short[0] + long[:1] + long * np.sum(long * long)
    )


def test_a_model_too_large_for_a_protobuf_is_called_and_differentiated(
    made: ps.SplitProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BOUND, 0)
    x = rng.standard_normal((3, 40))
    np.testing.assert_allclose(made.joint()(x)[1], gradient(x), rtol=1e-12)
    with pytest.raises(FileError, match="Save it"):
        made.joint().to_onnx()


def test_bfloat16_data_beside_the_model_are_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BOUND, 0)
    weights = rng.standard_normal(100).astype(ml_dtypes.bfloat16)
    program = ps.trace(lambda x: np.concatenate([x, weights]), ps.spec("bfloat16", [2]))
    path = str(tmp_path / "f.onnx")
    program.save(path)
    stored = next(numpy_helper.to_array(t, str(tmp_path)) for t in onnx.load(path).graph.initializer if t.dims == [100])
    np.testing.assert_array_equal(stored.view(np.uint16), weights.view(np.uint16))
    got = program(np.ones(2, ml_dtypes.bfloat16))
    np.testing.assert_array_equal(got[2:].view(np.uint16), weights.view(np.uint16))


# Large models. The files are sparse: they take no room on the disk.

MEMORY = """
import os, resource, sys
import primsplit as ps

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

ps.trace(lambda x: x * 2.0, ps.spec("float32", ["N"])).save(os.path.join(os.path.dirname(sys.argv[1]), "first.onnx"))
ps.load(os.path.join(os.path.dirname(sys.argv[1]), "first.onnx"))
before = megabytes()
made = ps.split(ps.load(sys.argv[1]), wrt="W3")
assert made.gradient_names == ["d_W3"]
print("split", megabytes() - before)
assert "MatMul(x, float32[" in made.listing()
print("listing", megabytes() - before)
if len(sys.argv) > 2:
    import primsplit.onnx.save
    primsplit.onnx.save.LARGEST = int(sys.argv[3])
    print("paths", made.save(sys.argv[2]))
    print("save", megabytes() - before)
"""


def layers(folder: Path, *, width: int, count: int = 8) -> str:
    """A network of this many square layers, their numbers (zeros) in another file."""
    model = onnx.ModelProto(ir_version=8)
    model.opset_import.add(domain="", version=17)
    graph = model.graph
    graph.name = "layers"
    graph.input.append(helper.make_tensor_value_info("x", 1, ["N", width]))
    graph.output.append(helper.make_tensor_value_info("y", 1, []))
    last, size = "x", width * width * 4
    for i in range(count):
        tensor = graph.initializer.add(name=f"W{i}", data_type=1, dims=[width, width], data_location=1)
        for key, value in {"location": "layers.data", "offset": i * size, "length": size}.items():
            tensor.external_data.add(key=key, value=str(value))
        graph.node.append(helper.make_node("MatMul", [last, f"W{i}"], [f"m{i}"]))
        graph.node.append(helper.make_node("Tanh", [f"m{i}"], [f"h{i}"]))
        last = f"h{i}"
    graph.node.append(helper.make_node("ReduceSum", [last], ["y"], keepdims=0))
    path = folder / "layers.onnx"
    path.write_bytes(model.SerializeToString())
    with open(folder / "layers.data", "wb") as file:
        file.truncate(count * size)
    return str(path)


def memory(*arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", MEMORY, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    return {key: float(value) for key, value in told.items() if key != "paths"}


def test_a_model_of_five_gigabytes_is_differentiated_and_listed_without_reading_them(tmp_path: Path) -> None:
    path = layers(tmp_path, width=13_000)
    assert os.path.getsize(tmp_path / "layers.data") > 5 * 10**9
    taken = memory(path)
    assert taken["split"] < 100
    assert taken["listing"] < 100


def test_weights_are_copied_to_the_new_file_a_piece_at_a_time(tmp_path: Path) -> None:
    path = layers(tmp_path, width=2_500)
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "gradient.onnx"
    assert memory(path, str(out), str(10**6))["save"] < 60
    assert os.path.getsize(f"{out}.data") >= 7 * 2_500**2 * 4  # W3 is an input
    onnx.checker.check_model(str(out))


def test_so_are_those_that_one_protobuf_holds(tmp_path: Path) -> None:
    path = layers(tmp_path, width=2_500)
    out = tmp_path / "gradient.onnx"
    assert memory(path, str(out), str(10**9))["save"] < 60
    assert os.path.getsize(out) >= 7 * 2_500**2 * 4  # W3 is an input
    onnx.checker.check_model(str(out))


# What is in a node.


def test_attributes_of_every_kind_are_written_as_they_were_read(tmp_path: Path) -> None:
    fill = numpy_helper.from_array(np.full(1, 2.5, np.float32), "fill")
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[2, 0, 1]),
        helper.make_node("LeakyRelu", ["t"], ["l"], alpha=0.25),
        helper.make_node("Pad", ["l", "pads"], ["p"], mode="reflect"),
        helper.make_node("RNN", ["p", "w", "r"], ["y"], activations=["Affine"], activation_alpha=[0.5], hidden_size=2),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["c"], value=fill),
    ]
    constants = {
        "pads": np.array([0, 1, 0, 0, 0, 0]),
        "w": np.ones((1, 2, 4), np.float32),
        "r": np.ones((1, 2, 2), np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "kinds",
        [helper.make_tensor_value_info("x", 1, ["N", 4, 3])],
        [helper.make_tensor_value_info(n, 1, ["A", "B", "C", "D"][:k]) for n, k in (("y", 4), ("c", 3))],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    path, again = str(tmp_path / "f.onnx"), str(tmp_path / "again.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    ps.load(path).save(again)
    onnx.checker.check_model(again, full_check=True)
    found = {n.op_type: n for n in onnx.load(again).graph.node}
    for node in nodes:
        for attribute in node.attribute:
            (written,) = [a for a in found[node.op_type].attribute if a.name == attribute.name]
            if attribute.HasField("t"):
                np.testing.assert_array_equal(numpy_helper.to_array(written.t), numpy_helper.to_array(attribute.t))
            else:
                assert written == attribute


def test_a_line_that_is_no_text_is_told_as_far_as_it_is_one(tmp_path: Path) -> None:
    source = tmp_path / os.fsdecode(b"caf\xe9.py")
    try:
        source.write_text("import numpy as np\ndef f(x):\n    return np.sin(x)\n")
    except OSError:
        pytest.skip("this file system takes no such name")
    space: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    path = str(tmp_path / "f.onnx")
    ps.trace(space["f"], ps.spec("float32", ["N"])).save(path)
    model = onnx.load(path)
    assert model.graph.node[0].name == "caf/udce9.py:3 y/Sin"
    assert [*read_lines(model)] == ["caf/udce9.py:3"]


def test_a_copy_in_a_branch_is_no_node() -> None:
    """onnxruntime makes `y / x` of `(1 / x) * y` and drops the copy of y without a look: the run failed."""

    def f(x: Any) -> Any:
        if x[0] > 0:
            total = np.sum(np.exp(x), axis=0, keepdims=True)
            return np.sum(np.log(total) + np.sin(x[:1]))
        return x[0]

    x = np.array([1.0, 2.0, 3.0])
    file = ps.split(f, x).joint()
    np.testing.assert_allclose(file(x)[1], np.exp(x) / np.exp(x).sum() + [np.cos(1.0), 0.0, 0.0])
    np.testing.assert_array_equal(file(-x)[1], [1.0, 0.0, 0.0])


@since("onnxruntime", "1.28", "each If inside of another takes twice as long to load")
def test_branches_deeper_than_a_reader_takes_are_refused_at_their_line() -> None:
    def steps(count: int) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            seen = []
            for _ in range(count):
                if np.sum(x) > 10.0:
                    break
                seen.append(x)  # which steps that may not be taken must not do
                x = x * 2.0
            return np.sum(seen[-1])

        return f

    assert ps.grad(steps(25))(np.ones(2))[0] == 4.0
    with pytest.raises(PrimsplitError, match=r"nested more than 31 deep[\s\S]*if np.sum[\s\S]*ps.while_loop"):
        ps.grad(steps(40))(np.ones(2))
