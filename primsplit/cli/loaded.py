"""An ONNX model as the subject of a command, where that also takes a Python file."""

import os
from typing import Any

from primsplit.arguments import Arguments, Call, draw_arrays
from primsplit.cli.late import reference_function
from primsplit.cli.options import DtypeName, Exported, progress, read_specs
from primsplit.errors import SpecError
from primsplit.export import split
from primsplit.loading import load
from primsplit.program import Program


class LoadedModel:
    """A model, its gradient, and inputs to run them on: drawn ones, and its own numbers for differentiated weights.

    `model` is the program as the file has it; `split` that of the gradient, whose weights may be inputs.
    """

    def __init__(
        self, path: str, spec: list[str] | None, wrt: list[str] | None, dtype: DtypeName | None, *, quiet: bool
    ) -> None:
        if dtype is not None:
            raise SpecError("--dtype is for Python files: a model has its dtypes already")
        texts = read_specs(spec)
        with progress(f"differentiating {path}", quiet=quiet):
            self.name = os.path.basename(path)
            self.path = path
            self.model: Program = load(path)
            self.split = split(self.model, wrt=wrt or None)
        self._texts = texts

    @property
    def arguments(self) -> Arguments:
        """A call of the program that was differentiated, and what is right for it: the standard's own reference."""
        program = self.split.program
        given = {name: value.numpy() for name, value in program.defaults.items()}
        drawn = {n: t for n, t in zip(program.inputs, program.types, strict=True) if n not in given}
        arrays = {**draw_arrays(drawn, self._texts), **given}
        call: Call = (tuple(arrays[name] for name in program.inputs), {})
        return Arguments(call, call, reference_function(program.block), drawn=True)

    def frozen(self) -> list[dict[str, Any]]:
        """The initializers that are no inputs, the largest first, as `audit` lists frozen values."""
        rows = []
        for name, value in self.split.program.params.items():
            size = value.type.nbytes()
            shown = str(value.numpy().tolist()) if value.is_small and (value.type.shape or ()) in {(), (1,)} else ""
            rows.append(
                {"name": name, "type": str(value.type), "bytes": size if isinstance(size, int) else 0, "value": shown}
            )
        return sorted(rows, key=lambda row: -int(row["bytes"]))


Subject = Exported | LoadedModel


def read_subject(
    target: str, spec: list[str] | None, wrt: list[str] | None, dtype: DtypeName | None, *, quiet: bool
) -> Subject:
    """What a command is about: a model for a path that ends in .onnx, else a function of a Python file."""
    kind = LoadedModel if target.endswith(".onnx") else Exported
    return kind(target, spec, wrt, dtype, quiet=quiet)


def name_of(subject: Subject) -> str:
    """How answers call it."""
    return subject.name if isinstance(subject, LoadedModel) else subject.file.name
