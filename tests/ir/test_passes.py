"""A pass by its name is imported when it runs, and groups of operators say which blocks it is for."""

import subprocess
import sys

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.passes import groups, has_each, pass_named


def test_a_pass_is_imported_when_it_first_runs() -> None:
    code = (
        "import sys, numpy as np, primsplit as ps; from primsplit.ir.passes import imported;"
        "run = imported('rewrites.log_sums.join_logarithms'); name = 'primsplit.rewrites.log_sums';"
        "block = ps.trace(np.sin, ps.spec('float64', [3])).block;"
        "print(name in sys.modules, run(block) is block, name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_a_name_that_no_module_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="join_logarithm"):
        pass_named("rewrites.log_sums.join_logarithm")


@pytest.mark.parametrize(
    ("kinds", "fits"),
    [
        ("", True), ("Log", True), ("Log Sin", False), ("Sin|Log", True), ("Reduce*", True), ("Log*", True),
        ("Scan|Reduce* Log", True), ("Arg*", False), ("log", False),
    ],
)  # fmt: skip
def test_a_block_fits_where_it_has_an_operator_of_each_group(kinds: str, fits: bool) -> None:
    block = ps.trace(lambda x: np.sum(np.log(x)), np.ones(3)).block
    assert has_each(block, groups(kinds)) is fits


def test_the_operators_of_branches_count() -> None:
    block = ps.trace(lambda x: ps.cond(x > 0, np.sin, np.cos, x), np.ones(())).block
    assert has_each(block, groups("If Sin Cos"))
    assert not has_each(block, groups("If Tan"))
