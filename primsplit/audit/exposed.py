"""Run a file with every value as an output, some at a time, so that a large file needs no memory for all of them."""

import os
from collections.abc import Iterator, Mapping

import onnx
import onnx.external_data_helper
import onnx.helper

from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Var
from primsplit.onnx.protobufs import parsed
from primsplit.programs.runtime import Session

AT_A_TIME = 128
"""The number of values that one run returns."""


def exposed(file: Written, arrays: Mapping[str, AnyArray]) -> Iterator[tuple[str, AnyArray]]:
    """Yield the name and the array of each value that a node of the graph makes, as onnxruntime computes it.

    Values that are no arrays are left out. Raises RunError if the file does not run.
    """
    model = onnx.ModelProto()
    model.CopyFrom(parsed(file.path))
    onnx.external_data_helper.load_external_data_for_model(model, os.path.dirname(os.path.abspath(file.path)))
    names = _names(file)
    there = {output.name for output in model.graph.output}
    known = {value.name: value for value in model.graph.value_info}
    added = [known.get(name) or onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in there]
    model.graph.output.extend(added)
    session = Session(model)
    given = {name: arrays[name] for name in file.inputs}
    for start in range(0, len(names), AT_A_TIME):
        some = names[start : start + AT_A_TIME]
        yield from zip(some, session.run(given, some), strict=True)


def _names(file: Written) -> list[str]:
    made = [v for op in file.block.ops for v in op.outputs if file.names[v]]
    return [file.names[v] for v in made if not _is_collection(file, v)]


def _is_collection(file: Written, var: Var) -> bool:
    return file.told[var].startswith(("sequence", "optional", "sparse", "map"))
