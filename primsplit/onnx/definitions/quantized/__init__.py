"""Define operators on quantized numbers, and the straight-through derivative of chains of them."""
