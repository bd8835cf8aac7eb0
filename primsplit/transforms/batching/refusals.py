"""Register operators that are computed example by example, those without a batch, and those with nothing to batch."""

from primsplit.transforms.batching.table import floor, refused

floor("its zero points and scales may differ in rank and place", "ConvInteger", "MatMulInteger", "QLinearConv",
      "QLinearMatMul")  # fmt: skip
floor("its regions name images by number inside a tensor of floats", "MaxRoiPool")
floor("its scale is that of all its input", "DynamicQuantizeLinear")
floor("it counts over its whole last axis", "TfIdfVectorizer")
floor("its bounds are numbers", "MelWeightMatrix")

refused(
    "sequences and optional values have no axes",
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
    "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence",
)  # fmt: skip
