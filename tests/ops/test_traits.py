"""Each trait is true of the operators that have it and of no other, as running them shows.

An operator that no example decides is compared with nothing: that of one element, or that only files of images have.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import starmap
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest

from primsplit.ir import Op
from primsplit.ops import op
from primsplit.ops.schema import OPSET, kinds, schema
from primsplit.ops.traits import (
    IN_FILES,
    TRAITS,
    Condition,
    Traits,
    kinds_where,
    moved,
    moved_inputs,
    sized_by,
    terms,
    terms_of,
    traits,
)
from tests.ops.operators import Example, examples, one_node, same
from tests.recording import record
from tools.house import modules

Property = Callable[[Example], bool | None]
"""Whether an example has a property; None where it decides nothing."""


def is_of_tensors(kind: str) -> bool:
    """Whether each input and result of an operator may be a tensor; those of optional values are no other operators."""
    formal = onnx.defs.get_schema(kind, OPSET)
    every = [formal_type.types for formal_type in (*formal.inputs, *formal.outputs)]
    return not kind.startswith("Optional") and all(any(t.startswith("tensor") for t in types) for types in every)


OF_TENSORS = sorted(filter(is_of_tensors, TRAITS))
"""The operators that examples run. They are named by type, so that collecting the tests computes no example."""


def having(holds: Property) -> dict[str, bool]:
    """The operators that examples decide, and whether all of their examples have the property."""
    found = {kind: [x for each in of_kind if (x := holds(each)) is not None] for kind, of_kind in examples().items()}
    return {kind: all(decided) for kind, decided in found.items() if decided}


def check(holds: Property, says: Callable[[Traits], object]) -> None:
    """Assert that a property is that of the operators of which the table says so."""
    found = having(holds)
    assert {k for k, does in found.items() if does} == {k for k in found if says(traits(k))}
    undecided = kinds_where(says) - found.keys()
    assert not undecided, f"no example shows the trait of {sorted(undecided)}"


def shape_of_all(example: Example) -> tuple[int, ...] | None:
    """The common shape of the inputs; None where there is none."""
    try:
        return np.broadcast_shapes(*(x.shape for x in values(example)))
    except ValueError:
        return None


def values(example: Example) -> list[Any]:
    """The inputs that are there, and of which more than the type is read."""
    return [x for i, x in enumerate(example.inputs) if x is not None and i not in traits(example.kind).reads_type]


def on_values(example: Example, change: Callable[[Any], Any]) -> list[Any]:
    """The inputs with those of several elements changed that are read."""
    unread = traits(example.kind).reads_type
    return [x if x is None or x.ndim == 0 or i in unread else change(x) for i, x in enumerate(example.inputs)]


def shuffled(example: Example) -> bool | None:
    """Shuffling the elements of all inputs, at their common shape, shuffles those of the results."""
    outputs, shape = example.outputs, shape_of_all(example)
    if outputs is None:
        return None
    if shape is None or not values(example) or any(y.shape != shape for y in outputs):
        return False
    count = int(np.prod(shape))
    if count < 2:
        return None
    order = np.random.default_rng(3).permutation(count)

    def shuffle(x: Any) -> Any:
        return np.broadcast_to(x, shape).reshape(-1)[order].reshape(shape)

    found = example.run(on_values(example, shuffle))
    return found is not None and all(same(a, shuffle(b)) for a, b in zip(found, outputs, strict=True))


def test_every_operator_of_the_opset_has_a_row_and_no_other_name_has() -> None:
    assert sorted(TRAITS) == sorted(kinds())
    assert not TRAITS.keys() & IN_FILES.keys()


def test_every_operator_of_tensors_has_an_example() -> None:
    assert sorted(TRAITS.keys() & examples().keys()) == OF_TENSORS


def test_what_is_no_operator_has_no_trait() -> None:
    assert traits("call::square") == Traits()


def test_every_column_is_asked_by_a_room() -> None:
    text = "".join(m.path.read_text() for m in modules() if m.name != "primsplit.ops.traits")
    asked = {f.name for f in fields(Traits) if f".{f.name}" in text}
    through = {"moves_if", "terms_if"}  # asked of an op, by moved_inputs and terms_of
    assert {f.name for f in fields(Traits)} - asked == through


def first_op(function: Callable[..., Any], *types: str) -> Op:
    """The op that a function records."""
    return record(function, *types).ops[-1]


PLACES = np.array([[0], [2]])


def test_a_scatter_that_adds_moves_nothing_and_is_a_sum_and_one_that_multiplies_is_neither() -> None:
    def scatter(how: str) -> Op:
        return first_op(lambda x, y: op.ScatterND(x, PLACES, y, reduction=how), "float32[4]", "float32[2]")

    ops = {how: scatter(how) for how in ("none", "add", "mul")}
    assert {how: moved_inputs(found) for how, found in ops.items()} == {"none": (0, 2), "add": (), "mul": ()}
    assert {how: terms_of(found) for how, found in ops.items()} == {
        "none": ((0,), (2,)), "add": ((0,), (2,)), "mul": (),
    }  # fmt: skip


def test_elementwise_operators_are_those_that_commute_with_a_shuffle() -> None:
    check(shuffled, lambda t: t.elementwise)


def repeated(columns: Sequence[int]) -> Property:
    """A property: inputs of one axis are rows, those at these positions columns, and the result is a table."""

    def holds(example: Example) -> bool | None:
        shape, row = shape_of_all(example), traits(example.kind)
        if not row.elementwise or row.ranks or shape is None or len(values(example)) < 2:
            return None
        flat = [np.broadcast_to(x, shape).reshape(-1) for x in example.inputs]
        cut = [x[:, None] if i in columns else x for i, x in enumerate(flat)]
        found = example.run(cut)
        expected = example.run([np.broadcast_to(x, (x.size, x.size) if len(flat) > 1 else x.shape) for x in cut])
        if expected is None:
            return None
        return found is not None and all(same(a, b) for a, b in zip(found, expected, strict=True))

    return holds


def test_inputs_of_broadcasting_operators_are_repeated_along_axes_of_size_1() -> None:
    check(repeated([1]), lambda t: t.broadcasts)


def test_an_operator_that_the_standard_calls_unidirectional_repeats_the_later_inputs_alone() -> None:
    found = {k for k in TRAITS if "unidirectional broadcast" in onnx.defs.get_schema(k, OPSET).doc.lower()}
    assert found & kinds_where(lambda t: t.elementwise) == kinds_where(lambda t: t.broadcasts == "to_first")


def exchanged(example: Example) -> bool | None:
    """Exchanging the two inputs changes no bit, also of zeros of both signs."""
    formal = schema(example.kind) if example.kind in TRAITS else None
    if formal is None or formal.variadic or [x is None for x in example.inputs] != [False, False]:
        return None
    a, b = example.inputs
    if a.dtype != b.dtype:
        return False
    if a.shape != b.shape:
        return None
    if a.dtype.kind == "f" and a.size > 1 and b.size > 1:
        a, b = a.copy(), b.copy()
        a.reshape(-1)[:2], b.reshape(-1)[:2] = [0.0, -0.0], [-0.0, 0.0]
    one, other = example.run([a, b]), example.run([b, a])
    if one is None:
        return None
    return other is not None and all(x.tobytes() == y.tobytes() for x, y in zip(one, other, strict=True))


def test_commutative_operators_are_those_of_two_inputs_that_may_be_exchanged() -> None:
    check(exchanged, lambda t: t.commutative)


def changes(x: Any) -> Iterator[Any]:
    """Other values of an input of the same type."""
    yield x.reshape(-1)[::-1].reshape(x.shape)
    yield np.broadcast_to(x.reshape(-1)[:1], (x.size,)).reshape(x.shape).copy()
    if x.dtype.kind == "b":
        yield ~x
    elif x.dtype.kind in "OSU":
        yield np.array([f"{text}0" for text in x.reshape(-1)], x.dtype).reshape(x.shape)
    else:
        yield (x * 7 + x.dtype.type(3)).astype(x.dtype)


def reads(example: Example, position: int) -> bool:
    """Whether other values of an input change the results, or are refused."""
    for x in changes(example.inputs[position]):
        found = example.run([x if i == position else v for i, v in enumerate(example.inputs)])
        is_random = example.kind.startswith("Random")
        if found is None or not all(
            a.shape == b.shape and (is_random or same(a, b)) for a, b in zip(found, example.outputs or [], strict=True)
        ):
            return True
    return False


def unread(kind: str) -> set[int]:
    """The positions of inputs whose values are seen in no example's results."""
    seen: dict[int, bool] = {}
    for example in examples()[kind]:
        if example.outputs is not None:
            for i, x in enumerate(example.inputs):
                if x is not None and x.size and not seen.get(i):
                    seen[i] = reads(example, i)
    return {i for i, is_read in seen.items() if not is_read}


