"""Makes an ONNX model the subject of a command that also accepts a Python file."""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from primsplit.cli.arrays import Arrays, as_declared, read_arrays
from primsplit.cli.domains import integer_bounds
from primsplit.cli.late import reference_function
from primsplit.cli.options import (
    Exported,
    FunctionDerivation,
    ModelOptions,
    ModeName,
    progress,
    read_ranges,
    read_specs,
)
from primsplit.ir import Type
from primsplit.ir.errors import ParseError, RunError, SpecError
from primsplit.programs.api import SplitProgram
from primsplit.programs.arguments import Arguments, Call, draw_arrays
from primsplit.programs.export import gradient_beside, read_mode
from primsplit.programs.program import Program
from primsplit.tracing import trees
from primsplit.tracing.specs import check_array, check_expressions


class LoadedModel:
    """A model, its derivative, and inputs to run them: random ones, but the model's own differentiated weights.

    `model` is the program in the file; `derived` and `split` have differentiated weights as inputs.
    """

    def __init__(self, path: str, asked: FunctionDerivation, options: ModelOptions, *, quiet: bool) -> None:
        if asked.dtype is not None:
            raise SpecError("--dtype is for Python files: a model has its dtypes already")
        texts = read_specs(asked.spec)
        with progress(f"differentiating {path}", quiet=quiet):
            self.name = os.path.basename(path)
            self.path = path
            self.model: Program = _with_ranks(path, texts, options)
            self.mode = read_mode((asked.mode or ModeName.GRADIENT).value)
            self._asked: dict[str, Any] = {"wrt": asked.wrt or None, "of": asked.of or None}
            self.derived = asked.derived(self.mode, self.model, **self._asked)
        self._texts = texts
        self._options = options

    @property
    def recorded(self) -> Program:
        """The model as it was loaded."""
        return self.model

    @property
    def read(self) -> set[str]:
        """The files that it is read from, beside its weights."""
        return {self.path}

    @cached_property
    def split(self) -> SplitProgram:
        """The gradient, whatever derivative was requested."""
        return gradient_beside(self.derived, self.model, mode=self.mode, **self._asked)

    @property
    def arguments(self) -> Arguments:
        """A call of the differentiated program, and the standard's own reference for its results."""
        program = self.split.program
        types = dict(zip(program.inputs, program.types, strict=True))
        told = self._given(types)
        given = {**{name: value.numpy() for name, value in program.defaults.items()}, **told}
        drawn = {n: t for n, t in types.items() if n not in given and n in program.given_names}
        bounds = dict(zip(program.inputs, integer_bounds(program.block), strict=True))
        ranges = {
            **{n: b for n, b in bounds.items() if b is not None and n in drawn},
            **read_ranges(self._options.ranges),
        }
        known = {n: (types[n], a) for n, a in told.items()}
        arrays = {**draw_arrays(drawn, self._texts, ranges=ranges, known=known), **given}
        call: Call = trees.unflatten(program.arguments, [arrays[name] for name in program.given_names])
        reference = reference_function(program.block)

        def function(*args: Any) -> Any:
            given = dict(zip(program.given_names, trees.flatten((args, {}))[0], strict=True))
            given.update((c.input, c.declared.now) for c in program.states)
            try:
                results = reference(*(given[n] for n in program.inputs))
            except RunError as error:
                if not drawn:
                    raise
                raise RunError(error.what, place=error.place, cure=_to_tell(*drawn)) from error
            found = dict(zip(program.outputs, results, strict=True))
            for carried in program.states:
                if carried.output is not None:
                    carried.declared.assign(found[carried.output])
            return tuple(found[program.outputs[i]] for i in program.returned)

        return Arguments(call, call, function, drawn=bool(drawn))

    def _given(self, types: Mapping[str, Type]) -> Arrays:
        """The arrays of `--inputs`. Raises SpecError for a name that is not an input, or an array that does not fit."""
        if self._options.inputs is None:
            return {}
        found = read_arrays(self._options.inputs, list(types))
        unknown = [name for name in found if name not in types]
        if unknown:
            raise SpecError(f"there is no input {unknown[0]}", because=(f"the inputs are {', '.join(types)}",))
        sizes: dict[str, int] = {}
        arrays = {name: as_declared(array, types[name].dtype) for name, array in found.items()}
        for name, array in arrays.items():
            check_array(array, name, types[name], sizes)
        check_expressions(((n, a.shape, types[n]) for n, a in arrays.items()), sizes)
        return arrays

    def frozen(self) -> list[dict[str, Any]]:
        """The initializers that are not inputs, the largest first, as `audit` lists frozen values."""
        rows = []
        for name, value in self.split.program.initializers.items():
            size = value.type.nbytes()
            shown = str(value.numpy().tolist()) if value.is_short and (value.type.shape or ()) in {(), (1,)} else ""
            rows.append(
                {"name": name, "type": str(value.type), "bytes": size if isinstance(size, int) else 0, "value": shown}
            )
        return sorted(rows, key=lambda row: -int(row["bytes"]))


def _to_tell(name: str, *_: str) -> str:
    """The advice for a model that does not run at random inputs, of which this is one."""
    told = "The inputs were drawn. Those that the model is made for are told by --inputs PATH.npz, or their sizes by"
    return f"{told}\n  --spec {name}:[2,128]."


def _with_ranks(path: str, texts: Mapping[str, str], options: ModelOptions) -> Program:
    """The model, with types from `texts` for inputs of unknown rank; for all inputs if it cannot be read otherwise."""
    try:
        model = options.load(path)
    except ParseError:
        if not texts:
            raise
        return options.load(path, texts)
    types = dict(zip(model.inputs, model.types, strict=True))
    unranked = {name: text for name, text in texts.items() if name in types and types[name].rank is None}
    return options.load(path, unranked) if unranked else model


Subject = Exported | LoadedModel


def read_subject(target: str, asked: FunctionDerivation, options: ModelOptions, *, quiet: bool) -> Subject:
    """The subject of a command: a model if the path ends in .onnx, else a function of a Python file."""
    if target.endswith(".onnx"):
        return LoadedModel(target, asked, options, quiet=quiet)
    options.refuse()
    return Exported(target, asked, quiet=quiet)


def name_of(subject: Subject) -> str:
    """The subject's name in answers."""
    return subject.name if isinstance(subject, LoadedModel) else subject.file.name
