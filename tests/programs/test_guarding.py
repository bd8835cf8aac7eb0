"""Guarded programs: a recording for each value of a guard, and none that answers for another path."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import BranchError, FileError, RunError, SpecError


def low_or_high(x):
    """Fixture F4."""
    return x[0] ** 3 if x[0] > 1 else x[0] ** 2


def is_high(x):
    return x[0] > 1


def test_a_guarded_gradient_is_recorded_once_a_value() -> None:
    gradient = ps.grad(ps.guarded(low_or_high, is_high))
    gradient.program(np.array([0.0]))
    assert gradient.statistics.misses == 1
    for x, expected, recordings in ((0.1, 0.2, 1), (1.1, 3.63, 2), (0.5, 1.0, 2)):
        np.testing.assert_allclose(gradient(np.array([x])), [expected], rtol=1e-12)
        assert gradient.statistics.misses == recordings


def test_the_function_itself_and_its_second_derivative_are_guarded() -> None:
    guarded = ps.guarded(low_or_high, is_high)
    assert guarded(np.array([0.5])) == 0.25
    assert guarded(np.array([2.0])) == 8.0
    assert guarded.statistics.misses == 2
    second = ps.grad(lambda x: ps.grad(guarded)(x).sum())
    assert second(np.array([2.0]))[0] == 12.0
    assert second(np.array([0.5]))[0] == 2.0


def test_static_values_choose_a_variant() -> None:
    """Row T3: two variants are cached."""

    def inner(x, y):
        return 2 * y if x > 0 else 3 * y**2

    outer = ps.value_and_grad(ps.guarded(lambda z: z.sum() * inner(z[0], z[1]), lambda z: z[0] > 0))
    for z, value, expected in (([1.0, 2.0], 12.0, [4.0, 10.0]), ([-1.0, 2.0], 12.0, [12.0, 24.0])):
        found, gradient = outer(np.array(z))
        assert found == value
        np.testing.assert_allclose(gradient, expected)
    outer(np.array([3.0, 3.0]))
    assert len(outer.programs) == 2


def test_a_guard_that_does_not_tell_the_paths_apart_is_caught() -> None:
    useless = ps.grad(ps.guarded(low_or_high, lambda x: 1))
    assert useless(np.array([0.5]))[0] == 1.0
    with pytest.raises(BranchError, match="another way") as caught:
        useless(np.array([1.1]))
    assert "x[0] > 1" in str(caught.value)


def test_a_constant_path_does_not_answer_for_another_one() -> None:
    """Its gradient is zero and needs nothing of the branch, which is checked all the same."""
    function = ps.guarded(lambda x: 3.0 if x < 1 else x**2, lambda x: 1)
    for derived in (ps.grad(function), ps.hessian(function), ps.derivative(function)):
        assert derived(0.5) == 0.0
        with pytest.raises(BranchError, match="another way"):
            derived(2.0)
    assert [ps.grad(ps.guarded(lambda x: 3.0 if x < 1 else x**2))(x) for x in (0.5, 2.0)] == [0.0, 4.0]


def test_without_a_guard_each_way_is_recorded_when_it_is_taken() -> None:
    gradient = ps.grad(ps.guarded(low_or_high))
    found = [float(gradient(np.array([x]))[0]) for x in (0.1, 1.1, 0.5, 2.0)]
    np.testing.assert_allclose(found, [0.2, 3.63, 1.0, 12.0])
    assert gradient.statistics == ps.programs.compiled.Statistics(hits=2, misses=2)


def test_a_static_trace_fails_on_the_other_path() -> None:
    program = ps.trace(low_or_high, np.array([2.0]), branches="static")
    assert program(np.array([3.0])) == 27.0
    with pytest.raises(BranchError):
        program(np.array([0.5]))
    with pytest.raises(SpecError, match="arrays, not specs"):
        ps.trace(low_or_high, ps.spec("float64", [1]), branches="static")


RUN = """
import sys
sys.modules["primsplit"] = None
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print([float(session.run(None, {"x": np.array([x])})[0][0]) for x in (1.1, 0.1)])
"""


def test_one_file_holds_every_recording(tmp_path: pathlib.Path) -> None:
    gradient = ps.grad(ps.guarded(low_or_high, is_high))
    gradient(np.array([0.1]))
    path = str(tmp_path / "guarded.onnx")
    ps.export_guarded(gradient, path)
    with pytest.raises(RunError, match="a value that was not recorded"):
        ps.load(path)(np.array([1.1]))
    gradient(np.array([1.1]))
    ps.export_guarded(gradient, path)
    told = subprocess.run([sys.executable, "-c", RUN, path], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(told.stdout), [3.63, 0.2])


def test_a_folder_holds_a_file_for_each_value(tmp_path: pathlib.Path) -> None:
    gradient = ps.grad(ps.guarded(low_or_high, is_high))
    for x in (0.1, 1.1):
        gradient(np.array([x]))
    paths = ps.export_guarded(gradient, str(tmp_path / "variants"), form="variants")
    rows = json.loads(pathlib.Path(paths[-1]).read_text())
    assert [r["guard"] for r in rows] == [False, True]
    high = ps.load(str(tmp_path / "variants" / rows[1]["file"]))
    np.testing.assert_allclose(high(np.array([2.0])), [12.0])


def test_one_file_may_ask_a_guard_of_several_values(tmp_path: pathlib.Path) -> None:
    def both(x, y):
        root = x**2 if x > 0 else -x
        return root * y if y > 1 else root + y

    made = ps.value_and_grad(ps.guarded(both, lambda x, y: (x > 0, (y > 1, 3))), (0, 1))
    for x, y in ((1.0, 2.0), (-1.0, 2.0), (1.0, 0.5)):
        made(x, y)
    path = str(tmp_path / "both.onnx")
    ps.export_guarded(made, path)
    file = ps.load(path)
    assert [float(v) for v in file(3.0, 4.0)] == [36.0, 24.0, 9.0]
    assert [float(v) for v in file(-3.0, 4.0)] == [12.0, -4.0, 3.0]
    assert [float(v) for v in file(3.0, 0.25)] == [9.25, 6.0, 1.0]
    with pytest.raises(RunError, match="a value that was not recorded"):
        file(-3.0, 0.25)


def test_a_text_tells_files_apart_and_has_no_place_in_one(tmp_path: pathlib.Path) -> None:
    made = ps.grad(ps.guarded(lambda x, mode: x**2 if mode == "square" else x**3, lambda x, mode: mode))
    assert [made(2.0, "square"), made(2.0, "cube")] == [4.0, 12.0]
    with pytest.raises(SpecError, match="a text has no place in one file"):
        ps.export_guarded(made, str(tmp_path / "x.onnx"))
    *files, index = ps.export_guarded(made, str(tmp_path / "variants"), form="variants")
    assert [row["guard"] for row in json.loads(pathlib.Path(index).read_text())] == ["square", "cube"]
    assert [float(ps.load(file)(3.0)) for file in files] == [6.0, 27.0]


def test_recordings_for_several_shapes_are_not_one_file(tmp_path: pathlib.Path) -> None:
    """The one that was made last for a value would be the only one in it."""
    made = ps.grad(ps.guarded(low_or_high, is_high))
    for size in (1, 2):
        made(np.zeros(size))
    with pytest.raises(SpecError, match="several shapes"):
        ps.export_guarded(made, str(tmp_path / "x.onnx"))


def test_a_guard_that_cannot_be_looked_up_is_refused() -> None:
    with pytest.raises(SpecError, match="a number, a text or a tuple"):
        ps.guarded(low_or_high, lambda x: x)(np.ones(3))
    with pytest.raises(SpecError, match="recorded nothing"):
        ps.export_guarded(ps.guarded(low_or_high, is_high), "x.onnx")


@pytest.mark.parametrize("guarded", [ps.guarded(low_or_high, is_high), ps.guarded(low_or_high)])
def test_every_transform_of_a_guarded_function_asks_the_guard_of_its_own_arguments(guarded) -> None:
    one = np.ones(1)
    for x, value, slope, bend in ((0.5, 0.25, 1.0, 2.0), (2.0, 8.0, 12.0, 12.0)):
        at = np.array([x])
        assert ps.vjp(guarded, at)[1](1.0)[0] == slope
        assert ps.jvp(guarded, (at,), (one,)) == (value, slope)
        assert ps.linearize(guarded, at)[1](one) == slope
        assert ps.hvp(guarded)(at, one) == ps.hvp(guarded, (at,), one) == bend
        assert ps.value_grad_and_hvp(guarded)(at, one) == (value, slope, bend)
        assert ps.hessian(guarded)(at) == bend


def test_the_examples_of_a_batch_have_a_guard_each() -> None:
    """The batch of a guarded function is recorded by its branches: one guard says nothing of several examples."""
    guarded = ps.guarded(lambda v: v**3 if v > 1 else v**2, lambda v: bool(v > 1))
    batch, gradients = ps.vmap(guarded), ps.vmap(ps.grad(guarded))
    for x in (np.array([0.5, 2.0, 3.0]), np.array([0.5, 0.25, 0.75]), np.array([3.0, 2.0, 0.5])):
        np.testing.assert_allclose(batch(x), np.where(x > 1, x**3, x**2), rtol=1e-12)
        np.testing.assert_allclose(gradients(x), np.where(x > 1, 3 * x**2, 2 * x), rtol=1e-12)


def test_one_file_of_a_batch_has_the_ways_of_its_examples(tmp_path: pathlib.Path) -> None:
    batch, x = ps.vmap(ps.guarded(lambda v: v**3 if v > 1 else v**2, lambda v: bool(v > 1))), np.array([0.5, 2.0])
    batch(x)
    path = str(tmp_path / "batch.onnx")
    ps.export_guarded(batch, path)
    np.testing.assert_allclose(ps.load(path)(x[::-1].copy()), [8.0, 0.25], rtol=1e-12)


def test_the_index_of_variants_takes_the_place_of_no_weights(tmp_path: pathlib.Path) -> None:
    whole = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[8] x, float[8] w) => (float y)'
        " { a = Mul(x, w) y = ReduceSum<keepdims=0>(a) }"
    )
    whole.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(8, np.float32), "w"))
    at = {"save_as_external_data": True, "location": "index.json", "size_threshold": 0}
    onnx.save(whole, tmp_path / "m.onnx", **at)
    model = ps.load(str(tmp_path / "m.onnx"))
    guarded = ps.guarded(lambda x: model(x) if x[0] > 0 else -model(x), lambda x: bool(x[0] > 0))
    guarded(np.ones(8, np.float32))
    before = (tmp_path / "index.json").read_bytes()
    with pytest.raises(FileError, match=r"index\.json"):
        ps.export_guarded(guarded, str(tmp_path), form="variants")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["index.json", "m.onnx"]
    assert (tmp_path / "index.json").read_bytes() == before
