"""Register the random operators as having no gradient: of their inputs they read the shape or a probability.

A pullback reads what the forward pass drew, like any other value.
"""

from primsplit.rules.table import no_gradient

no_gradient("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")
