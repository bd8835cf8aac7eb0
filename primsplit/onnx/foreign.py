"""List operators that onnxruntime runs and no model in standard operators can express, with the reason."""

from collections.abc import Mapping

_SEARCH = "searches for the likeliest words with a model inside, which stops where it ends"
_HASH = "gives hashes"
REASONS: Mapping[str, str] = {
    **dict.fromkeys(("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"), _SEARCH),
    **dict.fromkeys(("MurmurHash3", "NGramHashMapping", "VarlenNGramHashMapping"), _HASH),
    "MatMulFpQ4": "holds its weights in a form that is its kernel's own",
    "SparseToDenseMatMul": "takes a sparse matrix",
    "BifurcationDetector": "compares words that were guessed with those that were found",
    "DynamicTimeWarping": "gives the path of least cost, which is indices",
    "SampleOp": "is an example of onnxruntime's own tests",
    "Tokenizer": "gives texts",
}
"""By the name in `com.microsoft`."""

CURE = "Cut the model around it (onnx.utils.extract_model), and differentiate the part that carries a gradient."


def reason_of(kind: str) -> str | None:
    """Return the reason why `com.microsoft::Name` is refused; None for any operator that might be read."""
    domain, _, name = kind.rpartition("::")
    return REASONS.get(name) if domain == "com.microsoft" else None
