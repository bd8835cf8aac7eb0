"""Every operator of the standard is batched in exactly one way."""

from primsplit.ops.schema import kinds, schema
from primsplit.ops.traits import kinds_where
from primsplit.transforms.batching.table import BATCHING, FLOOR, REFUSED, SHARED, forms
from tests.transforms.batching.rows import ROWS

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
"""test_random.py has them: they give other numbers each time."""
BLOCKS = {"If", "Loop", "Scan"}
"""test_control.py has them."""
TEXTS = {"RegexFullMatch", "StringConcat"}
"""The inputs of a program are numbers."""
WITHOUT_ROW = RANDOM | BLOCKS | TEXTS


def test_an_operator_is_batched_in_exactly_one_way() -> None:
    assert {kind: found for kind in kinds() if len(found := forms(kind)) != 1} == {}


def test_the_tables_name_operators_of_the_standard_only() -> None:
    assert sorted({*BATCHING, *FLOOR, *REFUSED, *SHARED} - set(kinds())) == []


def test_every_operator_that_has_a_batch_is_tried_in_one() -> None:
    assert sorted({*BATCHING, *FLOOR} - WITHOUT_ROW - {row.kind for row in ROWS}) == []


def test_an_operator_that_all_examples_share_has_no_other_inputs_than_those_of_sizes() -> None:
    assert {kind for kind in SHARED if schema(kind).inputs} == kinds_where(lambda t: t.sizes == "all")
