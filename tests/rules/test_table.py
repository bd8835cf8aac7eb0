"""Every operator of the standard has one status, and `through_body` stands in for a rule wherever there is a body."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx.defs
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule, RuleError, TraceError
from primsplit.ops import op
from primsplit.ops.schema import OPSET, kinds
from primsplit.rules import table
from primsplit.rules.table import RULES, UNSUPPORTED, status, through_body
from primsplit.testing import check_rrule
from primsplit.tracing.registering import Epoch
from primsplit.transforms.batching import table as batching
from tests.rules.row import Row
from tests.rules.rows import ROWS
from tests.versions import is_since


def test_every_operator_of_the_standard_has_a_status() -> None:
    assert sorted(k for k in kinds() if status(k) is None) == []


def test_an_operator_has_one_status_only() -> None:
    assert sorted(set(RULES) & set(UNSUPPORTED)) == []


def test_the_table_has_no_operator_that_the_standard_has_not() -> None:
    assert sorted((set(RULES) | set(UNSUPPORTED)) - set(kinds())) == []


def test_a_refused_gradient_says_why_at_the_line_of_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "Sinh")
    monkeypatch.setattr(Epoch, "count", Epoch.count + 1)
    monkeypatch.setitem(UNSUPPORTED, "Sinh", "nobody knows its slope")
    with pytest.raises(MissingRule, match="nobody knows its slope") as caught:
        ps.grad(lambda x: op.Sinh(x).sum())(np.ones(2, np.float32))
    assert "test_table.py" in str(caught.value)


def test_no_gradient_flows_into_the_bounds_of_a_mel_weight_matrix() -> None:
    def weights(low: ps.Array, high: ps.Array) -> ps.Array:
        return op.MelWeightMatrix(np.int64(8), np.int64(16), np.int64(8192), low, high).sum() + low * 3.0

    found = ps.grad(weights, wrt=(0, 1))(np.float32(10.0), np.float32(4000.0))
    assert [float(g) for g in found] == [3.0, 0.0]


def test_quantization_to_a_range_that_is_computed_is_straight_through_and_the_range_has_its_gradient() -> None:
    def quantized(x: ps.Array) -> ps.Array:
        steps, scale, zero = op.DynamicQuantizeLinear(x, outputs=3)
        return op.Cast(steps, to=np.float32).sum() + op.Cast(zero, to=np.float32) + scale * 2.0 + x.sum() * 3.0

    found = ps.grad(quantized)(np.array([0.5, -1.0, 2.0], np.float32))
    scale = (2.0 - -1.0) / 255.0
    of_scale = np.array([0.0, -1.0, 1.0]) / 255.0
    levels = np.sum(np.round(np.array([0.5, -1.0, 2.0]) / scale))
    np.testing.assert_allclose(found, 1 / scale + 3.0 + (2.0 - levels / scale) * of_scale, rtol=1e-5)


def test_no_gradient_flows_through_the_choice_of_boxes_but_through_what_it_picks() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]]], np.float32)

    def picked(scores: ps.Array) -> ps.Array:
        places = op.NonMaxSuppression(boxes, scores, np.int64(2), np.float32(0.5), np.float32(0.0))
        return op.GatherND(scores, places).sum()

    found = ps.grad(picked)(np.array([[[0.9, 0.8, 0.7]]], np.float32))
    np.testing.assert_array_equal(found, [[[1.0, 0.0, 1.0]]])


IMAGE = np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)
KERNEL = np.ones((1, 1, 2, 2), np.uint8)
ONE, ZERO = np.float32(1.0), np.uint8(0)
COUNTED = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
           "ngram_indexes": [0, 1], "pool_int64s": [2, 3]}  # fmt: skip
DISCRETE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("BlackmanWindow", (np.int64(5),), {}),
    ("HammingWindow", (np.int64(5),), {}),
    ("HannWindow", (np.int64(5),), {}),
    ("ConvInteger", (IMAGE, KERNEL), {}),
    ("QLinearConv", (IMAGE, ONE, ZERO, KERNEL, ONE, ZERO, ONE, ZERO), {}),
    ("TfIdfVectorizer", (np.array([2, 3, 3]),), COUNTED),
]


@pytest.mark.parametrize(("kind", "inputs", "attributes"), DISCRETE, ids=[case[0] for case in DISCRETE])
def test_an_operator_without_floats_to_differentiate_is_written_and_has_no_gradient(
    kind: str, inputs: tuple[Any, ...], attributes: dict[str, Any]
) -> None:
    assert status(kind) == "no_gradient"
    program = ps.trace(lambda *xs: getattr(op, kind)(*xs, **attributes), *inputs)
    assert [node.op_type for node in program.to_onnx().graph.node] == [kind]


WITHOUT_FLOAT64 = {"GroupNormalization", "LayerNormalization", "MeanVarianceNormalization", "ReduceL2"}
"""Their bodies compute in float32 whatever the dtype."""
WITH_GRAPHS = {"AffineGrid", "Range"} | (set() if is_since("onnx", "1.23") else {"CenterCropPad"})
"""Their bodies hold an If or a Loop; that of CenterCropPad was wrong before."""


def _rows_with_bodies() -> Iterator[Row]:
    seen: dict[str, int] = {}
    for row in ROWS:
        found = onnx.defs.get_schema(row.kind, OPSET)
        has_body = found.has_function or found.has_context_dependent_function
        if has_body and row.kind not in WITHOUT_FLOAT64 | WITH_GRAPHS and seen.setdefault(row.kind, 0) < 2:
            seen[row.kind] += 1
            yield row


@pytest.mark.parametrize("row", list(_rows_with_bodies()), ids=str)
def test_an_operator_is_differentiated_through_its_body(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, row.kind, RULES[row.kind])
    monkeypatch.setattr(Epoch, "count", Epoch.count + 1)
    through_body(row.kind, replace=True)
    assert status(row.kind) == "through_body"
    check_rrule(row.kind, *row.inputs, **{**row.arguments, "only": ["form", "differences", "linear"]})


@pytest.mark.parametrize("kind", ["LayerNormalization", "GroupNormalization", "MeanVarianceNormalization"])
def test_bodies_in_float32_give_what_the_rules_give(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(2, 4, 3, 5)).astype(np.float32)
    more = {"LayerNormalization": (5,), "GroupNormalization": (4, 4)}.get(kind, ())
    vectors = [random.normal(size=n).astype(np.float32) for n in more]
    attributes = {"num_groups": 2} if kind == "GroupNormalization" else {}
    weights = random.normal(size=x.shape).astype(np.float32)

    def total(x: ps.Array, *vectors: ps.Array) -> ps.Array:
        return (getattr(op, kind)(x, *vectors, **attributes) * weights).sum()

    wanted = ps.grad(total, wrt=tuple(range(1 + len(vectors))))(x, *vectors)
    monkeypatch.setitem(RULES, kind, RULES[kind])
    through_body(kind, replace=True)
    found = ps.grad(lambda *xs: total(*xs), wrt=tuple(range(1 + len(vectors))))(x, *vectors)
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5)


REGISTER = {
    "rrule": lambda kind: table.rrule(kind)(lambda x: (x, lambda dz: (dz,))),
    "frule": lambda kind: table.frule(kind)(lambda x: (x, lambda tx: tx)),
    "symmetric": table.symmetric,
    "partials": lambda kind: table.partials(kind, 1.0),
    "block_rule": lambda kind: table.block_rule(kind)(lambda site: ((), lambda: ())),
    "no_gradient": table.no_gradient,
    "through_body": table.through_body,
    "unsupported": lambda kind: table.unsupported("it is none", kind),
    "batching": lambda kind: batching.batching(kind)(lambda site: site.inputs),
    "floor": lambda kind: batching.floor("it is none", kind),
    "refused": lambda kind: batching.refused("it is none", kind),
    "ps.rrule": lambda kind: ps.rrule(kind)(lambda x: (x, lambda dz: (dz,))),
    "ps.frule": lambda kind: ps.frule(kind)(lambda x: (x, lambda tx: tx)),
}


@pytest.mark.parametrize("name", REGISTER)
@pytest.mark.parametrize("kind", ["Tahn", "tanh", "", "com.microsoft::Gelu"])
def test_nothing_is_registered_for_a_name_that_is_no_operator(name: str, kind: str) -> None:
    before = dict(RULES), Epoch.count
    with pytest.raises(RuleError, match="no operator of ONNX opset"):
        REGISTER[name](kind)
    assert (dict(RULES), Epoch.count) == before


def test_the_nearest_names_are_told() -> None:
    with pytest.raises(RuleError, match=r"Did you mean .*Tanh"):
        ps.frule("Tahn")


@pytest.fixture
def tanh_restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table's own rule of Tanh again, after the test."""
    monkeypatch.setitem(RULES, "Tanh", RULES["Tanh"])
    yield
    Epoch.count += 1


