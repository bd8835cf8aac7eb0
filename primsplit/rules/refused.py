"""Operators whose gradient is refused, and why.

Those here are read away where a model is loaded: what they hold together are tensors, which have cotangents.
"""

from primsplit.rules.table import unsupported

unsupported(
    "a sequence has no cotangent; in a loaded model the tensors in it are read one by one",
    "ConcatFromSequence",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "SplitToSequence",
)
unsupported(
    "an optional value has no cotangent; in a loaded model it is the tensor in it",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
)
