"""Program: a Block with the user's argument structure and names; the thing that is called, listed and saved."""

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.audit.styles import list_block
from primsplit.collector import paused
from primsplit.counters import Counters
from primsplit.doors import make_proto, make_session, save_models
from primsplit.errors import DtypeError, SpecError
from primsplit.exploring import explored
from primsplit.fingerprint import Same
from primsplit.ir import Block, Const, Op, Type, Value, Var, free, same_data, walk
from primsplit.lifting import as_array
from primsplit.names import NamedBlock, kept_apart
from primsplit.passes.dead_code import drop_dead_code
from primsplit.passes.repeats import fold_repeats
from primsplit.specs import check_array, leaf_type
from primsplit.unrolled import report_unrolled

Function = Callable[..., Any]


class Program:
    """A traced function.

    `inputs` and `outputs` name the block's parameters and results; `arguments` and `result` are their structure.
    Leaves of the arguments that are no arrays are static: a call must give them the same value. `gradients` are the
    positions of results that are gradients, which a file computes last. `params` are a loaded model's initializers;
    `defaults` the numbers that a file keeps for inputs.
    """

    def __init__(
        self,
        block: Block,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        arguments: trees.TreeSpec,
        result: trees.TreeSpec,
        static: Sequence[Any],
        gradients: Sequence[int] = (),
        params: Mapping[str, Const] | None = None,
        defaults: Mapping[str, Const] | None = None,
    ) -> None:
        self.block = block
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.arguments = arguments
        self.result = result
        self.static = tuple(static)
        self.gradients = tuple(gradients)
        self.params = dict(params or {})
        self.defaults = dict(defaults or {})
        self._session: Any = None
        self._lock = threading.Lock()

    @property
    def types(self) -> tuple[Type, ...]:
        """The type of each array input."""
        return tuple(p.type for p in self.block.params)

    def depends_on(self) -> tuple[Same, ...]:
        """The program's block, which is immutable; not the session."""
        return (Same(self.block),)

    @property
    def named(self) -> NamedBlock:
        """The block as a file has it."""
        return NamedBlock(self.block, self.inputs, self.outputs, self.gradients, self.defaults)

    def __repr__(self) -> str:
        told = ", ".join(f"{n}: {t}" for n, t in zip(self.inputs, self.types, strict=True))
        return f"Program {self.block.name}({told})"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on arrays by onnxruntime, or become part of the function being traced.

        Raises SpecError, DtypeError or ShapeError where an argument does not fit.
        """
        leaves = self.bind(args, named)
        if tracing.is_recording():
            values = inline_block(self.block, [as_array(x) for x in leaves])
            return trees.unflatten(self.result, values)
        arrays = self.check_arrays(leaves)
        found = self.session().run(dict(zip(self.inputs, arrays, strict=True)))
        return trees.unflatten(self.result, found)

    def run_into(self, out: Any, *args: Any, **named: Any) -> Any:
        """Run on arrays and write the results into `out`, which is nested like the result; return it.

        Nothing is allocated for the results. Raises SpecError for another structure, ShapeError or DtypeError for an
        array that does not fit its result, or shares memory with an argument.
        """
        buffers, spec = trees.flatten(out)
        if spec != self.result:
            raise SpecError(
                f"out is nested otherwise than the result of {self.block.name}",
                because=(f"result: {trees.brief(self.result)}", f"out:    {trees.brief(spec)}"),
            )
        arrays = self.check_arrays(self.bind(args, named))
        self.session().run_into(dict(zip(self.inputs, arrays, strict=True)), buffers)
        return out

    def bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """The array leaves of a call. Raises SpecError for another structure, or other static arguments."""
        leaves, spec = trees.flatten((args, dict(named)))
        if spec != self.arguments:
            raise SpecError(
                f"{self.block.name} was traced for arguments of another structure",
                place=tracing.user_place(),
                because=(f"traced: {trees.brief(self.arguments)}", f"given:  {trees.brief(spec)}"),
            )
        arrays = []
        for leaf, fixed in zip(leaves, self.static, strict=True):
            if fixed is ARRAY:
                arrays.append(leaf)
            elif fixed != leaf:
                raise SpecError(
                    f"{self.block.name} was traced with the static argument {fixed!r}, not {leaf!r}",
                    place=tracing.user_place(),
                )
        return arrays

    def check_arrays(self, leaves: Sequence[Any]) -> list[npt.NDArray[Any]]:
        """The leaves as NumPy arrays that fit the inputs' types; sizes of one symbol must be equal."""
        sizes: dict[str, int] = {}
        arrays = []
        for leaf, name, var in zip(leaves, self.inputs, self.block.params, strict=True):
            array = np.asarray(leaf)
            if isinstance(leaf, float | int) and not isinstance(leaf, np.generic):
                array = np.asarray(leaf, var.type.dtype)
            check_array(array, name, var.type, sizes)
            arrays.append(array)
        return arrays

    def folded(self) -> "Program":
        """The program with regions that repeat, such as the steps of an unrolled loop, as calls of one function.

        Its derivative is made once for all steps. Files are written without calls.
        """
        return Program(
            fold_repeats(self.block),
            inputs=self.inputs,
            outputs=self.outputs,
            arguments=self.arguments,
            result=self.result,
            static=self.static,
            gradients=self.gradients,
            params=self.params,
            defaults=self.defaults,
        )

    def session(self) -> Any:
        """The onnxruntime session of this program, made once."""
        with self._lock:
            if self._session is None:
                self._session = make_session(self.named)
        return self._session

    def to_onnx(self) -> Any:
        """The program as an `onnx.ModelProto`."""
        return make_proto(self.named)

    def save(self, path: str) -> None:
        """Write the program as an ONNX file, whole or not at all. Raises FileError."""
        save_models([(self.named, path)])

    def listing(self, style: str = "text") -> str:
        """The program as text that a person can read."""
        return list_block(self.block, self.inputs, style)