NOT_READ_BY_ONNX = {("LSTM", 4)}
"""Inputs that onnx's reference evaluator leaves out: the lengths of sequences."""


@pytest.mark.parametrize("kind", OF_TENSORS)
def test_inputs_of_which_only_the_type_is_read_may_have_any_values(kind: str) -> None:
    assert {i for i in unread(kind) if (kind, i) not in NOT_READ_BY_ONNX} == set(traits(kind).reads_type)


def varies(example: Example) -> bool | None:
    """Two runs in a row give other bits."""
    if example.outputs is None or example.attributes.get("seed"):
        return None
    again = example.run(example.inputs) or []
    return any(a.tobytes() != b.tobytes() for a, b in zip(again, example.outputs, strict=True) if a.dtype.kind != "O")


def test_operators_of_which_a_second_run_gives_something_else_are_random_and_no_others() -> None:
    """Also those with a body in the standard that holds a Loop or an If, which onnx calls random."""
    found = {k for k in TRAITS.keys() & examples().keys() if any(map(varies, examples()[k]))}
    assert found == kinds_where(lambda t: t.random)


def test_operators_with_bodies_are_those_with_an_attribute_that_is_a_graph() -> None:
    graph = onnx.defs.OpSchema.AttrType.GRAPH
    formal = {k: onnx.defs.get_schema(k, OPSET).attributes.values() for k in TRAITS}
    assert {k for k, found in formal.items() if any(a.type == graph for a in found)} == kinds_where(lambda t: t.bodies)


