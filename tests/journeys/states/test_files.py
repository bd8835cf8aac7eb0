"""Files of functions that keep states: pairs of inputs and outputs that any driver can carry."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError

Array = np.ndarray[Any, Any]
START = np.array([0.5, -0.25, 2.0], np.float32)
ROWS = np.random.default_rng(5).standard_normal((7, 3)).astype(np.float32)


def training() -> Any:
    moment, weights = ps.state("moment", np.zeros(3, np.float32)), ps.state("weights", START)

    def step(rows: Array, target: Array) -> Any:
        def loss(w: Array) -> Any:
            return np.mean((rows @ w - target) ** 2)

        value, slope = ps.value_and_grad(loss)(weights)
        moment[...] = np.float32(0.9) * moment + slope
        weights[...] = weights - np.float32(0.05) * moment
        return value

    return step


def by_hand(steps: int) -> tuple[list[float], Array, Array]:
    """Momentum's steps for the squared distance of ROWS w from 1, in NumPy."""
    moment, weights, losses = np.zeros(3, np.float32), START.copy(), []
    for _ in range(steps):
        apart = ROWS @ weights - np.float32(1.0)
        losses.append(float(np.mean(apart**2)))
        moment = np.float32(0.9) * moment + 2 * ROWS.T @ apart / np.float32(7)
        weights = weights - np.float32(0.05) * moment
    return losses, moment, weights


SPECS = (ps.spec("float32", ["N", 3]), ps.spec("float32", ["N"]))
FEEDS = {"rows": ROWS, "target": np.ones(7, np.float32)}


@pytest.fixture
def file(tmp_path: Path) -> str:
    (path,) = ps.export(training(), *SPECS, path=tmp_path / "step.onnx", mode="value")
    return path


def driven(path: str, steps: int) -> tuple[list[float], dict[str, Array]]:
    """Run a file as a driver does that has onnxruntime and reads the metadata."""
    session = onnxruntime.InferenceSession(path)
    rows = json.loads(session.get_modelmeta().custom_metadata_map["primsplit.states"])
    shapes = {i.name: i.shape for i in session.get_inputs()}
    values: dict[str, Array] = {}
    for row in rows:
        told, shape = row["initial"], shapes[row["in"]]
        is_bytes = isinstance(told, str)
        array = np.frombuffer(base64.b64decode(told), "<f4").reshape(shape) if is_bytes else np.full(shape, told)
        values[row["in"]] = array.astype(np.float32)
    losses, outputs = [], [o.name for o in session.get_outputs()]
    for _ in range(steps):
        found = dict(zip(outputs, session.run(None, {**FEEDS, **values}), strict=True))
        losses.append(float(found["y"]))
        values = {row["in"]: found[row["out"]] for row in rows}
    return losses, values


def test_a_training_step_is_one_file_that_a_driver_carries_the_states_of(file: str) -> None:
    losses, values = driven(file, 4)
    wanted, moment, weights = by_hand(4)
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    np.testing.assert_allclose(values["state.moment.in"], moment, rtol=1e-4)
    np.testing.assert_allclose(values["state.weights.in"], weights, rtol=1e-4)


def test_a_file_shows_its_states_as_inputs_that_must_be_given(file: str) -> None:
    session = onnxruntime.InferenceSession(file)
    assert [i.name for i in session.get_inputs()] == ["rows", "target", "state.weights.in", "state.moment.in"]
    assert [o.name for o in session.get_outputs()] == ["y", "state.weights.out", "state.moment.out"]
    assert session.get_overridable_initializers() == []
    onnx.checker.check_model(onnx.load(file), full_check=True)


def test_a_loaded_file_keeps_its_states_itself(file: str) -> None:
    model = ps.load(file)
    losses = [float(model(*FEEDS.values())) for _ in range(4)]
    wanted, moment, weights = by_hand(4)
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    np.testing.assert_allclose(model.state["weights"], weights, rtol=1e-4)
    np.testing.assert_allclose(model.state["moment"], moment, rtol=1e-4)
    model.state.reset()
    np.testing.assert_array_equal(model.state["weights"], START)


def test_a_file_that_is_loaded_and_saved_again_is_the_same_to_its_driver(file: str, tmp_path: Path) -> None:
    again = tmp_path / "again.onnx"
    ps.load(file).save(again)
    assert driven(str(again), 3)[0] == driven(file, 3)[0]


def test_a_state_starts_as_numbers_that_were_read_from_a_file() -> None:
    """Their dtype may be another object than NumPy's own float32, one that tells its byte order."""
    weights = ps.state("weights", START.view(START.dtype.newbyteorder("=")))
    np.testing.assert_array_equal(ps.trace(lambda x: weights * x, START)(START), START**2)


def averaging() -> Any:
    mean = ps.state("mean", np.zeros(3))

    def call(x: Array) -> Any:
        mean[...] = 0.5 * mean + 0.5 * x
        return np.sum((x - mean) ** 2)

    return call