def flat_program(
    block: Block,
    inputs: Sequence[str],
    outputs: Sequence[str],
    gradients: Sequence[int] = (),
    defaults: Mapping[str, Const] | None = None,
) -> Program:
    """A program of flat arguments: arrays in the order of `inputs`, and a tuple of results."""
    return Program(
        block,
        inputs=inputs,
        outputs=outputs,
        arguments=trees.flatten((tuple(0.0 for _ in inputs), {}))[1],
        result=trees.flatten(tuple(0.0 for _ in outputs))[1],
        static=[ARRAY] * len(inputs),
        gradients=gradients,
        defaults={name: value for name, value in (defaults or {}).items() if name in inputs},
    )


ARRAY = object()
"""Stands in `Program.static` for a leaf that is an input."""


def arrays_of(program: Program, call: tuple[tuple[Any, ...], Mapping[str, Any]]) -> list[npt.NDArray[Any]]:
    """The arrays of a call (positional and keyword arguments), one for each input of the program."""
    leaves, _ = trees.flatten((call[0], dict(call[1])))
    return [np.asarray(x) for x, s in zip(leaves, program.static, strict=True) if s is ARRAY]


def inline_block(block: Block, arguments: Sequence[Array]) -> list[Array]:
    """Record the block's ops, called on these arrays; return its results."""
    values = [a.value for a in arguments]
    for var, value in zip(block.params, values, strict=True):
        if var.type.dtype != value.type.dtype:
            raise DtypeError(
                f"an argument must be {var.type.dtype}, not {value.type.dtype}", place=tracing.user_place()
            )
    return [Array(v) for v in tracing.inline(block, values)]


Freeze = Literal["allow", "error"]
"""What becomes of an array from outside of the function: it is part of the program, or refused."""

Branches = Literal["explore", "error", "static"]
"""What becomes of a Python branch on a traced value: every path is recorded, none is, or the one that arrays take."""


def trace_program(
    function: Function,
    args: Sequence[Any],
    named: Mapping[str, Any],
    name: str = "",
    *,
    branches: Branches = "explore",
    named_like: Function | None = None,
    freeze: Freeze = "allow",
) -> Program:
    """Trace `function` on specs: arrays, Types, annotations; other leaves are static arguments.

    Raises what the function raises, TraceError where it does what a recording cannot hold.
    """
    if isinstance(function, Program):
        return function
    leaves, spec = trees.flatten((tuple(args), dict(named)))
    types = [leaf_type(x) for x in leaves]
    labels = input_names(function if named_like is None else named_like, spec)
    Counters.traces += 1
    with paused(), tracing.fresh_stack(), tracing.recording(explores=branches != "error") as recorded:
        params = [None if t is None else recorded.param(t, n) for t, n in zip(types, labels, strict=True)]
        if branches == "static":
            recorded.example = _Example({p: _known(x) for p, x in zip(params, leaves, strict=True) if p is not None})

        def run() -> tuple[list[Array], trees.TreeSpec]:
            given = [leaf if p is None else _stand_in(leaf, p) for leaf, p in zip(leaves, params, strict=True)]
            positional, keywords = trees.unflatten(spec, given)
            with tracing.errors_of_elements():
                found, structure = trees.flatten(function(*positional, **keywords))
            return [as_array(r) for r in found], structure

        traced, result_spec = explored(run)
        results = [a.value for a in traced]
    block = tracing.close(name or _name(function), [p for p in params if p is not None], recorded, results)
    report_unrolled(block)
    constants = _outside_constants(block)
    if freeze == "error":
        _refuse_frozen(constants)
    return Program(
        block,
        params=_params(constants),
        inputs=[n for n, p in zip(labels, params, strict=True) if p is not None],
        outputs=output_names(result_spec, labels),
        arguments=spec,
        result=result_spec,
        static=[x if p is None else ARRAY for x, p in zip(leaves, params, strict=True)],
    )