def attribute(example: Example, name: str) -> Any:
    """An attribute of the node, or its default."""
    found = example.attributes.get(name, schema(example.kind).defaults.get(name))
    return found.decode() if isinstance(found, bytes) else found


def holds_under(example: Example, condition: Condition | None) -> bool:
    """Whether the attributes satisfy the condition of a column."""
    return condition is None or attribute(example, condition[0]) in condition[1]


def has_body(example: Example) -> bool:
    """Whether a node has a graph."""
    return any(isinstance(value, onnx.GraphProto) for value in example.attributes.values())


def like_result(example: Example) -> list[int]:
    """The inputs whose type variable is that of the first result."""
    formal = schema(example.kind)
    there = [i for i, x in enumerate(example.inputs) if x is not None and i not in traits(example.kind).reads_type]
    return [i for i in there if formal.variable(i) == formal.outputs[0][1]]


def with_own_elements(example: Example, positions: Sequence[int]) -> list[Any] | None:
    """The inputs, at these positions with elements of which no two are equal; None where a dtype has too few."""
    count = sum(example.inputs[i].size for i in positions)
    dtype = example.inputs[positions[0]].dtype
    if dtype.kind not in "fiu" or (dtype.itemsize == 1 and count > 100):
        return None
    numbers = np.random.default_rng(5).permutation(count) + 1
    numbers = (numbers if dtype.kind == "u" else numbers * 2 - count // 2 * 2 - 1).astype(dtype)
    numbers = numbers * dtype.type(0.37) if dtype.kind == "f" else numbers
    found = list(example.inputs)
    for i in positions:
        found[i], numbers = numbers[: found[i].size].reshape(found[i].shape), numbers[found[i].size :]
    return found


def relabeled(example: Example) -> bool | None:
    """Exchanging numbers for others in the inputs of the result's type exchanges them in the results."""
    if example.kind not in TRAITS or has_body(example) or example.outputs is None:
        return None
    if not holds_under(example, traits(example.kind).moves_if):
        return None
    positions = like_result(example)
    if not positions or len({example.inputs[i].dtype for i in positions}) > 1:
        return False
    inputs = with_own_elements(example, positions)
    found = None if inputs is None else example.run(inputs)
    if inputs is None or found is None:
        return None
    numbers = np.concatenate([inputs[i].reshape(-1) for i in positions])
    if len(numbers) < 2:
        return None
    other = dict(zip(numbers.tolist(), np.roll(numbers, 1), strict=True))

    def relabel(x: Any) -> Any:
        return np.array([other.get(v, v) for v in x.reshape(-1).tolist()], x.dtype).reshape(x.shape)

    again = example.run([relabel(x) if i in positions else x for i, x in enumerate(inputs)])
    of_type = [y.dtype == numbers.dtype for y in found]
    return again is not None and all(
        np.array_equal(a, relabel(b) if is_moved else b, equal_nan=a.dtype.kind == "f")
        for a, b, is_moved in zip(again, found, of_type, strict=True)
    )


def test_operators_that_move_elements_are_those_for_which_one_number_is_as_good_as_another() -> None:
    check(relabeled, lambda t: t.moves)


MOVING = sorted(kinds_where(lambda t: t.moves))


@pytest.mark.parametrize("kind", MOVING)
def test_what_is_moved_are_all_inputs_of_the_type_of_the_results(kind: str) -> None:
    for example in examples()[kind]:
        assert set(moved(kind, len(example.inputs))) & {
            i for i, x in enumerate(example.inputs) if x is not None
        } == set(like_result(example))


def moves_of(kind: str) -> Iterator[tuple[Any, Any]]:
    """The elements of the inputs that each example moves, no two equal, and those of the first result."""
    for example in examples()[kind]:
        positions = like_result(example)
        if example.outputs is None or not holds_under(example, traits(kind).moves_if):
            continue
        inputs = with_own_elements(example, positions)
        found = None if inputs is None else example.run(inputs)
        if inputs is not None and found is not None and found[0].size:
            yield tuple(
                np.concatenate([x.reshape(-1) for x in side]) for side in ([inputs[i] for i in positions], found[:1])
            )


@pytest.mark.parametrize("kind", MOVING)
def test_as_many_elements_are_kept_as_the_table_says(kind: str) -> None:
    pairs = list(moves_of(kind))
    assert pairs
    holds = {
        "order": all(np.array_equal(before, after) for before, after in pairs),
        "each": all(np.array_equal(np.sort(before), np.sort(after)) for before, after in pairs),
        "all": all(set(before) <= set(after) for before, after in pairs),
        "": True,
    }
    assert traits(kind).keeps == next(keeps for keeps, does in holds.items() if does)


@pytest.mark.parametrize("kind", MOVING)
def test_only_operators_that_fill_give_numbers_that_they_are_not_given(kind: str) -> None:
    assert traits(kind).fills == any(set(after) - set(before) != set() for before, after in moves_of(kind))


def is_wide_enough(array: Any) -> bool:
    """Whether an array has floats in which sums and products can be compared."""
    return array is not None and array.dtype in (np.float32, np.float64)


def close(a: Any, b: Any) -> bool:
    """Whether arrays are equal but for what is lost when large terms cancel."""
    size = 1 + np.max(np.abs(b), initial=0.0)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=2e-3, atol=2e-3 * size))


