"""Each trait is true of the operators that have it and of no other, as running them shows.

An operator that no example decides is compared with nothing: that of one element, or that only files of images have.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx.defs
import pytest

from primsplit.ops.schema import OPSET, kinds, schema
from primsplit.ops.traits import IN_FILES, TRAITS, Traits, kinds_where, traits
from tests.ops.operators import Example, examples, same

Property = Callable[[Example], bool | None]
"""Whether an example has a property; None where it decides nothing."""


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


def test_what_is_no_operator_has_no_trait() -> None:
    assert traits("call::square") == Traits()


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
    if x.dtype.kind == "b":
        yield ~x
    elif x.dtype.kind in "OSU":
        yield np.array([f"{text}0" for text in x.reshape(-1)], x.dtype).reshape(x.shape)
    else:
        yield (x * 7 + x.dtype.type(3)).astype(x.dtype)


def reads(example: Example, position: int) -> bool:
    """True where other values of an input are seen in the results, or refused."""
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


@pytest.mark.parametrize("kind", sorted(TRAITS.keys() & examples().keys()))
def test_inputs_of_which_only_the_type_is_read_may_have_any_values(kind: str) -> None:
    assert {i for i in unread(kind) if (kind, i) not in NOT_READ_BY_ONNX} == set(traits(kind).reads_type)
