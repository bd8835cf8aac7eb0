"""Split a function, a Program or one op into forward pass and pullback, with names, and write them as ONNX files.

```
ps.split(lambda x, w: np.tanh(x @ w), ...)   ->   primal:   a = x @ w;  y = tanh(a)
                                                 pullback: d_a = d_y * (1 - y * y);  d_x = d_a @ w.T;  d_w = x.T @ d_a
```
"""

import inspect
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from primsplit.ir import Block, Op, Var, live_ops
from primsplit.ir.errors import SpecError
from primsplit.ir.names import Names, name_captures
from primsplit.ir.notation.listing import names_of
from primsplit.ir.parts import Split
from primsplit.ir.plain_text import in_one_line
from primsplit.ir.providers import GivenAs, Provenance, Provider
from primsplit.ir.zeros import with_gradients
from primsplit.programs.asked import Wrt, select_inputs, select_results, with_asked_params
from primsplit.programs.compiled import Compiled
from primsplit.programs.flat import flat_program
from primsplit.programs.forms import Form, save_in_form
from primsplit.programs.program import Program
from primsplit.programs.styles import list_split
from primsplit.programs.trace_program import Branches, Freeze, check_option, trace_program
from primsplit.programs.weights import merged_weights
from primsplit.rewrites.seed import with_unit_seeds
from primsplit.rules.activity import dead_ends
from primsplit.tracing.converting import method_of
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.specs import specs_from_annotations
from primsplit.transforms.cut import report_cut
from primsplit.transforms.idioms.rewritten import rewritten
from primsplit.transforms.policies import Policy, check_policy, recomputed, with_policy
from primsplit.transforms.split import split_whole

Zeros = Literal["materialize", "omit", "error"]
Seed = Literal["input", "ones"]


