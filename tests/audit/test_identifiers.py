"""Names of a file as names of Python."""

from primsplit.audit.identifiers import Identifiers


def test_names_are_identifiers_that_hide_nothing() -> None:
    names = Identifiers(["captures"])
    wanted = ["params.layer1.w", "params_layer1_w", "lambda", "max", "np", "captures", "_stack", "3d", "", "max"]
    found = [names.give(name) for name in wanted]
    assert found == [
        "params_layer1_w", "params_layer1_w_1", "lambda_", "max_", "np_", "captures_1", "stack", "value_3d", "value",
        "max_1",
    ]  # fmt: skip
    assert all(name.isidentifier() for name in found)