@pytest.mark.usefixtures("tanh_restored")
def test_a_users_rule_of_an_operator_goes_before_that_of_the_table() -> None:
    @ps.rrule("Tanh")
    def doubled(x: ps.Array) -> tuple[ps.Array, Any]:
        return op.Tanh(x), lambda dy: (dy * 2.0,)

    np.testing.assert_array_equal(ps.grad(lambda x: np.tanh(x).sum())(np.ones(2)), [2.0, 2.0])
    np.testing.assert_allclose(ps.jvp(np.tanh, (1.0,), (3.0,))[1], 6.0)


@pytest.mark.usefixtures("tanh_restored")
def test_a_users_rule_of_an_operator_may_be_of_first_order_only() -> None:
    @ps.rrule("Tanh", first_order_only=True)
    def once(x: ps.Array) -> tuple[ps.Array, Any]:
        return op.Tanh(x), lambda dy: (dy * x,)

    np.testing.assert_array_equal(ps.grad(lambda x: np.tanh(x).sum())(np.full(2, 3.0)), [3.0, 3.0])
    with pytest.raises(RuleError, match="Tanh has no second derivative"):
        ps.hessian(lambda x: np.tanh(x).sum())(np.ones(2))


@pytest.mark.usefixtures("tanh_restored")
def test_a_rule_of_an_operator_sees_no_value_that_is_being_traced() -> None:
    """Its Split is kept for all uses of the operator, also in other programs, which do not have that value."""
    seen: list[Any] = []

    @ps.rrule("Tanh")
    def scaled(x: ps.Array) -> tuple[ps.Array, Any]:
        return op.Tanh(x), lambda dy: (dy * seen[0],)

    def function(k: Any, x: Any) -> Any:
        seen[:] = [k]
        return ps.grad(lambda x: np.tanh(x))(x)

    with pytest.raises(TraceError, match="outside the function that it belongs to"):
        ps.trace(function, 1.0, 1.0)


def test_a_rule_of_an_operator_is_not_staged() -> None:
    with pytest.raises(RuleError, match="cannot be staged"):
        ps.rrule("Tanh", staged=True)
