"""The placeholder of a name that may be unassigned: any use of it is refused."""

import pytest

from primsplit.frontends.python.conversion.missing import NotAssigned, is_missing, read, told
from primsplit.tracing.branching.paths import NotJoined

AT = ("model.py", 7)


def test_reading_a_name_that_may_be_unassigned_is_refused_at_the_statement_with_its_reason() -> None:
    for use in (read, told, bool, lambda value: value == 1, lambda value: value != 1):
        with pytest.raises(NotJoined, match="no value on one side") as raised:
            use(NotAssigned(AT, "it has no value on one side"))
        assert raised.value.at == AT


@pytest.mark.parametrize("value", [0, None, False, "", [], 2.5], ids=repr)
def test_another_value_is_itself(value: object) -> None:
    assert read(value) is value
    assert told(value) is value
    assert not is_missing(value)


def test_the_placeholder_may_be_a_key() -> None:
    placeholder = NotAssigned(AT)
    assert is_missing(placeholder)
    assert [*{placeholder: 1}.values()] == [1]
