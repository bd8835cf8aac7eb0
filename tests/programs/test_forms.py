"""The three forms of a file: each is valid, and gives the same numbers."""

import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.onnx.provenance import line_of, read_lines

LONG = np.random.default_rng(0).standard_normal((40, 3))


def perceptron(params: Any, x: Any) -> Any:
    """A scalar loss: intermediates are captured."""
    hidden = np.tanh(x @ params["w"] + params["b"])
    return np.sum(hidden * np.exp(-hidden))


def product(a: Any, b: Any) -> Any:
    """An array result: its cotangent is an input. Only inputs are captured."""
    return a @ b


def several(x: Any, y: Any) -> Any:
    """A result that is an input, one that is an intermediate of another, one that no gradient flows to."""
    square = x * x
    return {"same": y, "square": square, "wave": np.sin(square) * y, "most": np.argmax(x)}


def with_long_constant(x: Any) -> Any:
    """More constants than fit in a node."""
    return np.sum(np.tanh(x @ LONG.T) @ LONG)


def ignoring(x: Any, y: Any) -> Any:
    """A result that does not depend on one of its inputs."""
    return np.sum(np.sin(x)) + 0.0


def stacked(x: Any) -> Any:
    """Shapes that are captured, through a primitive."""
    return np.sum(softened(x, axis=1) ** 2)


@ps.primitive
def softened(x: Any, axis: int) -> Any:
    """Softmax."""
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


N = ps.spec("float64", ["N", 3])

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "perceptron": (
        perceptron,
        ({"w": ps.spec("float64", [3, 2]), "b": ps.spec("float64", [2])}, N),
    ),
    "product": (product, (N, ps.spec("float64", [3, "M"]))),
    "several": (several, (ps.spec("float32", ["N"]), ps.spec("float32", ["N"]))),
    "long constant": (with_long_constant, (N,)),
    "ignoring": (ignoring, (N, ps.spec("float64", ["M"]))),
    "stacked": (stacked, (N,)),
}

SIZES = {"N": 4, "M": 2}


@pytest.fixture(params=PROGRAMS, ids=str)
def made(request: pytest.FixtureRequest) -> ps.SplitProgram:
    """The split of one of the programs."""
    function, specs = PROGRAMS[request.param]
    return ps.split(function, *specs)


def _feeds(session: onnxruntime.InferenceSession) -> dict[str, Any]:
    """Random inputs; those of one name are the same for every file."""
    feeds = {}
    for declared in session.get_inputs():
        random = np.random.default_rng(zlib.crc32(declared.name.encode()))
        shape = [SIZES.get(d, d) for d in declared.shape]
        feeds[declared.name] = random.standard_normal(shape).astype(
            {"tensor(double)": np.float64, "tensor(float)": np.float32}[declared.type]
        )
    return feeds


def _session(path: str) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(path)


def _run(session: onnxruntime.InferenceSession, feeds: dict[str, Any]) -> dict[str, Any]:
    names = [o.name for o in session.get_outputs()]
    wanted = {i.name: feeds[i.name] for i in session.get_inputs()}
    return dict(zip(names, session.run(names, wanted), strict=True))


def _assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6 if value.dtype == np.float32 else 1e-13, err_msg=name)


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_each_form_is_valid_and_holds_standard_operators_only(made: ps.SplitProgram, form: Any, tmp_path: Path) -> None:
    for path in made.save(str(tmp_path / "f.onnx"), form):
        onnx.checker.check_model(path, full_check=True)
        model = onnx.load(path)
        local = {(f.domain, f.name) for f in model.functions}
        nodes = [*model.graph.node, *(n for f in model.functions for n in f.node)]
        assert {n.domain for n in nodes if (n.domain, n.op_type) not in local} <= {""}
        assert {i.version for i in model.opset_import if i.domain == ""} == {21}
        assert not [f for f in model.functions if f.domain != "ps"]


def test_what_the_forward_file_gives_is_what_the_backward_file_takes(made: ps.SplitProgram, tmp_path: Path) -> None:
    forward, backward = map(onnx.load, made.save(str(tmp_path / "f.onnx"), "split"))

    def told(values: Any) -> dict[str, Any]:
        return {v.name: (v.type.tensor_type.elem_type, str(v.type.tensor_type.shape)) for v in values}

    given = {**told(forward.graph.input), **told(forward.graph.output)}
    taken = told(backward.graph.input)
    cotangents = {f"d_{o}" for o in made.program.outputs}
    assert set(taken) - cotangents <= set(given)
    for name in set(taken) - cotangents:
        assert taken[name] == given[name], name
    stored = set(told(forward.graph.output)) - set(made.program.outputs)
    assert stored <= set(taken), "everything that is stored is read"


