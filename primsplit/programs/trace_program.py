"""Record a function as a Program: on specs of its arguments, every way through its branches or one."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple, get_args

import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Const, Type, Var, same_data, walk
from primsplit.ir.caching.counters import Counters
from primsplit.ir.errors import FrozenArrayWarning, Place, PrimsplitError, SpecError, warn_at
from primsplit.ir.names import kept_apart
from primsplit.ir.notation.literals import bytes_text
from primsplit.ir.passes import imported, ops_inside_from
from primsplit.programs.binding import ARRAY
from primsplit.programs.carried import Carried
from primsplit.programs.examples import Examples, Way, example_sets
from primsplit.programs.frozen_numbers import frozen_numbers_told
from primsplit.programs.labels import input_names, output_names
from primsplit.programs.program import Program
from primsplit.tracing import trees
from primsplit.tracing.branching.users_errors import tell_caller
from primsplit.tracing.calls.recorded import StandIn, merged
from primsplit.tracing.frames import explored_keeping
from primsplit.tracing.functionlike import require_function, unbound
from primsplit.tracing.specs import leaf_type, may_be
from primsplit.tracing.states import State

Function = Callable[..., Any]

Freeze = Literal["allow", "error"]
"""The treatment of an array from outside of the function: it becomes part of the program, or is refused."""

Branches = Literal["explore", "error", "guard", "static"]
"""The treatment of a Python branch on a traced value.

It records every path, none, the paths that examples took, or only the path that the arguments take.
"""


class Told(NamedTuple):
    """Whether branches are explored, and arrays for each leaf that decide the ways to explore: one set or several.

    And whether the function is a transform of the user's.
    """

    explores: bool
    examples: Sequence[Sequence[npt.NDArray[Any] | None]] = ()
    is_transform: bool = False


LARGE = 2**26
"""An array from outside of so many bytes or more is reported."""


def trace_program(
    function: Function,
    args: Sequence[Any],
    named: Mapping[str, Any],
    name: str = "",
    *,
    branches: Branches = "explore",
    named_like: Function | None = None,
    last: str = "",
    freeze: Freeze = "allow",
    counted: bool = True,
    ways: Sequence[Way] = (),
    of: Function | None = None,
) -> Program:
    """Trace `function` on specs: arrays, Types, annotations; other leaves are static arguments. `counted` as a trace.

    With branches="guard" it is recorded for the ways that `ways` took, and the one that the arguments take; with
    "static" for the one way that `ways` took, if the arguments are specs.

    Inputs are named after the parameters of `named_like`, by default of `function`; see `labels.input_names` for
    `last`. `of` is the user's function, if `function` is a transform of it.

    Raises what the function raises, TraceError for what a recording cannot hold.
    """
    if isinstance(function, Program):
        return _of_its_types(function, trees.in_parts((tuple(args), dict(named)))[0], named)
    require_function(function)
    check_option("branches", branches, get_args(Branches))
    check_option("freeze", freeze, get_args(Freeze))
    leaves, spec = trees.in_parts((tuple(args), dict(named)))
    labels = input_names(function if named_like is None else named_like, spec, last)
    Counters.traces += counted

    def call(given: Sequence[Any]) -> Any:
        positional, keywords = trees.unflatten(spec, given)
        return function(*positional, **keywords)

    own = Way(tuple(leaves), spec)
    sets = example_sets(own, ways if branches == "guard" or ways else None) if branches in {"guard", "static"} else ()
    told = Told(branches != "error", sets, is_transform=of is not None and of is not function)
    with frozen_numbers_told(function if of is None else of, leaves):
        return _program_of(name or _name(function), call, leaves, spec, labels, told=told, freeze=freeze)


REPORTS = (
    imported("ir.analysis.unrolled.report_unrolled", has=ops_inside_from(500)),
    imported("ir.analysis.promotions.report_promotions", "Cast"),
)
"""What warns of a recorded program."""


def _program_of(
    name: str,
    call: Callable[[Sequence[Any]], Any],
    leaves: Sequence[Any],
    spec: trees.TreeSpec,
    labels: Sequence[str],
    *,
    told: Told,
    freeze: Freeze,
) -> Program:
    """Return the program of a call on leaves; those with a type are inputs with names from `labels`."""
    types = [leaf_type(x) for x in leaves]
    block, result_spec, states = _record(name, call, leaves, types, labels, told)
    for report in REPORTS:
        report(block)
    constants = _outside_constants(block, freeze)
    carried = _carried(states)
    inputs = [n for n, t in zip(labels, types, strict=True) if t is not None]
    outputs = output_names(result_spec, labels)
    return Program(
        block,
        initializers=_params(constants),
        inputs=[*inputs, *(c.input for c in carried)],
        outputs=[*outputs, *(c.output for c in carried if c.output is not None)],
        arguments=spec,
        result=result_spec,
        static=[x if t is None else ARRAY for x, t in zip(leaves, types, strict=True)],
        states=carried,
    )


def _carried(states: Mapping[State, bool]) -> list[Carried]:
    """Return the pairs of inputs and results of states, with a result for those that are True.

    The second of two slots of one name is numbered; slots that were created together have the same number.
    """
    groups: dict[tuple[object, str], list[str]] = {}
    for state in states:
        groups.setdefault((state.owner, state.name.partition(".")[0]), []).append(state.name)
    numbered = dict(zip(groups, _numbered_stems([(stem, own) for (_, stem), own in groups.items()]), strict=True))
    stems = (numbered[s.owner, s.name.partition(".")[0]] for s in states)
    names = kept_apart("".join([stem, *s.name.partition(".")[1:]]) for stem, s in zip(stems, states, strict=True))
    return [
        Carried(state, f"state.{name}.in", f"state.{name}.out" if is_written else None, state)
        for name, (state, is_written) in zip(names, states.items(), strict=True)
    ]


def _numbered_stems(groups: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the first part of the names of each group, numbered if one of its names is another group's too."""
    given = {name for _, own in groups for name in own}
    taken: set[str] = set()
    stems = []
    for stem, own in groups:
        for number in count():
            chosen = f"{stem}_{number}" if number else stem
            names = {chosen + name.removeprefix(stem) for name in own}
            if names.isdisjoint(taken | given if number else taken):
                break
        taken |= names
        stems.append(chosen)
    return stems