class SplitProgram:
    """The split of a Program: `primal`, `pullback`, `captures`, and the programs built from them.

    Names in the files: inputs keep theirs; a result `y` that is not a scalar loss gets a cotangent input `d_y`; outputs
    are the results, then `d_<input>` for each differentiated input. With `seeded`, every cotangent is ones and no
    input. `differentiated` are the positions of the inputs that have a gradient output. `policy` is which values the
    forward pass keeps.
    """

    second_file, second_function = "backward", "pullback"

    def __init__(
        self,
        program: Program,
        split: Split,
        *,
        seeded: bool,
        differentiated: Sequence[int],
        policy: Policy = "default",
    ) -> None:
        self.program = program
        self.seeded = seeded
        self.differentiated = tuple(differentiated)
        self.policy = policy
        self._captured = self.split = split
        if policy != "default":
            self.split = with_policy(split, policy, names=self._listed_names())

    def __repr__(self) -> str:
        differentiated = ", ".join(self.program.inputs[i] for i in self.split.wrt)
        return in_one_line(f"SplitProgram {self.program.block.name} wrt {differentiated}")

    def __deepcopy__(self, memo: dict[int, Any]) -> "SplitProgram":
        """Return the split itself, which is immutable."""
        return self

    @property
    def primal(self) -> Block:
        """The block from inputs to results."""
        return self.split.primal

    @property
    def pullback(self) -> Block:
        """The block from captures and cotangents to the inputs' cotangents."""
        return self.split.pullback

    @property
    def captures(self) -> tuple[Var, ...]:
        """The primal's values that the pullback reads."""
        return self.split.captures

    def capture_table(self) -> list[dict[str, Any]]:
        """A row per capture: name, kind (input, output, intermediate, shape), type, bytes stored for it, and the line.

        The line is `place`, its text `source`; both are empty for an input.
        """
        names, lines = self.capture_names(), _lines(self.split)
        return [
            {
                "name": names[c],
                "kind": kind,
                "type": str(c.type),
                "bytes": "0" if kind in {"input", "output"} else str(c.type.nbytes()),
                **lines[c],
            }
            for c, kind in self.split.kinds().items()
        ]

    def recomputed_table(self) -> list[dict[str, Any]]:
        """Return a row per value that the pullback recomputes, and would capture without the policy.

        `bytes` are those not stored for it, `operators` the number of ops that compute it from kept values, and `cost`
        their cost by element (see `costs`), None if one of them is never cheap.
        """
        names, kinds, lines = self._listed_names(), self._captured.kinds(), _lines(self._captured)
        return [
            {
                "name": names[var],
                "kind": kinds[var],
                "type": str(var.type),
                "bytes": str(var.type.nbytes()),
                "operators": count,
                "cost": cost if math.isfinite(cost) else None,
                **lines[var],
            }
            for var, count, cost in recomputed(self._captured, self.split, self.policy)
        ]

    def _listed_names(self) -> dict[Var, str]:
        """Return the name of every value in the listing of the split without a policy."""
        split = self._captured
        seeds = dict(zip(split.cotangents, self.cotangent_names, strict=True))
        return names_of(split.primal, split.pullback, given=self._names_of(split) | seeds).of

    def capture_names(self) -> dict[Var, str]:
        """Return the name of each capture: the input's, the output's, your variable's, or its operator's."""
        return self._names_of(self.split)

    def _names_of(self, split: Split) -> dict[Var, str]:
        taken = [*self.cotangent_names, *self.gradient_names]
        return name_captures(split.primal, split.captures, self.program.inputs, self.program.outputs, taken)

    @property
    def gradient_names(self) -> list[str]:
        """`d_<input>` of each differentiated input, numbered if an input or result has that name."""
        names = Names((*self.program.inputs, *self.program.outputs, *self.cotangent_names))
        return [names.give(Var(p.type), f"d_{n}") for p, n in self._differentiated()]

    def _differentiated(self) -> list[tuple[Var, str]]:
        return [(self.primal.params[i], self.program.inputs[i]) for i in self.differentiated]

    def zero_table(self) -> list[dict[str, Any]]:
        """Return a row per gradient that is always 0: its name, the input's, and the operators that it acts `through`.

        Those are the operators through which alone it reaches the results, and which do not vary smoothly with it.
        """
        live = live_ops(self.primal.ops, [self.primal.results[i] for i in self.split.of])
        found = zip(self.differentiated, self.gradient_names, self._differentiated(), strict=True)
        return [
            {
                "name": gradient,
                "input": name,
                "through": list(dict.fromkeys(map(_told, dead_ends(live, param)))),
            }
            for position, gradient, (param, name) in found
            if position not in self.split.targets
        ]

    def merged_table(self) -> list[dict[str, Any]]:
        """A row per differentiated weight that may be several parameters in one initializer: see `merged_weights`."""
        names = {self.program.inputs[i] for i in self.differentiated}
        defaults = {name: value for name, value in self.program.defaults.items() if name in names}
        return merged_weights(self.program.block, self.program.inputs, defaults)

    @property
    def cotangent_names(self) -> list[str]:
        """`d_<result>` of each result that has a cotangent, numbered if an input or result has that name."""
        names = Names((*self.program.inputs, *self.program.outputs))
        given = zip(self.split.of, self.split.cotangents, strict=True)
        return [names.give(c, f"d_{self.program.outputs[i]}") for i, c in given]

    @property
    def seed_names(self) -> list[str]:
        """The names of the cotangents that are inputs of the joint program."""
        return [] if self.seeded else self.cotangent_names

    def joint(self) -> Program:
        """Return one program: inputs (and cotangents) in; results and gradients out."""
        block = with_gradients(self.split, self.split.joint(), self.differentiated)
        if self.seeded:
            block = with_unit_seeds(block, dict(zip(self.split.cotangents, self.split.of, strict=True)))
        inputs = [*self.program.inputs, *self.seed_names]
        lead = len(self.program.outputs)
        gradients = range(lead, lead + len(self.gradient_names))
        outputs = [*self.program.outputs, *self.gradient_names]
        program = self.program
        return flat_program(block, inputs, outputs, gradients, program.defaults, program.states, self._pairs())

    def _pairs(self) -> list[tuple[str, str]]:
        """Return the names of both parts of each complex input, cotangent, result and gradient."""
        program = self.program
        named = {program.inputs[i]: n for i, n in zip(self.differentiated, self.gradient_names, strict=True)}
        seeds = {program.outputs[i]: n for i, n in zip(self.split.of, self.cotangent_names, strict=True)}
        given, made = program.complex_inputs, program.complex_outputs
        derived = [(n[a], n[b]) for n, pairs in ((named, given), (seeds, made)) for a, b in pairs if {a, b} <= n.keys()]
        return [*given, *made, *derived]

    @property
    def forward(self) -> Program:
        """The primal, which also returns the captures that are neither inputs nor results."""
        names = self.capture_names()
        program = self.program
        outputs = [*program.outputs, *(names[c] for c in self.split.stored())]
        return flat_program(self.split.forward, program.inputs, outputs, (), program.defaults, program.states)

    @property
    def backward(self) -> Program:
        """The pullback: captures and cotangents in, gradients out. Inputs keep the names they have in `forward`.

        Cotangents of arrays are inputs here, whatever `seeded` says: a backward file works for any of them.
        """
        names = self.capture_names()
        block = with_gradients(self.split, self.split.pullback, self.differentiated)
        shapes = [p for p in block.params if p not in self.split.pullback.params]
        seeds = dict(zip(self.split.cotangents, self.cotangent_names, strict=True))
        if self.seeded:
            numbers = {c: i for c, i in zip(seeds, self.split.of, strict=True) if c.type.shape == ()}
            block = with_unit_seeds(block, numbers)
        kept = [n for c, n in seeds.items() if c in block.params]
        inputs = [*(names[c] for c in self.captures), *kept, *(names[p] for p in shapes)]
        gradients = range(len(self.gradient_names))
        return flat_program(block, inputs, self.gradient_names, gradients, self.program.defaults)

    def passes(self) -> tuple[Program, Program]:
        """Return the forward and the backward program."""
        return self.forward, self.backward

    def listing(self, style: str = "text") -> str:
        """Return the primal and the pullback, with captures and the source of each line.

        `style` as in `Program.listing`.
        """
        seeds = dict(zip(self.split.cotangents, self.cotangent_names, strict=True))
        return list_split(self.split, self.capture_names() | seeds, style)

    def _repr_html_(self) -> str:
        """Return the listing as notebooks show it."""
        return self.listing("fragment")

    def save(
        self,
        path: str | os.PathLike[str],
        form: Form = "joint",
        provider: Provider = "cpu",
        weights: GivenAs = "inputs",
        target: str | None = None,
        provenance: Provenance = "full",
    ) -> list[str]:
        """Write one file, or for `form="split"` `<stem>.forward.onnx` and `<stem>.backward.onnx`; return the paths.

        `provider` is the execution provider of onnxruntime that they are for, "cpu" or "cuda". Differentiated weights
        are inputs; with `weights="defaults"` they keep their numbers, for runs that give none (onnxruntime for
        JavaScript then takes no others). `target` and `provenance` are those of `Program.to_onnx`. Two files appear
        together or not at all. Raises FileError, SpecError for another form, provider, target, way to take weights or
        provenance.
        """
        return save_in_form(self, os.fspath(path), form, provider, weights, target, provenance)


