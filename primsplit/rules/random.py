"""Random operators: what they draw does not vary with their inputs, of which they read the shape or a probability.

A pullback reads what the forward pass drew, as it reads any other value.
"""

from primsplit.rules.table import no_gradient

no_gradient("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial")
