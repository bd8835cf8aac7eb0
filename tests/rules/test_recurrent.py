"""The rules of RNN, GRU and LSTM: PyTorch's gradients, and what is refused."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.errors import MissingRule
from primsplit.ops import op

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


@pytest.mark.parametrize(
    ("kind", "attributes", "told"),
    [
        ("GRU", {"clip": 1.0}, "GRU with clip"),
        ("LSTM", {"input_forget": 1}, "LSTM with input_forget"),
        ("RNN", {"layout": 1}, "RNN with layout=1"),
        ("RNN", {"activations": ["Sigmoid"]}, "RNN with activations sigmoid"),
    ],
)
def test_what_has_no_rule_is_refused_by_name(kind: str, attributes: dict[str, Any], told: str) -> None:
    with pytest.raises(MissingRule, match=told) as caught:
        ps.split(layer(kind, **attributes), *specs(kind, 1))
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_lengths_of_single_sequences_are_refused_by_name() -> None:
    w, r, b = weights("GRU", 1)
    with pytest.raises(MissingRule, match="GRU with sequence_lens"):
        ps.grad(lambda x: op.GRU(x, w, r, b, np.array([1, 2], np.int32), hidden_size=H).sum())(sample(3, 2, FROM))


@pytest.mark.parametrize("kind", GATES)
def test_a_second_derivative_is_refused_by_name(kind: str) -> None:
    w, r, b = weights(kind, 1)

    def f(x: Any) -> Any:
        return getattr(op, kind)(x, w, r, b, hidden_size=H).sum()

    with pytest.raises(MissingRule, match=f"{kind} differentiated twice"):
        ps.grad(lambda x: ps.grad(f)(x).sum())(sample(3, 2, FROM))
