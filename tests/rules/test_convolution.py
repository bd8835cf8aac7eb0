"""Derivatives of convolutions."""

from typing import Any

import pytest

import primsplit as ps
from primsplit.ops import op
from tests.recording import kinds
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of


@pytest.mark.parametrize("row", rows_of("convolution"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)


@pytest.mark.parametrize(
    ("image", "weights", "attributes", "kind"),
    [
        ([8, 4, 9, 9], [5, 4, 1, 1], {}, "Conv"),
        ([1, 4, 8, 8], [5, 4, 1, 1], {}, "ConvTranspose"),  # few windows: the weights are not transposed
        ([1, 4, 9, 9], [5, 4, 1, 1], {}, "Conv"),
        ([8, 4, 9, 9], [4, 1, 3, 3], {"group": 4}, "Conv"),
        ([8, 4, 9, 9], [4, 1, 3, 3], {"group": 4, "pads": [2, 2, 2, 2]}, "Conv"),
        ([8, 4, 9, 9], [4, 1, 3, 3], {"group": 4, "pads": [0, 0, 3, 0]}, "ConvTranspose"),  # it cuts
        ([8, 4, 9, 9], [4, 1, 3, 3], {"group": 4, "strides": [1, 2]}, "ConvTranspose"),
        ([8, 4, 9, 9], [5, 4, 3, 3], {}, "ConvTranspose"),
    ],
)
def test_the_cotangent_of_an_image_is_a_convolution_by_flipped_weights_where_that_is_faster(
    image: list[int], weights: list[int], attributes: dict[str, Any], kind: str
) -> None:
    specs = ps.spec("float32", image), ps.spec("float32", weights)
    made = ps.split(lambda x, w: op.Conv(x, w, **attributes), *specs, wrt="x")
    assert {"Conv", "ConvTranspose"} & {*kinds(made.pullback)} == {kind}
