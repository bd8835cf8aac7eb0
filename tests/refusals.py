"""Refusals by older libraries that no file can avoid: a test that meets one is skipped, with the reason.

docs/runtime_faults.md lists each as not cured. What they compute wrongly is not here: such tests ask for a version.
"""

from typing import NamedTuple

from tests.versions import is_since


class Refusal(NamedTuple):
    """A library that, before a version, says this in an error, for this reason."""

    library: str
    before: str
    text: str
    reason: str


REFUSALS = [
    Refusal("onnxruntime", "1.23", "Could not find an implementation for Cast(21)", "no conversion of four bits"),
    Refusal("onnxruntime", "1.26", "Could not find an implementation for DeformConv(19)", "no DeformConv"),
    Refusal("onnxruntime", "1.21", "running ReduceMax node", "no maximum of nothing"),
    Refusal("onnxruntime", "1.32", "kernel.onnx failed", "no such operator of its own, or with other inputs"),
    Refusal("onnxruntime", "1.32", "Could not find an implementation for MoE(1)", "no such operator of its own"),
    Refusal("onnxruntime", "1.32", "Could not find an implementation for FusedMatMul(1)", "no kernel of float64"),
    Refusal("onnxruntime", "1.32", "Could not find an implementation for ConvInteger(10)", "no kernel of int8"),
    Refusal("onnx", "1.23", "and the onnx package knows 1 to", "the opset is newer"),
    Refusal("onnx", "1.23", "or how many axes they have is not known", "it infers less"),
    Refusal("onnx", "1.23", "No registered schema for operator", "no such operator"),
    Refusal("onnxruntime", "1.32", "contrib_ops/cpu/quantization/matmul_n", "no weights of eight bits in blocks"),
    Refusal("onnx", "1.23", "and linked attributes=[]", "its reference is of an older opset"),
    Refusal("onnx", "1.23", "_run() got an unexpected keyword argument", "its reference is of an older opset"),
]


def reason_of(error: BaseException) -> str | None:
    """Why the installed libraries may refuse this; None where they may not."""
    told = str(error)
    for refusal in REFUSALS:
        if refusal.text in told and not is_since(refusal.library, refusal.before):
            return f"{refusal.library} before {refusal.before}: {refusal.reason}"
    return None