def _told(op: Op) -> str:
    return f"{op.kind.removeprefix('call::')} at {op.place}"


def _lines(split: Split) -> dict[Var, dict[str, str]]:
    """Return the place in the user's program of each value, and the text of that line."""
    found = {param: {"place": "", "source": ""} for param in split.primal.params}
    for op in split.primal.ops:
        line = op.line
        told = {"place": "" if line is None else str(line), "source": "" if line is None else line.source}
        found.update(dict.fromkeys(op.outputs, told))
    return found


def trace(
    function: Callable[..., Any] | Program,
    *specs: Any,
    branches: Branches = "explore",
    freeze: Freeze = "allow",
    **named: Any,
) -> Program:
    """Trace a function on specs: arrays, `ps.spec(...)`, or nothing if its annotations say them.

    Leaves that are neither arrays, specs nor floats are static arguments. The fields of a callable dataclass are inputs
    too, named `self.W`. Python branches on traced values are followed both ways; with `branches="error"` they are
    refused, with "static" followed the way of the arrays given as specs, with "guard" also each way that a function of
    `ps.guarded` recorded before, for specs of any sizes. A run that would go another way fails with a BranchError: a
    Program, like its file, records nothing more. With `freeze="error"`, an array from outside that is no `ps.param` is
    refused. The program has states of its own, which start at their initial values. A Program is returned as it is.

    Raises SpecError for a missing spec, or one that a Program does not take.
    """
    if isinstance(function, Program):
        return trace_program(function, specs, named)
    if not specs and not named:
        specs = specs_from_annotations(function)
    if hasattr(type(function), "__dataclass_fields__"):
        name = type(function).__name__
        call = called(type(function))
        made = trace_program(call, (function, *specs), named, name, branches=branches, freeze=freeze)
    else:
        ways = function.ways() if isinstance(function, Compiled) else ()
        made = trace_program(function, specs, named, branches=branches, freeze=freeze, ways=ways)
    return made.with_own_states()