def is_sum_of_products(example: Example) -> bool | None:
    """False for an attribute with which the results are none, None where they cannot be compared."""
    if example.kind not in TRAITS or has_body(example) or traits(example.kind).random:
        return None
    if example.outputs is None or not holds_under(example, traits(example.kind).terms_if):
        return None
    found = [y for y in of_first_type(example, example.outputs) if is_wide_enough(y) and y.size]
    return True if found and all(np.isfinite(y).all() for y in found) else None


def of_first_type(example: Example, results: Sequence[Any]) -> list[Any]:
    """The results whose type variable is that of the first one."""
    formal = schema(example.kind).outputs
    return [y for i, y in enumerate(results) if formal[min(i, len(formal) - 1)][1] == formal[0][1]]


def grows_evenly(example: Example, position: int) -> bool:
    """Whether the change of the results by an addition to an input does not depend on the input."""
    x = example.inputs[position]
    for seed, size in enumerate((1, -30, 20)):
        draw = np.random.default_rng(seed)
        d, z = (draw.normal(size=x.shape).astype(x.dtype) * x.dtype.type(n) for n in (size, 1))
        found = [
            example.run([v if i == position else w for i, w in enumerate(example.inputs)]) for v in (x, x + d, z, z + d)
        ]
        if any(r is None for r in found):
            return False
        if not all(starmap(grows_alike, zip(*(of_first_type(example, r or []) for r in found), strict=True))):
            return False
    return True


