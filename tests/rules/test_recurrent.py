"""The rules of RNN, GRU and LSTM: PyTorch's gradients, lengths, activations, and what is refused."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, MissingRule
from primsplit.ops import op
from primsplit.rewrites.decompositions.gates import NAMES, Activation
from primsplit.testing.recurrent import recurrent
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

GATES = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}
"""PyTorch's gates in the order of ONNX."""
FROM, H = 3, 4


def weights(kind: str, directions: int) -> list[Any]:
    """W, R and B of a layer, float32."""
    random, rows = np.random.default_rng(0), len(GATES[kind]) * H
    return [random.uniform(-0.6, 0.6, (directions, *s)).astype("f") for s in ((rows, FROM), (rows, H), (2 * rows,))]


def sample(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f")


def layer(kind: str, **attributes: Any) -> Any:
    """The operator of x, W, R, B and initial states."""
    count = 3 if kind == "LSTM" else 2
    if kind == "GRU":
        attributes.setdefault("linear_before_reset", 1)

    def gru_or_rnn(x: Any, w: Any, r: Any, b: Any, h: Any) -> Any:
        return getattr(op, kind)(x, w, r, b, None, h, outputs=count, hidden_size=H, **attributes)

    def lstm(x: Any, w: Any, r: Any, b: Any, h: Any, c: Any) -> Any:
        return op.LSTM(x, w, r, b, None, h, c, outputs=count, hidden_size=H, **attributes)

    return lstm if kind == "LSTM" else gru_or_rnn


def specs(kind: str, directions: int, dtype: str = "float32") -> list[Any]:
    """Sequences of any length, any number at a time."""
    fixed = [ps.spec(dtype, w.shape) for w in weights(kind, directions)]
    state = ps.spec(dtype, [directions, "N", H])
    return [ps.spec(dtype, ["T", "N", FROM]), *fixed, *[state] * (2 if kind == "LSTM" else 1)]


def reordered(kind: str, array: Any) -> Any:
    """Rows of gates in the order of ONNX in that of PyTorch."""
    return np.concatenate([np.split(array, len(GATES[kind]))[k] for k in np.argsort(GATES[kind])])


def as_torch(made: Any, kind: str, given: list[Any]) -> Any:
    """A layer of PyTorch with the weights W, R and B."""
    for d in range(len(given[0])):
        arrays = [given[0][d], given[1][d], *np.split(given[2][d], 2)]
        for name, array in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), arrays, strict=True):
            values = getattr(made, f"{name}_l0{'_reverse' * d}").data
            values.copy_(values.new_tensor(reordered(kind, array)))
    return made


def joint_results(made: Any, arrays: list[Any], count: int) -> dict[str, list[Any]]:
    """The `count` results and the gradients of x and the states; the gradients of W and R."""
    found = made.joint()(*arrays)
    return {"others": [*found[: count + 1], *found[count + 4 :]], "weights": found[count + 1 : count + 3]}


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 2e-4), ("float64", 1e-9)])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_values_and_gradients_are_pytorchs_for_any_length(
    kind: str, bidirectional: bool, dtype: str, rtol: float
) -> None:
    torch = pytest.importorskip("torch")
    directions, states = 1 + bidirectional, 2 if kind == "LSTM" else 1
    made = ps.split(
        layer(kind, direction="bidirectional" if bidirectional else "forward"), *specs(kind, directions, dtype)
    )
    given = [w.astype(dtype) for w in weights(kind, directions)]
    torchs = as_torch(
        getattr(torch.nn, kind)(FROM, H, bidirectional=bidirectional, dtype=getattr(torch, dtype)), kind, given
    )
    for length, count in ((5, 2), (1, 1), (4, 1)):
        shapes = [(length, count, FROM), *[(directions, count, H)] * states, (length, directions, count, H)]
        x, *rest = (sample(*s).astype(dtype) for s in (*shapes, *[shapes[1]] * states))
        held, seeds = rest[:states], rest[states:]
        leaves = [torch.tensor(a, requires_grad=True) for a in (x, *held)]
        y, ends = torchs(leaves[0], tuple(leaves[1:]) if states == 2 else leaves[1])
        results = [y.reshape(length, count, directions, H).permute(0, 2, 1, 3), *(ends if states == 2 else [ends])]
        torchs.zero_grad()
        sum((r * torch.tensor(s)).sum() for r, s in zip(results, seeds, strict=True)).backward()
        found = joint_results(made, [x, *given, *held, *seeds], 1 + states)
        wanted = [*(r.detach() for r in results), *(leaf.grad for leaf in leaves)]
        for value, right in zip(found["others"], wanted, strict=True):
            np.testing.assert_allclose(value, right.numpy(), rtol=rtol, atol=rtol / 50)
        for value, name in zip(found["weights"], ("weight_ih_l0", "weight_hh_l0"), strict=True):
            right = getattr(torchs, name).grad
            np.testing.assert_allclose(reordered(kind, value[0]), right, rtol=rtol, atol=rtol / 50)


