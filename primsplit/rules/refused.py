"""Register operators whose gradient is refused, with the reason.

Loading a model removes these: only tensors, which have cotangents, remain of what they hold.
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