def _of_its_types(program: Program, leaves: Sequence[Any], named: Mapping[str, Any]) -> Program:
    """Return the program for the ranks of these leaves. Raises SpecError for leaves that its inputs cannot be.

    A Python number takes the dtype of its input.
    """
    types = [leaf_type(x) for x in leaves]
    found = program.of_ranks(types)
    unfit = (
        f"{name} is {own}, not {given}"
        for name, own, leaf, given in zip(found.inputs, found.types, leaves, types, strict=False)
        if given is not None and not isinstance(leaf, int | float | complex) and not may_be(given, own)
    )
    if (told := next(unfit, None)) is not None or named or len(leaves) > len(found.inputs):
        raise SpecError(
            f"{program.block.name} has its inputs already: {told or ', '.join(found.inputs)}",
            place=tracing.user_place(),
            cure="For other types of them, trace a function that calls it: lambda x: program(x).",
        )
    return found


def _record(
    name: str,
    call: Callable[[Sequence[Any]], Any],
    leaves: Sequence[Any],
    types: Sequence[Type | None],
    labels: Sequence[str],
    told: Told,
) -> tuple[Block, trees.TreeSpec, dict[State, bool]]:
    """Return the block of a call on leaves, those with a type its parameters, and the structure of the result.

    The states that it meets are further parameters, and those that it writes to, which are True, further results.
    """
    with tracing.fresh_stack(), tracing.recording(explores=told.explores) as recorded:
        params = [None if t is None else recorded.param(t, n) for t, n in zip(types, labels, strict=True)]
        known: dict[Var, npt.NDArray[Any]] = {}
        if told.examples:
            recorded.examples = Examples(known, [_by_param(params, row) for row in told.examples])
        given = [(p, StandIn.for_leaf(x, p.type)) for x, p in zip(leaves, params, strict=True) if p is not None]

        def run(handles: Sequence[Any]) -> Any:
            return call(merged(leaves, params, handles))

        try:
            found = explored_keeping(
                name,
                given,
                lambda handles: call(merged(leaves, params, handles)),
                known,
                is_transform=told.is_transform,
            )
        except PrimsplitError as error:
            tell_caller(error)
            raise error.with_traceback(tracing.users_frames(error.__traceback__)) from error.__cause__
        written = [found.written[state] for state in found.params if state in found.written]
        results = [a.value for a in (*found.results, *written)]
    block = tracing.close(name, [*(p for p, _ in given), *found.params.values()], recorded, results)
    states = {state: state in found.written for state in found.params if isinstance(state, State)}
    return block, found.result, states


