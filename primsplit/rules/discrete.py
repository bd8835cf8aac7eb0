"""Register operators without a gradient: they take no floats, or their results are counted, drawn or looked up."""

from primsplit.rules.table import no_gradient

no_gradient("Constant")
no_gradient("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer")
no_gradient("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix")
no_gradient("ImageDecoder", "NonMaxSuppression")
