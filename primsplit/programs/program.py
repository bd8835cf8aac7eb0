"""Program: a Block with the user's argument structure and names; the thing that is called, listed and saved."""

import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.audit.styles import list_block
from primsplit.branching.raising import RAISES
from primsplit.doors import make_proto, make_session, save_models
from primsplit.errors import DtypeError, SpecError
from primsplit.fingerprint import Same
from primsplit.ir import Block, Const, Type, walk
from primsplit.lifting import as_array
from primsplit.names import NamedBlock
from primsplit.passes.repeats import fold_repeats
from primsplit.specs import check_array


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
        self._flat, self._exact = self._flat_arguments()
        self._session: Any = None
        self._lock = threading.Lock()

    def _flat_arguments(self) -> tuple[int | None, list[Any] | None]:
        """How many arguments there are where each is an array by position; their looks where no size is a symbol."""
        if not all(s is ARRAY for s in self.static) or self.arguments != trees.flatten((self.static, {}))[1]:
            return None, None
        sizes = [d for t in self.types for d in (t.shape if t.shape is not None else (None,))]
        is_exact = all(isinstance(d, int) for d in sizes)
        return len(self.static), [(t.dtype, t.shape) for t in self.types] if is_exact else None

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
        if len(args) == self._flat and not named and {*map(type, args)} == ARRAYS and not tracing.is_recording():
            fits = [(a.dtype, a.shape) for a in args] == self._exact
            return self._run(args if fits else self.check_arrays(args))
        leaves = self.bind(args, named)
        if tracing.is_recording():
            values = inline_block(self.block, [as_array(x) for x in leaves])
            return trees.unflatten(self.result, values)
        return self._run(self.check_arrays(leaves))

    def run_leaves(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of a call that is known to fit: of the same structure, dtypes, shapes and static values."""
        arrays = [x for x, s in zip(leaves, self.static, strict=True) if s is ARRAY]
        return self._run(arrays if {*map(type, arrays)} <= ARRAYS else self.check_arrays(arrays))

    def _run(self, arrays: Sequence[Any]) -> Any:
        session = self._session or self.session()
        return trees.unflatten(self.result, session.run(dict(zip(self.inputs, arrays, strict=True))))

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
                because=(
                    f"inputs: {', '.join(self.inputs[:8])}{', ...' if len(self.inputs) > 8 else ''}",
                    f"traced: {trees.brief(self.arguments)}",
                    f"given:  {trees.brief(spec)}",
                ),
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
        found = copy.copy(self)
        found.block = fold_repeats(self.block)
        found._session, found._lock = None, threading.Lock()
        return found

    def session(self) -> Any:
        """The onnxruntime session of this program, made once.

        Where no result is an array there is nothing to run; then it gives an empty list. Raises SpecError where that
        would hide an error that the function raises.
        """
        with self._lock:
            if self._session is None:
                self._session = make_session(self.named) if self.outputs else _nothing_to_run(self.block)
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


class _NoResults:
    """Takes the place of the session of a program that computes nothing."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """No array."""
        return []

    def run_into(self, feeds: Mapping[str, Any], buffers: Sequence[Any]) -> None:
        """Nothing is written."""


def _nothing_to_run(block: Block) -> _NoResults:
    failing = next((op for op in walk(block) if op.kind == RAISES), None)
    if failing is not None:
        raise SpecError(
            f"{block.name} returns no array, and {failing.remark} on one of its paths: no result would show that",
            place=failing.place,
            cure="Return an array, or check the arguments outside of the function.",
        )
    return _NoResults()


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


ARRAYS = {np.ndarray}
"""The classes of arguments that are arrays, and no subclass of them."""

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
