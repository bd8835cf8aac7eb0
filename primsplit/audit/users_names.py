"""Find the values of a file that have a name of the user's: that of a variable, an input or an output."""

import re

from primsplit.audit.sections import FORWARD, part_told
from primsplit.audit.written import Written
from primsplit.ir import Var

EXPORTED = re.compile(r"(^|[/_.])[A-Z][A-Za-z]*(_\d+)?_output_\d+$|^([dt]_)?val_\d+$")
"""Matches the names that torch's exporter makes of operators and numbers: they are no one's variables."""


def users_names(file: Written) -> set[Var]:
    """Return the values that have a name of the user's, or an output's: the name of their node tells it.

    In a derivative, cotangents and tangents have names; another name there is that of the line's value.
    """
    sections = {op: s.name for s in file.sections for op in s.ops}
    results = {v for v in file.block.results if isinstance(v, Var)}
    found = {*results, *file.block.params}
    for op in file.ops():
        is_derived = sections.get(op, FORWARD) not in {FORWARD, ""} or bool(part_told(op))
        for var in op.outputs:
            own = file.names[var]
            if (
                f" {own}/" in file.nodes[op]
                and (not is_derived or own.startswith(("d_", "t_")) or own.endswith("_again"))
                and not EXPORTED.search(own)
            ):
                found.add(var)
    return found