def test_the_three_forms_give_the_same_numbers(made: ps.SplitProgram, tmp_path: Path) -> None:
    (joint,) = made.save(str(tmp_path / "joint.onnx"))
    forward, backward = made.save(str(tmp_path / "split.onnx"), "split")
    (functions,) = made.save(str(tmp_path / "functions.onnx"), "functions")
    feeds = _feeds(_session(joint))
    wanted = _run(_session(joint), feeds)
    first = _run(_session(forward), feeds)
    _assert_same({**first, **_run(_session(backward), {**feeds, **first})}, wanted)
    _assert_same(_run(_session(functions), feeds), wanted)


def test_the_functions_form_is_the_joint_form_from_outside(made: ps.SplitProgram, tmp_path: Path) -> None:
    (joint,) = made.save(str(tmp_path / "joint.onnx"))
    (functions,) = made.save(str(tmp_path / "functions.onnx"), "functions")
    a, b = onnx.load(joint).graph, onnx.load(functions).graph
    assert [v.SerializeToString() for v in a.input] == [v.SerializeToString() for v in b.input]
    assert [v.SerializeToString() for v in a.output] == [v.SerializeToString() for v in b.output]


def test_the_main_graph_of_the_functions_form_is_two_calls(made: ps.SplitProgram, tmp_path: Path) -> None:
    (path,) = made.save(str(tmp_path / "f.onnx"), "functions")
    model = onnx.load(path)
    name = made.program.block.name
    assert [(n.domain, n.op_type) for n in model.graph.node] == [("ps", name), ("ps", f"{name}__pullback")]
    assert {f.name for f in model.functions} == {name, f"{name}__pullback"}


def test_long_constants_stay_initializers_of_the_functions_form(tmp_path: Path) -> None:
    made = ps.split(with_long_constant, N)
    (path,) = made.save(str(tmp_path / "f.onnx"), "functions")
    model = onnx.load(path)
    assert any(sorted(i.dims) == [3, 40] for i in model.graph.initializer)
    for function in model.functions:
        for node in function.node:
            assert node.op_type != "Constant" or np.prod(node.attribute[0].t.dims) <= 64


def test_cotangents_of_ones_need_no_input_in_the_functions_form(tmp_path: Path) -> None:
    made = ps.split(product, N, ps.spec("float64", [3, "M"]), seed="ones")
    (joint,) = made.save(str(tmp_path / "joint.onnx"))
    (functions,) = made.save(str(tmp_path / "functions.onnx"), "functions")
    feeds = _feeds(_session(joint))
    assert set(feeds) == {"a", "b"}
    _assert_same(_run(_session(functions), feeds), _run(_session(joint), feeds))


@pytest.mark.parametrize("form", ["joint", "functions"])
def test_nodes_tell_the_users_line_and_the_pullback_what_it_is_of(form: Any, tmp_path: Path) -> None:
    function, specs = PROGRAMS["perceptron"]
    (path,) = ps.split(function, *specs).save(str(tmp_path / "f.onnx"), form)
    model = onnx.load(path)
    nodes = [*model.graph.node, *(n for f in model.functions for n in f.node)]
    lines = [line for node in nodes if (line := line_of(node.name, read_lines(model))) is not None]
    assert any(line.filename == "test_forms.py" and "np.tanh" in line.text for line in lines)
    told = [{p.key: p.value for p in n.metadata_props} for n in nodes]
    assert any(t.get("remark", "").startswith("pullback of") for t in told)


ELSEWHERE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "primsplit":
            raise ImportError("primsplit is not here")

sys.meta_path.insert(0, Refuse())
import numpy as np, onnxruntime

def run(path, feeds):
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, {i.name: feeds[i.name] for i in session.get_inputs()})))

feeds = {"params.w": np.ones((3, 2)), "params.b": np.zeros(2), "x": np.linspace(-1, 1, 15).reshape(5, 3)}
joint, functions, forward, backward = sys.argv[1:]
a, b, kept = run(joint, feeds), run(functions, feeds), run(forward, feeds)
c = {**kept, **run(backward, {**feeds, **kept})}
assert "primsplit" not in sys.modules
for name in a:
    np.testing.assert_allclose(a[name], b[name], rtol=1e-13)
    np.testing.assert_allclose(a[name], c[name], rtol=1e-13)
hidden = np.tanh(feeds["x"] @ feeds["params.w"])
slope = (1 - hidden) * np.exp(-hidden) * (1 - hidden**2)
np.testing.assert_allclose(a["d_params.w"], feeds["x"].T @ slope, rtol=1e-12)
print("ran")
"""


def test_every_form_runs_in_a_process_that_cannot_import_primsplit(tmp_path: Path) -> None:
    function, specs = PROGRAMS["perceptron"]
    made = ps.split(function, *specs)
    paths = [
        *made.save(str(tmp_path / "joint.onnx")),
        *made.save(str(tmp_path / "functions.onnx"), "functions"),
        *made.save(str(tmp_path / "split.onnx"), "split"),
    ]
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "ran"), done.stderr
