"""Program: a Block with the user's argument structure and names; the thing that is called, listed and saved."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.audit.styles import list_block
from primsplit.branching.raising import RAISES
from primsplit.dims import Shape
from primsplit.doors import make_proto, make_session, save_models
from primsplit.errors import DtypeError, ShapeError, SpecError
from primsplit.fingerprint import Same
from primsplit.ir import Block, Const, Type, walk
from primsplit.lifting import as_array
from primsplit.names import NamedBlock
from primsplit.passes.promote import promote
from primsplit.passes.repeats import fold_repeats
from primsplit.specs import check_array


class Program:
    """A traced function.

    `inputs` and `outputs` name the block's parameters and results; `arguments` and `result` are their structure.
    Leaves of the arguments that are no arrays are static: a call must give them the same value. `gradients` are the
    positions of results that are gradients, which a file computes last. `params` are a loaded model's initializers;
    `defaults` the numbers that a file keeps for inputs; `narrowed` makes the program of a model whose inputs have the
    ranks that it is given by name.
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
        narrowed: Callable[[Mapping[str, int]], "Program"] | None = None,
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
        self._narrowed = narrowed
        self._flat, self._exact = self._flat_arguments()
        self._session: Any = None
        self._lock = threading.Lock()
        self._with_inputs: dict[tuple[str, ...], Program] = {}
        self._of_ranks: dict[tuple[tuple[str, int], ...], Program] = {}

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

    def __deepcopy__(self, memo: dict[int, Any]) -> "Program":
        """The program itself, which does not change."""
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: write it with save(path), and read it there with ps.load(path)")

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on arrays by onnxruntime, or become part of the function being traced.

        An array that is named like one of `params` takes the place of its numbers: `model(x, **{"fc.weight": w})`.
        Raises SpecError, DtypeError or ShapeError where an argument does not fit.
        """
        if len(args) == self._flat and not named and {*map(type, args)} == ARRAYS and not tracing.is_recording():
            fits = [(a.dtype, a.shape) for a in args] == self._exact
            return self._run(args if fits else self.check_arrays(args))
        if named and (names := self._params_among(named)):
            rest = {name: value for name, value in named.items() if name not in names}
            return self.with_inputs(names)(*args, *(named[name] for name in names), **rest)
        leaves = self.bind(args, named)
        if tracing.is_recording():
            arrays = [as_array(x) for x in leaves]
            values = inline_block(self.of_ranks([x.type for x in arrays]).block, self.inputs, arrays)
            return trees.unflatten(self.result, values)
        return self._run(self.check_arrays(leaves))

    def of_ranks(self, types: Sequence[Type | None]) -> "Program":
        """The program of a model whose inputs have the ranks of these types where its file leaves them open."""
        pairs = zip(self.inputs, self.types, types, strict=False)
        known = tuple((n, t.rank) for n, own, t in pairs if own.rank is None and t is not None and t.rank is not None)
        if self._narrowed is None or not known:
            return self
        if known not in self._of_ranks:
            self._of_ranks[known] = self._narrowed(dict(known))
        return self._of_ranks[known]

    def _params_among(self, named: Mapping[str, Any]) -> tuple[str, ...]:
        """The params that keyword arguments give, but for those that the program takes as its own."""
        _, own = trees.unflatten(self.arguments, self.static)
        return tuple(name for name in self.params if name in named and name not in own)

    def with_inputs(self, names: Sequence[str]) -> "Program":
        """The program with these of its `params` as further inputs; a file keeps their numbers as defaults."""
        found = self._with_inputs.get(tuple(names))
        if found is not None:
            return found
        chosen, narrowed = {name: self.params[name] for name in names}, self._narrowed
        own, named = trees.unflatten(self.arguments, self.static)
        static, arguments = trees.flatten(((*own, *(ARRAY for _ in chosen)), named))
        block = promote(self.block, list(chosen.values()))
        # Inputs are in the order of a call's leaves: keyword arguments come behind all that have a position.
        first, count = sum(x is ARRAY for x in trees.flatten(own)[0]), len(self.inputs)
        params = (*block.params[:first], *block.params[count:], *block.params[first:count])
        found = self._with_inputs[tuple(names)] = Program(
            replace(block, params=params),
            inputs=(*self.inputs[:first], *chosen, *self.inputs[first:]),
            outputs=self.outputs,
            arguments=arguments,
            result=self.result,
            static=static,
            params={name: value for name, value in self.params.items() if name not in chosen},
            defaults={**self.defaults, **chosen},
            narrowed=None if narrowed is None else (lambda ranks: narrowed(ranks).with_inputs(names)),
        )
        return found

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
                    f"inputs: {_first_names(self.inputs)}",
                    f"traced: {trees.brief(self.arguments)}",
                    f"given:  {trees.brief(spec)}",
                    *([f"params: {_first_names(self.params)}"] if self.params and named else []),
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
        found = Program.__new__(Program)
        vars(found).update(vars(self), block=fold_repeats(self.block))
        found._session, found._lock, found._with_inputs = None, threading.Lock(), {}
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program as an ONNX file, whole or not at all. Raises FileError."""
        save_models([(self.named, os.fspath(path))])

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


def _first_names(names: Iterable[str]) -> str:
    """The first of the names, for an error."""
    told = list(names)
    return f"{', '.join(told[:8])}{', ...' if len(told) > 8 else ''}"


ARRAYS = {np.ndarray}
"""The classes of arguments that are arrays, and no subclass of them."""

ARRAY = object()
"""Stands in `Program.static` for a leaf that is an input."""


def arrays_of(program: Program, call: tuple[tuple[Any, ...], Mapping[str, Any]]) -> list[npt.NDArray[Any]]:
    """The arrays of a call (positional and keyword arguments), one for each input of the program."""
    leaves, _ = trees.flatten((call[0], dict(call[1])))
    return [np.asarray(x) for x, s in zip(leaves, program.static, strict=True) if s is ARRAY]


def inline_block(block: Block, names: Sequence[str], arguments: Sequence[Array]) -> list[Array]:
    """Record the block's ops, called on these arrays; return its results.

    Raises DtypeError or ShapeError, with the name of the input, for an array that cannot fit.
    """
    values = [a.value for a in arguments]
    for name, var, value in zip(names, block.params, values, strict=True):
        told = f"{name} must be {var.type}, not {value.type}"
        if var.type.dtype != value.type.dtype:
            raise DtypeError(told, place=tracing.user_place())
        if not _may_fit(value.type.shape, var.type.shape):
            raise ShapeError(told, place=tracing.user_place())
    return [Array(v) for v in tracing.inline(block, values)]


def _may_fit(given: Shape | None, wanted: Shape | None) -> bool:
    """False where a size that is known is another than the one asked for."""
    if given is None or wanted is None:
        return True
    pairs = zip(given, wanted, strict=False)
    return len(given) == len(wanted) and not any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
