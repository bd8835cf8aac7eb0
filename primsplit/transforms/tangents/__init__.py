"""Forward mode: tangent lists from pullback lists, and the forward rules that override them."""
