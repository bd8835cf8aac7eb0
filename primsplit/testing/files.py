"""Checks that the files of a split are valid ONNX and fit each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.checker
import onnx.shape_inference

from primsplit.ops.schema import IR_VERSION, OPSET
from primsplit.programs.api import SplitProgram
from primsplit.programs.runtime import Session
from primsplit.testing.failures import CheckFailed

AnyArray = npt.NDArray[Any]


def check_model(model: onnx.ModelProto, what: str = "the model") -> None:
    """Raise CheckFailed if a model is invalid, not of the pinned versions, or uses operators outside the standard."""
    try:
        onnx.checker.check_model(model, full_check=True)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError) as error:
        raise CheckFailed("files", f"{what} is not valid: {error}") from None
    versions = {d.domain: d.version for d in model.opset_import}
    if versions != {"": OPSET} or model.ir_version != IR_VERSION:
        raise CheckFailed("files", f"{what} has opset {versions} and IR version {model.ir_version}")


def run_files(made: SplitProgram, point: Sequence[AnyArray], seeds: Sequence[AnyArray]) -> list[AnyArray]:
    """Return the cotangents from running the forward and then the backward file. Raises CheckFailed."""
    models = {"joint": made.joint(), "forward": made.forward, "backward": made.backward}
    protos = {name: program.to_onnx() for name, program in models.items()}
    for name, proto in protos.items():
        check_model(proto, f"the {name} file")
    produced = {o.name: o for o in (*protos["forward"].graph.output, *protos["forward"].graph.input)}
    cotangents = set(made.cotangent_names)
    for wanted in protos["backward"].graph.input:
        if wanted.name not in cotangents and (
            wanted.name not in produced or _type(produced[wanted.name]) != _type(wanted)
        ):
            raise CheckFailed("files", f"the backward file reads {wanted.name}, which the forward file does not give")
    forward = Session(protos["forward"])
    inputs = dict(zip(made.program.inputs, point, strict=True))
    known = inputs | dict(zip(forward.outputs, forward.run(inputs), strict=True))
    known |= dict(zip(made.cotangent_names, seeds, strict=True))
    return _run(Session(protos["backward"]), known)


def _run(session: Session, known: Mapping[str, AnyArray]) -> list[AnyArray]:
    return session.run({name: np.asarray(known[name]) for name in session.inputs})


def _type(value: onnx.ValueInfoProto) -> tuple[int, list[Any]]:
    tensor = value.type.tensor_type
    return tensor.elem_type, [d.dim_param or d.dim_value for d in tensor.shape.dim]