def _by_param(params: Sequence[Var | None], row: Sequence[npt.NDArray[Any] | None]) -> dict[Var, npt.NDArray[Any]]:
    return {p: x for p, x in zip(params, row, strict=True) if p is not None and x is not None}


def _outside_constants(block: Block, freeze: Freeze) -> list[Const]:
    """Return the arrays from outside of the function in its program; report large ones.

    Raises SpecError for one that is frozen, if that is to be an error.
    """
    inputs = (v for op in walk(block) for v in op.inputs)
    results = (v for op in walk(block) for inner in op.blocks() for v in inner.results)
    read = dict.fromkeys((*inputs, *results, *block.results))
    found = [v for v in read if isinstance(v, Const) and v.place is not None]
    if freeze == "error":
        _refuse_frozen(found)
    _report_large(found)
    return found


def _refuse_frozen(constants: Sequence[Const]) -> None:
    """Raise SpecError if an array was frozen into the program."""
    for const in constants:
        if not const.is_param:
            raise SpecError(
                f"an array, {const.type}, is frozen into the program",
                place=const.place,
                cure="Pass it as an argument, or name it in the function with ps.param(array, name).",
            )


def _report_large(constants: Sequence[Const]) -> None:
    """Warn, once for each of the user's lines, of arrays that make every file of the program large."""
    found: dict[Place, list[tuple[int, Const]]] = {}
    for const in constants:
        size = const.type.nbytes()
        if const.place is not None and not const.is_param and isinstance(size, int) and size >= LARGE:
            found.setdefault(const.place.whole_line, []).append((size, const))
    for place, rows in found.items():
        total = bytes_text(sum(size for size, _ in rows))
        one = f"an array of {total}, {rows[0][1].type}, becomes"
        what = one if len(rows) == 1 else f"{len(rows)} arrays of {total} in all become"
        told = (
            f"{what} part of the program, and of each file of it. "
            "Pass it as an argument, or name it in the function with ps.param(array, name)."
        )
        warn_at(place, told, FrozenArrayWarning)


def check_option(name: str, given: object, known: Sequence[str]) -> None:
    """Raise SpecError for another text than those known."""
    if given not in known:
        told = f"{name}={given!r} is none of {', '.join(map(repr, known))}"
        raise SpecError(told, place=tracing.user_place())


def _params(constants: Sequence[Const]) -> dict[str, Const]:
    """Return the parameters of the program by name. Raises SpecError if two have one name."""
    found: dict[str, Const] = {}
    for const in (c for c in constants if c.is_param):
        known = found.setdefault(const.hint, const)
        if known is not const and not same_data(known, const):
            raise SpecError(f"two parameters are called {const.hint}", place=const.place)
    return found


def _name(function: Function) -> str:
    called = unbound(function)
    name = getattr(called, "__name__", "") or type(called).__name__
    return name if name.isidentifier() else "program"
