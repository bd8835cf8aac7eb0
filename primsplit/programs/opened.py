"""Open ONNX files to run them by names: one file, or the two of a split."""

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import Type
from primsplit.ir.dims import Dim, parse, symbol
from primsplit.ir.errors import FileError, PrimsplitError, RunError, SpecError
from primsplit.onnx.states import read_states
from primsplit.programs.runtime import NARROW, Session
from primsplit.tracing.specs import check_array, check_expressions, check_names

Arrays = Mapping[str, npt.NDArray[Any]]

_NO_MODEL = re.compile("INVALID_PROTOBUF|No graph was found")
_DTYPES = {"float": "float32", "double": "float64"}


class OpenedFile:
    """An ONNX file loaded into onnxruntime; `inputs` and `outputs` are their types by name, `states` pairs of them.

    Called with arrays by name; returns the outputs by name. Raises FileError, ParseError, RunError if it cannot be
    loaded.
    """

    def __init__(self, path: str) -> None:
        if not os.path.isfile(path):
            what = "no file" if os.path.exists(path) else ""
            what = "a folder" if os.path.isdir(path) else what
            raise FileError(f"cannot read {path}: {f'it is {what}' if what else 'there is no such file'}")
        if any("\ud800" <= character <= "\udfff" for character in path):
            raise FileError(f"cannot read {path}: onnxruntime takes names in UTF-8 alone", cure="Rename it.")
        self.path = path
        try:
            self.session = Session(path)
        except RunError as error:
            if not _NO_MODEL.search(error.what):
                raise
            raise FileError(f"{path} is no valid model: onnxruntime cannot read it") from None
        said = self.session.carried
        self.inputs = {i.name: _type(i, said.get(i.name)) for i in self.session.session.get_inputs()}
        self.outputs = {o.name: _type(o, said.get(o.name)) for o in self.session.session.get_outputs()}
        metadata = self.session.session.get_modelmeta().custom_metadata_map
        self.states = read_states(metadata, self.inputs, self.outputs)

    def __call__(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        if missing := [name for name in self.inputs if name not in arrays]:
            raise SpecError(f"{self.path} takes {', '.join(missing)}, which is not given")
        found = self.session.run({name: arrays[name] for name in self.inputs})
        return dict(zip(self.outputs, found, strict=True))

    def check(self, arrays: Arrays) -> None:
        """Raise SpecError for inputs that are missing or unknown, DtypeError or ShapeError for ones that do not fit."""
        check_names(list(self.inputs), arrays)
        sizes: dict[str, int] = {}
        for name, wanted in self.inputs.items():
            check_array(arrays[name], name, wanted, sizes)
        check_expressions(((n, arrays[n].shape, t) for n, t in self.inputs.items()), sizes)


class OpenedPair:
    """A forward and a backward file, called like the one file that holds both."""

    def __init__(self, forward: str, backward: str) -> None:
        self.forward, self.backward = OpenedFile(forward), OpenedFile(backward)

    def __call__(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        kept = self.forward(arrays)
        return {**kept, **self.backward({**arrays, **kept})}


def _type(declared: Any, said: str | None) -> Type:
    """Return the Type that onnxruntime, or the file itself, declares for an input or output.

    Raises SpecError for one that is not a tensor.
    """
    match = re.fullmatch(r"tensor\((\w+)\)", declared.type)
    if match is None or match[1] == "string":
        raise SpecError(f"{declared.name} is a {declared.type}, which cannot be read from or written to a file")
    try:
        dtype = NARROW[declared.type] if declared.type in NARROW else np.dtype(_DTYPES.get(match[1], match[1]))
    except TypeError:
        raise SpecError(f"{declared.name} is a {declared.type}, which NumPy does not know") from None
    dtype = np.dtype(said) if said else dtype
    return Type(dtype, [_dim(d, declared.name, axis) for axis, d in enumerate(declared.shape)])


def _dim(size: int | str | None, name: str, axis: int) -> Dim:
    """Return a size as onnxruntime has it; a name that is no expression of sizes is a symbol."""
    if isinstance(size, int):
        return size
    if not size:
        return symbol(f"{name}_axis{axis}")
    try:
        return parse(size)
    except PrimsplitError:
        return symbol(size)