def gradient(kind: str, direction: str) -> Any:
    """The gradient of the sum of squares of a layer's results."""
    made = layer(kind, direction=direction)
    return ps.grad(lambda *arrays: (made(*arrays)[0] * made(*arrays)[0]).sum())


@pytest.mark.parametrize("kind", GATES)
def test_a_reversed_layer_is_a_layer_on_the_reversed_sequence(kind: str) -> None:
    arrays = [sample(5, 2, FROM), *weights(kind, 1), *[sample(1, 2, H)] * (2 if kind == "LSTM" else 1)]
    backward = gradient(kind, "reverse")(*arrays)
    forward = gradient(kind, "forward")(np.ascontiguousarray(arrays[0][::-1]), *arrays[1:])
    np.testing.assert_allclose(backward, forward[::-1], rtol=1e-5, atol=1e-6)


def sequences(kind: str) -> list[Any]:
    """x [5, 2, FROM], W, R and B, float64."""
    return [a.astype(np.float64) for a in (sample(5, 2, FROM), *weights(kind, 2))]


def total(kind: str, lengths: list[int] | None) -> Any:
    """A sum of the results of a bidirectional layer, of x, W, R and B."""
    count = 3 if kind == "LSTM" else 2
    given = None if lengths is None else np.array(lengths, np.int32)

    def f(*arrays: Any) -> Any:
        found = getattr(op, kind)(*arrays, given, outputs=count, hidden_size=H, direction="bidirectional")
        return sum((part * part).sum() for part in found)

    return f