def grows_alike(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether b - a = d - c, or the value does not grow."""
    if not is_wide_enough(a):
        return np.array_equal(a, b)
    return a.shape == b.shape == c.shape == d.shape and bool(np.isfinite([a, b, c, d]).all()) and close(b - a, d - c)


def even_inputs(kind: str) -> set[int]:
    """The inputs in which every example grows evenly."""
    found: dict[int, bool] = {}
    for example in examples()[kind]:
        for i, x in enumerate(example.inputs):
            if is_wide_enough(x) and x.size and i not in traits(kind).reads_type and is_sum_of_products(example):
                found[i] = found.get(i, True) and grows_evenly(example, i)
    return {i for i, does in found.items() if does}


NOT_ZERO_AT_ZERO = {("PRelu", 1)}
"""Inputs that add evenly to what the results are where they are zero: slope * x below zero, else x."""


@pytest.mark.parametrize("kind", OF_TENSORS)
def test_inputs_that_the_results_grow_evenly_with_are_those_in_terms(kind: str) -> None:
    most = max(len(e.inputs) for e in examples()[kind])
    named = {i for factors in terms(kind, most) for i in factors}
    seen = {i for e in examples()[kind] for i, x in enumerate(e.inputs) if is_wide_enough(x) and x.size}
    assert {i for i in even_inputs(kind) if (kind, i) not in NOT_ZERO_AT_ZERO} == named & seen


@pytest.mark.parametrize("kind", sorted(kinds_where(lambda t: t.terms)))
def test_the_results_are_the_sum_of_the_terms(kind: str) -> None:
    """The change by d at one input is the result for d alone, with the inputs zero that only other terms have."""
    decided = False
    for example in filter(is_sum_of_products, examples()[kind]):
        sums = terms(kind, len(example.inputs))
        for i, x in enumerate(example.inputs):
            if not is_wide_enough(x) or not any(i in factors for factors in sums):
                continue
            beside = {j for factors in sums if i in factors for j in factors}
            others = {j for factors in sums for j in factors} - beside
            d = (3 * np.random.default_rng(i).normal(size=x.shape)).astype(x.dtype)
            alone = [np.zeros_like(v) if j in others and v is not None else v for j, v in enumerate(example.inputs)]
            alone[i] = d
            after = example.run([x + d if j == i else v for j, v in enumerate(example.inputs)])
            added = example.run(alone)
            assert after is not None
            assert added is not None
            sides = (of_first_type(example, r or []) for r in (after, example.outputs, added))
            for a, b, c in zip(*sides, strict=True):
                assert close(a - b, c), (example.name, i)
            decided = True
    assert decided, f"no example shows the terms of {kind}"


def attribute_names(kind: str) -> frozenset[str]:
    """The attributes that the standard gives an operator."""
    return frozenset(onnx.defs.get_schema(kind, OPSET).attributes)


def test_inputs_have_the_ranks_that_they_must_have() -> None:
    """An input that has several ranks in examples, or another one, is no input of one rank."""
    for kind, of_kind in examples().items():
        for example in of_kind:
            for x, rank in zip(example.inputs, traits(kind).ranks, strict=False):
                assert x is None or rank is None or x.ndim == rank, example.name


@pytest.mark.parametrize("kind", sorted(kinds_where(lambda t: t.gates)))
def test_a_weight_of_a_recurrent_layer_has_rows_for_each_gate_and_the_default_activations_are_these(kind: str) -> None:
    draw = np.random.default_rng(2)
    rows, row = 2 * traits(kind).gates, traits(kind)
    inputs = [draw.normal(size=s).astype(np.float32) for s in ((3, 1, 4), (1, rows, 4), (1, rows, 2))]
    plain = one_node(kind, inputs, hidden_size=2).outputs
    told = one_node(kind, inputs, hidden_size=2, activations=list(row.activations)).outputs
    assert plain is not None
    assert told is not None
    assert same(plain[0], told[0])


def test_recurrent_layers_are_those_with_a_hidden_size() -> None:
    assert {k for k in TRAITS if "hidden_size" in attribute_names(k)} == kinds_where(lambda t: t.gates)
    assert kinds_where(lambda t: t.activations) == kinds_where(lambda t: t.gates)


NEAR = (1e-10, 1e-6, 1e-3, 0.01, 0.3, 1.0 - 1e-8, 1.0 + 1e-8, 1.5, np.pi / 2 - 1e-5, 3.3, 12.0, 20.0)
STEP = 1e-9
"""The relative distance of two points near each of NEAR, to both sides of 0, at which slopes are taken."""


def largest_slope(kind: str, count: int, position: int, other: float) -> float:
    """The largest difference quotient by one input of float64, jumps left out."""
    x = np.array([s * n for s in (1, -1) for n in NEAR])
    inputs = [x if i == position else np.full_like(x, other) for i in range(count)]
    after = [x + STEP * np.abs(x) if i == position else v for i, v in enumerate(inputs)]
    one, two = (one_node(kind, v, np.float64).outputs for v in (inputs, after))
    if one is None or two is None or one[0].dtype != np.float64:
        return np.nan
    with np.errstate(invalid="ignore"):
        change = np.abs(two[0] - one[0])
    slopes = change[np.isfinite(change) & (change < 0.1)] / (STEP * np.abs(x))[np.isfinite(change) & (change < 0.1)]
    return float(np.max(slopes, initial=0.0))


def is_steep(kind: str) -> bool | None:
    """A slope by an input is large for some operands; None for operators of other dtypes."""
    formal = schema(kind)
    count = max(formal.least_inputs, 2 if formal.variadic else 1)
    found = [largest_slope(kind, count, i, other) for i in range(count) for other in (1e-3, 2.0, 1e4)]
    return None if np.isnan(found).all() else bool(np.nanmax(found) > 100)


ELEMENTWISE = sorted(kinds_where(lambda t: t.elementwise) - {"Where"})


@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_elementwise_operators_of_unbounded_slope_are_steep(kind: str) -> None:
    assert is_steep(kind) in {None, traits(kind).steep}


def test_functions_that_end_are_nan_beyond() -> None:
    x = np.array([-30.0, -2.0, -0.5, 0.5, 2.0, 30.0])
    of_one = [
        k for k in ELEMENTWISE if schema(k).least_inputs == 1 and not schema(k).variadic and is_steep(k) is not None
    ]
    made = {k: one_node(k, [x], np.float64).outputs for k in of_one}
    assert {k for k, y in made.items() if y is not None and np.isnan(y[0]).any()} == kinds_where(lambda t: t.partial)


def test_operators_with_windows_are_those_with_strides() -> None:
    """Col2Im has strides of windows that lie side by side already."""
    assert {k for k in TRAITS if "strides" in attribute_names(k)} - {"Col2Im"} == kinds_where(lambda t: t.windows)


def test_reductions_are_the_operators_of_axes_that_may_be_kept() -> None:
    named = {k for k in TRAITS if "keepdims" in attribute_names(k) and "axis" not in attribute_names(k)}
    assert named == kinds_where(lambda t: t.reduces)


def test_contractions_are_products_of_two_inputs_that_are_not_elementwise() -> None:
    """Those of integers are known by their names: the standard has one for each contraction of floats."""
    of_floats = {k for k, t in TRAITS.items() if not t.elementwise and t.terms and is_product(terms(k, 2)[0])}
    of_integers = {k for k in TRAITS if k.removesuffix("Integer").removeprefix("QLinear") in of_floats - {k}}
    others = {"BatchNormalization", "DequantizeLinear", "STFT"}
    assert of_floats | of_integers == kinds_where(lambda t: t.contracts) | others


def is_product(factors: Sequence[int]) -> bool:
    """Whether a term has several factors."""
    return len(factors) > 1


def unchanged(example: Example) -> bool | None:
    """Of the first input alone, with axes of size 1 where it is reduced, the result is that input."""
    formal = schema(example.kind) if example.kind in TRAITS else None
    if formal is None or not (formal.variadic or traits(example.kind).reduces) or has_body(example):
        return None
    if example.inputs[0] is None or example.inputs[0].dtype.kind not in "fiu" or example.inputs[0].ndim < 1:
        return None
    x = example.inputs[0][:1] - 3 if traits(example.kind).reduces else example.inputs[0]
    if traits(example.kind).reduces:
        x = x.reshape(1, -1)
        if x.dtype.kind == "f" and x.size:
            x[0, 0] = -np.inf
        made = one_node(example.kind, [x, np.array([0])], x.dtype, keepdims=1).outputs
    else:
        made = one_node(example.kind, [x], x.dtype, **({"axis": 0} if "axis" in formal.attributes else {})).outputs
    return made is not None and same(made[0], x)


def test_of_one_element_these_give_that_element() -> None:
    check(unchanged, lambda t: t.same_of_one)


def compared(example: Example) -> str:
    """Which comparison of two arrays the results are: by the smaller and greater, and the equal ones."""
    a, b = np.array([1.0, 2.0, 3.0], np.float32), np.array([2.0, 2.0, 2.0], np.float32)
    made = one_node(example.kind, [a, b], np.bool_).outputs
    if made is None or made[0].dtype != np.bool_:
        return ""
    less, equal, greater = made[0]
    return "order" if less != greater else "equality" if equal != less else ""


def test_comparisons_are_of_order_where_less_and_greater_differ() -> None:
    binary = [k for k in TRAITS if len(schema(k).inputs) == 2 and k in examples()]
    assert {k: c for k in binary if (c := compared(examples()[k][0]))} == {
        k: t.compares for k, t in TRAITS.items() if t.compares
    }


def number_at_zero(kind: str) -> float | None:
    """The value at 0 that all examples of a function of one float have; None for other operators."""
    found = set()
    for example in examples()[kind]:
        x = example.inputs[0] if len(example.inputs) == 1 else None
        if x is not None and is_wide_enough(x) and x.size and example.outputs and is_wide_enough(example.outputs[0]):
            made = example.run([np.zeros_like(x)]) or [np.array(np.nan)]
            found.update(made[0].reshape(-1).tolist())
    (value,) = found if len(found) == 1 else (np.nan,)
    return float(value) if np.isfinite(value) else None


@pytest.mark.parametrize(
    "kind", sorted(kinds_where(lambda t: t.elementwise and not t.broadcasts) - {"CastLike", "Clip"})
)
def test_a_function_has_its_value_at_zero(kind: str) -> None:
    found, told = number_at_zero(kind), traits(kind).at_zero
    assert (found is None) == (told is None)
    assert found is None or abs(found - (told or 0.0)) < 1e-6


BOXES = {("MaxRoiPool", 1), ("RoiAlign", 1)}
"""Inputs that are boxes in a picture. The process ends where the picture is none of those that there are."""


def signed(example: Example, least: float) -> Iterator[Any]:
    """The first results for floats of both signs, negative ones, zeros and ones; no less than this."""
    draw = np.random.default_rng(11)
    if least < 0 and example.outputs is not None:
        yield np.ravel(example.outputs[0])[~np.isnan(np.ravel(example.outputs[0]))]
    for make in (
        lambda s: draw.normal(size=s),
        lambda s: -5 * np.abs(draw.normal(size=s)),
        lambda s: 9 * draw.random(s),
        np.zeros,
        np.ones,
    ):
        inputs = [
            np.maximum(make(x.shape), least).astype(x.dtype)
            if is_wide_enough(x) and (example.kind, i) not in BOXES
            else x
            for i, x in enumerate(example.inputs)
        ]
        found = example.run(inputs)
        if found is not None and is_wide_enough(found[0]):
            yield found[0][~np.isnan(found[0])]


def decides_signs(example: Example) -> bool:
    """Whether an example has floats as inputs and results, and no random operator."""
    row = traits(example.kind)
    if example.outputs is None or row.random or row.bodies or example.kind not in TRAITS:
        return False
    return is_wide_enough(example.outputs[0]) and any(map(is_wide_enough, example.inputs))


def least_sign(example: Example) -> str:
    """Return the sign of the results for floats of all signs."""
    found = np.concatenate([np.ravel(y) for y in signed(example, -np.inf)] or [np.array([-1.0])])
    return "" if not found.size else "positive" if np.all(found > 0) else "nonnegative" if np.all(found >= 0) else ""


def test_no_operator_but_these_gives_numbers_of_one_sign() -> None:
    order = ("", "nonnegative", "positive")
    found = {
        kind: min((least_sign(e) for e in of_kind if decides_signs(e)), key=order.index, default="")
        for kind, of_kind in examples().items()
    }
    assert {k: s for k, s in found.items() if s} == {k: t.sign for k, t in TRAITS.items() if t.sign}


def keeps_sign(example: Example) -> bool | None:
    """Of floats that are at least 0 the results are at least 0."""
    if not decides_signs(example) or traits(example.kind).sign or example.kind in {"RNN", "GRU", "LSTM"}:
        return None  # Activations of recurrent operators may be any.
    return all(np.all(y >= 0) for y in signed(example, 0.0))


def test_operators_that_keep_signs_give_no_negative_number_of_positive_ones() -> None:
    check(keeps_sign, lambda t: t.keeps_sign and not t.sign)


def same_rank(example: Example) -> bool | None:
    """The first result has as many axes as the first input."""
    if example.outputs is None or not example.inputs or example.inputs[0] is None or has_body(example):
        return None
    return traits(example.kind).broadcasts != "all" and example.outputs[0].ndim == example.inputs[0].ndim


def test_operators_keep_the_rank_whatever_it_is() -> None:
    """Operators that broadcast do where the first operand has as many axes as the others: not always."""
    found = having(same_rank)
    told = kinds_where(lambda t: t.keeps_rank)
    assert {k for k, does in found.items() if does and k in TRAITS} == told


def test_inputs_with_a_number_for_each_axis_are_that_long() -> None:
    for kind in sorted(kinds_where(lambda t: t.per_axis)):
        for example in examples()[kind]:
            for i in traits(kind).per_axis:
                x = example.inputs[i] if i < len(example.inputs) else None
                if x is not None and x.size and "axes" not in example.attributes and len(example.inputs) < 4 + (i > 1):
                    assert x.size == example.inputs[0].ndim * (2 if kind == "Pad" else 1), example.name


NOT_ALONG = frozenset(
    {"Compress", "ConcatFromSequence", "DequantizeLinear", "Flatten", "OneHot", "QuantizeLinear", "Unique"}
)
"""Operators with an attribute `axis` that may be left out, that is one of the result, or that is not always read."""


def test_operators_along_an_axis_are_those_with_the_attribute_but_for_some() -> None:
    assert {k for k in TRAITS if "axis" in attribute_names(k)} == kinds_where(lambda t: t.along) | NOT_ALONG


def sizes_change(example: Example, position: int) -> bool:
    """Other values of an input give results of other sizes."""
    for x in changes(example.inputs[position]):
        found = example.run([x if i == position else v for i, v in enumerate(example.inputs)])
        if found is not None and [a.shape for a in found] != [a.shape for a in example.outputs or []]:
            return True
    return False


@pytest.mark.parametrize("kind", [k for k in OF_TENSORS if k not in {"Scan", "Loop", "If"}])
def test_sizes_depend_on_no_other_inputs(kind: str) -> None:
    decided = [e for e in examples()[kind] if e.outputs is not None]
    found = {i for e in decided for i, x in enumerate(e.inputs) if x is not None and x.size and sizes_change(e, i)}
    most = max((len(e.inputs) for e in decided), default=0)
    assert found <= set(sized_by(kind, most)) or traits(kind).ragged


def test_results_that_differ_in_size_by_data_do_in_an_example() -> None:
    """Only files of pictures are left out."""
    for kind in kinds_where(lambda t: t.ragged) - {"ImageDecoder"}:
        assert any(sizes_change(e, i) for e in examples()[kind] for i, x in enumerate(e.inputs) if x is not None), kind


@pytest.mark.parametrize("kind", sorted(kinds_where(lambda t: t.sizes)))
def test_inputs_that_decide_sizes_do_or_are_refused_in_an_example(kind: str) -> None:
    for i in sized_by(kind, len(schema(kind).inputs)):
        there = [e for e in examples()[kind] if i < len(e.inputs) and e.inputs[i] is not None]
        assert not there or any(sizes_change(e, i) or reads(e, i) for e in there), i
