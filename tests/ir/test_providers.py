"""The providers and the ways to take weights that files are written for."""

from collections.abc import Callable

import pytest

from primsplit.ir.errors import SpecError
from primsplit.ir.providers import check_given_as, check_provider


@pytest.mark.parametrize(
    ("check", "known", "message"),
    [
        (check_provider, ["cpu", "cuda"], "provider={!r} is none of cpu, cuda"),
        (check_given_as, ["inputs", "defaults"], "weights={!r} is none of inputs, defaults"),
    ],
)
def test_known_names_pass_and_others_are_refused(
    check: Callable[[object], None], known: list[str], message: str
) -> None:
    for name in known:
        check(name)
    for other in ("CPU", "", None, ["cpu"], 1):
        with pytest.raises(SpecError) as caught:
            check(other)
        assert str(caught.value) == message.format(other)