def converted_source(function: Callable[..., Any]) -> str:
    """Return the text of a function's converted copy, which is traced where the function itself cannot be recorded.

    In it, calls, elements, attributes, operators and loops ask operators of this package, under the name `_ps`. Raises
    SpecError for a function whose source cannot be read.

    >>> print(ps.converted_source(lambda x, table: table[x] + 1))
    lambda x, table: _ps.add(_ps.indexed(table)[x], 1)
    """
    return HOOKS.converted_source(function)


def called(kind: Any) -> Callable[..., Any]:
    """Return the function of an instance of a callable dataclass and its arguments."""

    def call(self: Callable[..., Any], *args: Any, **named: Any) -> Any:
        return method_of(self, "__call__")(*args, **named)

    call.__signature__ = inspect.signature(kind.__call__)  # type: ignore[attr-defined]
    return call


def split(
    function: Callable[..., Any] | Program,
    *specs: Any,
    wrt: Wrt = None,
    of: Any = None,
    zeros: Zeros = "materialize",
    seed: Seed = "input",
    policy: Policy = "default",
    **named: Any,
) -> SplitProgram:
    """Split a function or Program with respect to inputs, for cotangents of results.

    A complex input `z` is two, `z.real` and `z.imag`, which `wrt="z"` names both, and so is a complex result: their
    gradients and cotangents are those of real arrays, dL/dRe z and dL/dIm z.

    `wrt` names arguments by position or name, or inputs by their name in the file (`params.w`, `state.m.in`); by
    default every floating-point argument. `of` names results; by default every floating-point one that is not a state.
    A single scalar result is seeded with 1; the cotangents of other results are inputs, or ones with `seed="ones"`.
    Inputs that the results do not depend on get zeros, no output (`zeros="omit"`), or a SpecError (`zeros="error"`).
    `policy` is which values the forward pass keeps for the pullback, which recomputes the rest: "save_all",
    "recompute_cheap", "nothing", names of values, or a function of an op; see `policies`. Raises MissingRule at the
    user's line, SpecError for names that do not exist.

    >>> made = ps.split(lambda x, w: np.tanh(x @ w), ps.spec("float32", ["N", 3]), ps.spec("float32", [3]), wrt="w")
    >>> [row["kind"] for row in made.capture_table()], made.joint().inputs, made.joint().outputs
    (['output', 'input'], ('x', 'w', 'd_y'), ('y', 'd_w'))
    """
    check_option("zeros", zeros, get_args(Zeros))
    check_option("seed", seed, get_args(Seed))
    check_policy(policy)
    program = with_asked_params(trace(function, *specs, **named), wrt)
    positions = select_inputs(program, wrt)
    results = select_results(program, of)
    report_cut(program.block, positions, results)
    made = split_whole(rewritten(program.block, positions, results), positions, results)
    own = [program.block.results[i].type for i in program.returned]
    seeded = seed == "ones" or (results == program.returned and len(own) == 1 and own[0].shape == ())
    unconnected = [program.inputs[i] for i in made.wrt if i not in made.targets]
    if zeros == "error" and unconnected:
        raise SpecError(f"the results do not depend on {', '.join(unconnected)}", cure="Leave it out of wrt.")
    differentiated = made.targets if zeros == "omit" else made.wrt
    return SplitProgram(program, made, seeded=seeded, differentiated=differentiated, policy=policy)
