"""Names in texts of rows, and the rows that define them."""

import pytest

from primsplit.audit.page.links import Links


def found(text: str, row: int, assigned: tuple[str, ...] = (), **rows: list[int]) -> list[tuple[str, int]]:
    """Return the linked names of a text with the rows that they lead to."""
    links = Links()
    for name, defined in rows.items():
        for each in defined:
            links.define([name], each)
    flat = links.find(text, row, assigned)
    return [(text[flat[i] : flat[i] + flat[i + 1]], flat[i + 2]) for i in range(0, len(flat), 3)]


def test_a_name_leads_to_the_row_that_defines_it() -> None:
    assert found("y = np.sum(hidden)", 5, ("y",), y=[5], hidden=[2]) == [("y", 5), ("hidden", 2)]


def test_a_name_that_is_defined_twice_leads_to_the_last_row_before() -> None:
    assert found("z = h + 1", 5, h=[1, 3, 7]) == [("h", 3)]


def test_a_name_that_a_later_step_defines_leads_there() -> None:
    assert found("z = h + 1", 2, h=[7]) == [("h", 7)]


def test_a_variable_that_reads_itself_leads_to_its_last_value() -> None:
    assert found("h = np.tanh(h)", 4, ("h",), h=[1, 4]) == [("h", 4), ("h", 1)]


@pytest.mark.parametrize(
    "text",
    ["np.sum(a, axis=0)", "x.axis", "f('axis')", 'f("the axis")', "np.axis(1)", "axis_1 + 2"],
)
def test_arguments_attributes_and_quoted_texts_are_no_names(text: str) -> None:
    assert found(text, 5, axis=[1]) == []


def test_the_attribute_of_a_name_is_no_part_of_it_unless_the_file_calls_it_so() -> None:
    assert found("y = w.T", 5, w=[1]) == [("w", 1)]
    assert found("y = MatMul(x, params.w)", 5, **{"params.w": [1], "params": [0]}) == [("params.w", 1)]


def test_a_quoted_name_of_a_listing_is_one_name() -> None:
    assert found("y = Relu(`layer 1/out`)", 5, **{"`layer 1/out`": [1]}) == [("`layer 1/out`", 1)]


def test_the_variables_of_a_loop_are_defined_at_its_head() -> None:
    assert found("for x_t, y_t in zip(x_t, y):", 5, ("x_t", "y_t"), x_t=[0, 5], y_t=[5]) == [
        ("x_t", 5),
        ("y_t", 5),
        ("x_t", 0),
    ]
