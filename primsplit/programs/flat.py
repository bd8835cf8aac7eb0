"""Build programs of flat arguments, as in files: the passes of a derivative, and both as one."""

from collections.abc import Mapping, Sequence

from primsplit.ir import Block, Const
from primsplit.programs.binding import ARRAY
from primsplit.programs.carried import Carried
from primsplit.programs.program import Program
from primsplit.programs.wholes import flat_tree
from primsplit.tracing import trees


def flat_program(
    block: Block,
    inputs: Sequence[str],
    outputs: Sequence[str],
    gradients: Sequence[int] = (),
    defaults: Mapping[str, Const] | None = None,
    states: Sequence[Carried] = (),
    pairs: Sequence[tuple[str, str]] = (),
) -> Program:
    """Return a program of flat arguments: arrays in the order of `inputs`, and a tuple of results, except `states`.

    Their values are its own. Two inputs or outputs that are `pairs` are one complex array each.
    """
    carried = {name for c in states for name in (c.input, c.output)}
    given = [name for name in inputs if name not in carried]
    return Program(
        block,
        inputs=inputs,
        outputs=outputs,
        arguments=trees.flatten((flat_tree(given, pairs), {}))[1],
        result=trees.flatten(flat_tree([name for name in outputs if name not in carried], pairs))[1],
        static=[ARRAY] * len(given),
        gradients=gradients,
        defaults={name: value for name, value in (defaults or {}).items() if name in inputs},
        states=[c.own() for c in states],
    )
