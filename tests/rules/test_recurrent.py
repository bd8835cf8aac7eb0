"""The rules of RNN, GRU and LSTM: PyTorch's gradients, lengths, activations, and what is refused."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, MissingRule
from primsplit.ops import op
from primsplit.testing.recurrent import recurrent
from tests.rules.checks import check_derivative
from tests.rules.layers import FROM, GATES, H, layer, sample, specs, weights
from tests.rules.rows import Row, rows_of


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