@pytest.mark.parametrize("kind", GATES)
def test_sequences_of_lengths_are_sequences_cut_there_whatever_lies_beyond(kind: str) -> None:
    x, *rest = sequences(kind)
    dirty = x.copy()
    dirty[3:, 0] = np.nan
    found = ps.grad(total(kind, [3, 5]), wrt=(0, 1, 2, 3))(dirty, *rest)
    parts = [ps.grad(total(kind, None), wrt=(0, 1, 2, 3))(x[:n, [i]], *rest) for i, n in ((0, 3), (1, 5))]
    np.testing.assert_allclose(found[0][:3, :1], parts[0][0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found[0][:, 1:], parts[1][0], rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(found[0][3:, 0], 0)
    for gradient, one, other in zip(found[1:], parts[0][1:], parts[1][1:], strict=True):
        np.testing.assert_allclose(gradient, one + other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kind", GATES)
def test_a_second_derivative_is_that_of_the_first_ones_differences(kind: str) -> None:
    x, *rest = sequences(kind)
    first = ps.grad(total(kind, [3, 5]))
    direction = np.random.default_rng(1).standard_normal(x.shape)
    found = ps.grad(lambda x: (ps.grad(lambda x: total(kind, [3, 5])(x, *rest))(x) * direction).sum())(x)
    ahead, behind = (first(x + step * direction, *rest) for step in (1e-4, -1e-4))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-4, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", GATES)
def test_a_sequence_of_no_steps_gives_0_as_one_of_length_0_does(kind: str) -> None:
    arrays = [sample(0, 2, FROM), *weights(kind, 1), *[sample(1, 2, H)] * (2 if kind == "LSTM" else 1)]
    arrays = [a.astype(np.float64) for a in arrays]
    joint = ps.split(layer(kind), *specs(kind, 1, "float64")).joint()
    seeds = [np.zeros((0, 1, 2, H)), *[sample(1, 2, H).astype(np.float64)] * (len(arrays) - 4)]
    y, *found = joint(*arrays, *seeds)
    assert y.shape == (0, 1, 2, H)
    states = len(arrays) - 4
    for value in (*found[:states], *found[states + 1 :]):
        assert value.size
        np.testing.assert_array_equal(value, np.zeros(value.shape))


PARAMETERS = {"Affine": (0.3, 0.7), "Elu": (0.4, 0), "HardSigmoid": (0.3, 0.6), "LeakyRelu": (0.2, 0),
              "ScaledTanh": (0.5, 1.5), "ThresholdedRelu": (0.3, 0)}  # fmt: skip


@pytest.mark.parametrize("clip", [0.0, 0.8])
@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_an_activation_is_that_of_its_differences(name: str, clip: float) -> None:
    activation = Activation(name, *PARAMETERS.get(name, (0, 0)), clip)
    points = np.array([-2.1, -0.9, -0.45, -0.05, 0.05, 0.35, 0.75, 0.95, 3.0])

    def slope(a: Any) -> Any:
        return activation.slope(a, activation.value(a))

    value, found = ps.trace(activation.value, points), ps.trace(slope, points)(points)
    np.testing.assert_allclose(found, (value(points + 1e-6) - value(points - 1e-6)) / 2e-6, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("attributes", [{"layout": 1}, {"activations": ["Affine", "ScaledTanh", "ThresholdedRelu"]}])
def test_what_onnxruntime_reads_otherwise_is_written_as_the_standard_has_it(
    kind: str, attributes: dict[str, Any]
) -> None:
    size = {"RNN": 1, "GRU": 2, "LSTM": 3}[kind]
    given = {name: value[:size] if isinstance(value, list) else value for name, value in attributes.items()}
    x, w, r, b = sample(2, 3, FROM), *weights(kind, 1)
    found = ps.trace(lambda x: getattr(op, kind)(x, w, r, b, hidden_size=H, **given), x)(x)
    np.testing.assert_allclose(found, recurrent(kind, x, w, r, b, **given)[0], rtol=1e-5, atol=1e-6)


def test_a_layer_of_a_hidden_size_that_only_the_run_knows_is_refused_by_name() -> None:
    shapes = [["T", 2, FROM], [1, "H", FROM], [1, "H", "H"]]
    with pytest.raises(MissingRule, match="RNN with hidden size H"):
        ps.split(op.RNN, *(ps.spec("float32", s) for s in shapes))


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("kind", list(GATES))
def test_float64_weights_whose_sizes_the_attributes_tell_give_what_those_of_fixed_sizes_do(
    kind: str, directions: int
) -> None:
    direction = "bidirectional" if directions == 2 else "forward"
    arrays = [a.astype("d") for a in (sample(5, 2, FROM), *weights(kind, directions), sample(directions, 2, H))]
    lengths = np.array([5, 2], np.int32)

    def total(x: Any, w: Any, r: Any, b: Any, h: Any) -> Any:
        outputs = getattr(op, kind)(
            x, w, r, b, lengths, h, outputs=3 if kind == "LSTM" else 2, hidden_size=H, direction=direction
        )
        return np.sum(outputs[0] ** 2) + np.sum(np.sin(outputs[1]))

    unknown = [
        ps.spec("float64", [f"{name}{i}" for i in range(a.ndim)]) for name, a in zip("xwrbh", arrays, strict=True)
    ]
    np.testing.assert_allclose(ps.trace(total, *unknown)(*arrays), ps.trace(total, *arrays)(*arrays))
    wanted = ps.split(total, *arrays, wrt=list(range(5))).joint()(*arrays)
    for mine, theirs in zip(ps.split(total, *unknown, wrt=list(range(5))).joint()(*arrays), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_a_float64_layer_without_a_hidden_size_is_refused_at_its_line() -> None:
    unknown = [ps.spec("float64", [f"{name}{i}" for i in range(3)]) for name in "xwr"]
    program = ps.trace(lambda x, w, r: op.RNN(x, w, r, outputs=2)[0], *unknown)
    with pytest.raises(DtypeError, match=r"cannot have the hidden size r2(.|\n)*test_recurrent.py(.|\n)*fixed sizes"):
        program(sample(5, 2, FROM).astype("d"), *(w.astype("d") for w in weights("RNN", 1)[:2]))


@pytest.mark.parametrize("row", rows_of("recurrent"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
