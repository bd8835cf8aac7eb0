"""Operators whose gradient is refused, and why."""

from primsplit.rules.table import unsupported

unsupported(
    "it does not tell which element of a region it picked, nor how it rounded the region; "
    "cut the region out with Slice and take its MaxPool",
    "MaxRoiPool",
)
unsupported(
    "the cotangent of a sequence would be a sequence, and no operator adds two of them up; "
    "keep the tensors apart, or join them with Concat",
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
    "an optional value that is absent has no cotangent; use the tensor itself",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
)
unsupported(
    "its branches are blocks of their own, which are not split; compute both and choose with Where",
    "If",
)
unsupported(
    "its body is a block of its own, which is not split, and the values of each step are not kept; "
    "write the steps out one by one",
    "Loop",
    "Scan",
)