MODES: dict[str, tuple[list[str], list[str]]] = {
    "gradient": ([], ["y", "d_x"]),
    "jvp": (["t_x"], ["y", "t_y"]),
    "hvp": (["t_x"], ["y", "d_x", "t_d_x"]),
    "jacobian": ([], ["y", "j_x"]),
    "hessian": ([], ["y", "d_x", "h_x"]),
    "value": ([], ["y"]),
}
X = np.array([1.0, 2.0, 3.0])
EXPECTED = {"y": 3.5, "d_x": X / 2, "t_y": 3.0, "t_d_x": np.full(3, 0.5), "j_x": X / 2, "h_x": np.eye(3) / 2}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_carries_the_states_and_keeps_them_out_of_the_derivative(mode: Any, tmp_path: Path) -> None:
    (path,) = ps.export(averaging(), X, path=tmp_path / "f.onnx", mode=mode)
    given, returned = MODES[mode]
    session = onnxruntime.InferenceSession(path)
    assert [i.name for i in session.get_inputs()] == ["x", "state.mean.in", *given]
    outputs = [o.name for o in session.get_outputs()]
    assert sorted(outputs) == sorted([*returned, "state.mean.out"])
    feeds = {"x": X, "state.mean.in": np.zeros(3), **{name: np.ones(3) for name in given}}
    found = dict(zip(outputs, session.run(None, feeds), strict=True))
    for name in returned:
        np.testing.assert_allclose(found[name], EXPECTED[name])
    np.testing.assert_allclose(found["state.mean.out"], X / 2)
    loaded = ps.load(path)
    arguments = (X, *(np.ones(3) for _ in given))
    loaded(*arguments)
    np.testing.assert_allclose(loaded.state["mean"], X / 2)


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_every_form_carries_the_states(form: Any, tmp_path: Path) -> None:
    paths = ps.export(averaging(), X, path=tmp_path / "f.onnx", form=form)
    sessions = [onnxruntime.InferenceSession(p) for p in paths]
    known: dict[str, Array] = {"x": X, "state.mean.in": np.zeros(3)}
    for session in sessions:
        outputs = [o.name for o in session.get_outputs()]
        found = session.run(None, {i.name: known[i.name] for i in session.get_inputs()})
        known.update(zip(outputs, found, strict=True))
    np.testing.assert_allclose(known["d_x"], X / 2)
    np.testing.assert_allclose(known["state.mean.out"], X / 2)
    told = [json.loads(s.get_modelmeta().custom_metadata_map.get("primsplit.states", "[]")) for s in sessions]
    assert told[0] == [{"name": "mean", "in": "state.mean.in", "out": "state.mean.out", "initial": 0.0}]
    assert told[1:] == [[]] * (len(sessions) - 1)


def test_a_state_that_is_only_read_has_an_input_alone(tmp_path: Path) -> None:
    mean = ps.state("mean", np.ones(3))
    ps.export(lambda x: np.sum(x * mean), X, path=tmp_path / "f.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "f.onnx"))
    (row,) = json.loads(session.get_modelmeta().custom_metadata_map["primsplit.states"])
    assert row == {"name": "mean", "in": "state.mean.in", "out": None, "initial": 1.0}
    loaded = ps.load(tmp_path / "f.onnx")
    loaded.state["mean"] = 2 * X
    value, slope = loaded(X)
    assert value == 2 * X @ X
    np.testing.assert_allclose(slope, 2 * X)


@pytest.mark.parametrize(
    "initial",
    [
        np.array([[1.5, -2.0], [0.0, 3.0]], np.float16),
        np.array([1, 2, 2**40]),
        np.array([True, False]),
        np.array([np.nan, 1.0]),
        np.full(3, np.inf),
        np.zeros((2, 0)),
        np.array(-0.0),
        np.array(7, np.uint8),
    ],
    ids=lambda a: f"{a.dtype}{list(a.shape)}",
)
def test_first_values_survive_a_file_bit_by_bit(initial: Array, tmp_path: Path) -> None:
    slot = ps.state("slot", initial)

    def call(x: Any) -> Any:
        slot[...] = np.zeros_like(initial)
        return x

    ps.trace(call, 1.0).save(tmp_path / "f.onnx")
    found = ps.load(tmp_path / "f.onnx").state["slot"]
    assert (found.dtype, found.shape, found.tobytes()) == (initial.dtype, initial.shape, initial.tobytes())


def test_metadata_that_no_file_of_primsplit_has_is_refused(file: str, tmp_path: Path) -> None:
    model = onnx.load(file)
    model.metadata_props[0].value = '[{"name": "other"}]'
    onnx.save(model, tmp_path / "odd.onnx")
    with pytest.raises(ParseError, match=r"primsplit\.states"):
        ps.load(tmp_path / "odd.onnx")


def test_weights_of_a_loaded_file_with_states_may_be_given_and_differentiated(tmp_path: Path) -> None:
    kept = ps.state("kept", np.zeros(2))

    def weighed(x: Array) -> Any:
        w = ps.param(np.array([1.0, 2.0]), "w")
        kept[...] = kept + x * w
        return np.sum(kept * w)

    ps.trace(weighed, np.ones(2)).save(tmp_path / "f.onnx")
    model = ps.load(tmp_path / "f.onnx")
    assert float(model(np.ones(2))) == 5.0
    assert float(model(np.ones(2), w=np.array([0.0, 1.0]))) == 3.0
    assert model.state["kept"].tolist() == [1.0, 3.0]
    joint = ps.split(model, wrt=["w", "x"]).joint()
    _, by_x, by_w = joint(np.ones(2), np.array([1.0, 2.0]))
    np.testing.assert_allclose(by_x, [1.0, 4.0])
    np.testing.assert_allclose(by_w, [2.0, 4.0])
