"""Register operators without a gradient, and those whose gradient is refused, with the reason.

The first take no floats, or their results are counted, drawn or looked up. Loading a model removes the others: only
tensors, which have cotangents, remain of what they hold.
"""

from primsplit.rules.table import no_gradient, unsupported

no_gradient("Constant")
no_gradient("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer")
no_gradient("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix")
no_gradient("ImageDecoder", "NonMaxSuppression")
# Of their inputs these read the shape or a probability. A pullback reads what the forward pass drew.
no_gradient("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")

unsupported(
    "a sequence has no cotangent; in a loaded model the tensors in it are read one by one",
    "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
    "SequenceLength", "SequenceMap", "SplitToSequence",
)  # fmt: skip
unsupported(
    "an optional value has no cotangent; in a loaded model it is the tensor in it",
    "Optional", "OptionalGetElement", "OptionalHasElement",
)  # fmt: skip