def _outside_constants(block: Block) -> list[Const]:
    """The arrays from outside of the function that became part of its program."""
    inputs = (v for op in walk(block) for v in op.inputs)
    return [v for v in dict.fromkeys((*inputs, *block.results)) if isinstance(v, Const) and v.place is not None]


def _refuse_frozen(constants: Sequence[Const]) -> None:
    """Raise SpecError where an array was frozen into the program."""
    for const in constants:
        if not const.is_param:
            raise SpecError(
                f"an array, {const.type}, is frozen into the program",
                place=const.place,
                cure="Pass it as an argument, or name it with ps.param(array, name).",
            )


def _params(constants: Sequence[Const]) -> dict[str, Const]:
    """The parameters of the program by name. Raises SpecError where two have one name."""
    found: dict[str, Const] = {}
    for const in (c for c in constants if c.is_param):
        known = found.setdefault(const.hint, const)
        if known is not const and not same_data(known, const):
            raise SpecError(f"two parameters are called {const.hint}", place=const.place)
    return found


class _Example:
    """Arrays for the inputs of a recording, which say which way its branches go."""

    def __init__(self, arrays: dict[Var, npt.NDArray[Any]]) -> None:
        self.arrays = arrays

    def value_of(self, ops: Sequence[Op], wanted: Value) -> npt.NDArray[Any] | None:
        """The number that the ops compute; None where they read more than the inputs."""
        block = drop_dead_code(Block("condition", tuple(self.arrays), tuple(ops), (wanted,)))
        if free(block):
            return None
        names = [f"x{i}" for i in range(len(block.params))]
        session = make_session(NamedBlock(block, tuple(names), ("y",), (), {}))
        found: npt.NDArray[Any] = session.run(dict(zip(names, self.arrays.values(), strict=True)))[0]
        return found


def _known(leaf: Any) -> npt.NDArray[Any]:
    if isinstance(leaf, Type) or not trees.is_array(leaf):
        raise SpecError(
            "which way a branch goes is told by arrays, not by specs",
            cure="Pass arrays as the arguments to record for.",
        )
    found = leaf_type(leaf)
    return np.asarray(leaf, None if found is None else found.dtype)


def _stand_in(leaf: Any, param: Var) -> Array:
    """The traced array for an argument, which is a number where the argument is one."""
    is_number = isinstance(leaf, float | np.generic)
    return Array(param, weak=is_number and not isinstance(leaf, np.generic), scalar=is_number)


def _name(function: Function) -> str:
    name = getattr(function, "__name__", "") or type(function).__name__
    return name if name.isidentifier() else "program"


def input_names(function: Function, spec: trees.TreeSpec) -> list[str]:
    """A name for each leaf of `(args, kwargs)`: the parameter's name, then the path inside it."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for path in spec.paths():
        kind, first, *rest = path if len(path) > 1 else (*path, "x")
        names.append(".".join([first if kind == 1 else _parameter(parameters, first), *map(str, rest)]))
    return kept_apart(names)


def _parameter(parameters: Sequence[inspect.Parameter], position: int) -> str:
    named = [p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    if position < len(named):
        return named[position]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return f"{variadic}.{position - len(named)}"


def output_names(spec: trees.TreeSpec, taken: Sequence[str]) -> list[str]:
    """`y` for a single result, `y0, y1` for a tuple's, else the path inside the result; `result` where `y` is taken."""
    named = [
        ".".join([str(p) if isinstance(p, str) else f"y{p}" for p in path[:1]] + [str(p) for p in path[1:]])
        for path in spec.paths()
    ]
    names = [name or "y" for name in named]
    return [_free_name(name, {*taken, *names[:i]}) for i, name in enumerate(names)]


def _free_name(name: str, taken: set[str]) -> str:
    """The name, or where an input has it, `result` in its place and a number if need be."""
    if name not in taken:
        return name
    stem = name.replace("y", "result", 1) if name.startswith("y") else f"{name}_result"
    return next(n for n in chain([stem], (f"{stem}_{i}" for i in count(1))) if n not in taken)
