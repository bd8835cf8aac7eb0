"""A Program with its tangent program: `PushedProgram`, and the programs and files built from it.

```
y = tanh(x)   ->   forward: y = tanh(x), captures y;   linear: t_y = (1 - y * y) * t_x
```
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value, Var
from primsplit.ir.errors import DtypeError
from primsplit.ir.names import Names, name_captures
from primsplit.ir.providers import GivenAs, Provenance, Provider
from primsplit.ir.zeros import zeros_op
from primsplit.programs.binding import ARRAY
from primsplit.programs.called import inline_block
from primsplit.programs.carried import run_carrying
from primsplit.programs.flat import flat_program
from primsplit.programs.forms import Form, save_in_form
from primsplit.programs.out import arrays_of, refuse_traced
from primsplit.programs.prepared import ARRAYS
from primsplit.programs.program import Program
from primsplit.programs.styles import list_blocks
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.specs import check_array
from primsplit.transforms.cut import report_cut
from primsplit.transforms.forward import match_tangents, tangent_leaves
from primsplit.transforms.tangents.pushforward import Pushforward, push_whole


class PushedProgram:
    """A Program and its tangent program: `primal`, `tangent`, `captures`, and the programs built from them.

    Names in the files: inputs and results keep theirs; the tangent of an input or result `x` is `t_x`.
    """

    second_file, second_function = "linear", "tangent"

    def __init__(self, program: Program, pushed: Pushforward) -> None:
        self.program = program
        self.pushed = pushed

    @property
    def primal(self) -> Block:
        """The block from inputs to results, with the captures of the tangent program."""
        return self.pushed.primal

    @property
    def tangent(self) -> Block:
        """The block from captures and tangents of inputs to tangents of results."""
        return self.pushed.tangent

    @property
    def captures(self) -> tuple[Var, ...]:
        """The primal's values that the tangent program reads."""
        return self.pushed.captures

    @cached_property
    def tangent_names(self) -> list[str]:
        """`t_<input>` of each input with a tangent, numbered if an input or result has that name."""
        names = Names((*self.program.inputs, *self.program.outputs))
        return [
            names.give(t, f"t_{self.program.inputs[i]}") for i, t in zip(self.pushed.wrt, self._seeds(), strict=True)
        ]

    def _seeds(self) -> list[Var]:
        return [Var(t.type) for t in self.pushed.tangents]

    @property
    def result_names(self) -> list[str]:
        """`t_<result>` of each requested floating-point result."""
        names = Names((*self.program.inputs, *self.program.outputs, *self.tangent_names))
        results = self.program.block.results
        return [names.give(Var(results[i].type), f"t_{self.program.outputs[i]}") for i in self.pushed.of]

    def capture_names(self) -> dict[Var, str]:
        """Return the name of each capture: the input's, the output's, your variable's, or its operator's."""
        taken = (*self.tangent_names, *self.result_names)
        return name_captures(self.primal, self.captures, self.program.inputs, self.program.outputs, taken)

    def joint(self) -> Program:
        """Return one program: inputs and their tangents in; results and their tangents out."""
        joint = self.pushed.joint()
        block = self._with_zeros(joint, len(self.primal.results))
        program = self.program
        inputs = [*program.inputs, *self.tangent_names]
        outputs = [*program.outputs, *self.result_names]
        tangents = range(len(program.outputs), len(outputs)) if program.gradients else ()
        gradients = (*program.gradients, *tangents)
        return flat_program(block, inputs, outputs, gradients, program.defaults, program.states)

    @cached_property
    def forward(self) -> Program:
        """The primal, which also returns the captures that are neither inputs nor results."""
        names = self.capture_names()
        stored = self.pushed.stored()
        primal = self.primal
        block = Block(primal.name, primal.params, primal.ops, (*primal.results, *stored))
        program = self.program
        outputs = [*program.outputs, *(names[c] for c in stored)]
        return flat_program(block, program.inputs, outputs, (), program.defaults, program.states)

    @cached_property
    def linear(self) -> Program:
        """The tangent program: captures and tangents in, tangents of the results out."""
        names = self.capture_names()
        block = self._with_zeros(self.tangent, 0)
        more = [p for p in block.params if p not in self.tangent.params]
        inputs = [*(names[c] for c in self.captures), *self.tangent_names, *(names[p] for p in more)]
        return flat_program(block, inputs, self.result_names, (), self.program.defaults)

    def passes(self) -> tuple[Program, Program]:
        """Return the forward and the linear program."""
        return self.forward, self.linear

    def listing(self, style: str = "text") -> str:
        """Return primal and tangent program as text."""
        names = self.capture_names() | dict(zip(self.pushed.tangents, self.tangent_names, strict=True))
        return list_blocks((self.primal, self.tangent), names, style)

    def _repr_html_(self) -> str:
        """Return the listing as notebooks show it."""
        return self.listing("fragment")

    def save(
        self,
        path: str,
        form: Form = "joint",
        provider: Provider = "cpu",
        weights: GivenAs = "inputs",
        target: str | None = None,
        provenance: Provenance = "full",
    ) -> list[str]:
        """Write one file, or for `form="split"` `<stem>.forward.onnx` and `<stem>.linear.onnx`; return the paths.

        `target` and `provenance` are those of `Program.to_onnx`. Raises FileError, SpecError for another form,
        provider, target or provenance.
        """
        return save_in_form(self, path, form, provider, weights, target, provenance)

    def _with_zeros(self, block: Block, lead: int) -> Block:
        """Return the block with a tangent for each result in `of`: zeros for one that does not depend on the inputs."""
        found = dict(zip(self.pushed.targets, block.results[lead:], strict=True))
        params, ops = list(block.params), list(block.ops)
        defined = {*params, *(v for op in ops for v in op.outputs)}
        tangents: list[Value] = []
        for position in self.pushed.of:
            result = self.primal.results[position]
            if position not in found and isinstance(result, Var) and result not in defined:
                params.append(result)
                defined.add(result)
            tangents.append(found[position] if position in found else zeros_op(result, ops))
        return Block(block.name, tuple(params), tuple(ops), (*block.results[:lead], *tangents))

    def linearized(self, primals: Sequence[Any]) -> tuple[Any, Callable[..., Any]]:
        """The value at `primals`, and the linear function there, which runs or records only the tangent program."""
        program, forward, linear = self.program, self.forward, self.linear
        arrays = dict(zip(program.given_names, program.check_arrays(program.bind(tuple(primals), {})), strict=True))
        arrays |= {c.input: c.state.now.copy() for c in program.states}
        known = arrays | run_carrying(forward.session(), program.states, forward.outputs, arrays)
        shared = {*arrays, *program.outputs}  # the caller's too, who may write to them
        kept = {name: known[name].copy() if name in shared else known[name] for name in linear.inputs if name in known}
        leaves, spec = trees.in_parts(tuple(primals))
        moved = [arrays[program.inputs[i]] for i in self.pushed.wrt]
        is_flat = spec == trees.flatten((0.0,) * len(moved))[1] and self.pushed.wrt == tuple(range(len(moved)))
        exact = [(a.dtype, a.shape) for a in moved] if is_flat else None

        def linear_function(*tangents: Any, out: Any = None) -> Any:
            if {*map(type, tangents)} == ARRAYS and [(t.dtype, t.shape) for t in tangents] == exact:
                given = dict(zip(self.tangent_names, tangents, strict=True))
            elif tracing.is_recording():
                given = self._traced_tangents(match_tangents(spec, leaves, tangents), arrays)
            else:
                given = self._tangents(tangent_leaves(spec, tangents), arrays)
            if out is not None:
                return self._written(out, kept | given)
            return self._in_structure(_results(linear, kept | given))

        return trees.unflatten(program.result, [known[program.outputs[i]] for i in program.returned]), linear_function

    def _in_structure(self, tangents: Sequence[Any]) -> Any:
        """Return the tangents nested like the result, None for results without one."""
        found = dict(zip(self.pushed.of, tangents, strict=True))
        return trees.unflatten(self.program.result, [found.get(i) for i in self.program.returned])

    def _written(self, out: Any, given: Mapping[str, Any]) -> Any:
        """Return `out` with the tangents of the results for these inputs of the linear program."""
        if tracing.is_recording():
            refuse_traced()
        linear = self.linear
        nested = trees.in_parts(self._in_structure([0.0] * len(self.pushed.of)))[1]
        arrays = arrays_of(out, nested, f"the linear function of {self.program.block.name}")
        linear.run_into(tuple(arrays), *(given[name] for name in linear.inputs))
        return out

    def _traced_tangents(self, leaves: Sequence[Array | None], arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Return the values for the tangent inputs: zeros for None."""
        program = self.program
        given = [leaf for leaf, static in zip(leaves, program.static, strict=True) if static is ARRAY]
        inputs = dict(zip(program.given, given, strict=True))
        return {
            name: as_array(np.zeros_like(arrays[program.inputs[i]])) if (tangent := inputs[i]) is None else tangent
            for i, name in zip(self.pushed.wrt, self.tangent_names, strict=True)
        }

    def _tangents(self, leaves: Sequence[Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arrays for the tangent inputs: zeros for None. Raises DtypeError or ShapeError."""
        program = self.program
        given = [leaf for leaf, static in zip(leaves, program.static, strict=True) if static is ARRAY]
        inputs = dict(zip(program.given, given, strict=True))
        told = [leaf for leaf, static in zip(leaves, program.static, strict=True) if static is not ARRAY]
        told += [leaf for i, leaf in inputs.items() if i not in self.pushed.wrt]
        if any(t is not None for t in told):
            raise DtypeError(
                "an argument that is not floating point has no tangent",
                place=tracing.user_place(),
                cure="Give None as its tangent.",
            )
        arrays_of_tangents = {}
        for position, name in zip(self.pushed.wrt, self.tangent_names, strict=True):
            primal, tangent = arrays[program.inputs[position]], inputs[position]
            is_number = isinstance(tangent, float | int) and not isinstance(tangent, np.generic)
            array = (
                np.zeros_like(primal) if tangent is None else np.asarray(tangent, primal.dtype if is_number else None)
            )
            check_array(array, name, Type(primal.dtype, primal.shape), {})
            arrays_of_tangents[name] = array
        return arrays_of_tangents


def _results(linear: Program, given: Mapping[str, Any]) -> Sequence[Any]:
    """Return the linear program's results for these inputs: run, or recorded into the function being traced."""
    if tracing.is_recording():
        return inline_block(linear.block, linear.inputs, [as_array(given[name]) for name in linear.inputs])
    found: Sequence[Any] = linear.session().run(given)
    return found


def push_program(program: Program, wrt: Sequence[int] | None = None, of: Sequence[int] | None = None) -> PushedProgram:
    """Return a Program with the tangent program for some inputs and results, by default all that are floating point.

    States have none by default.
    """
    inputs = [i for i in program.given if program.types[i].is_float] if wrt is None else wrt
    results = [i for i in program.returned if program.block.results[i].type.is_float] if of is None else of
    report_cut(program.block, inputs, results)
    return PushedProgram(program, push_whole(program.block, inputs, results))
