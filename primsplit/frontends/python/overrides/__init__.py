"""Substitutes for functions of NumPy, SciPy, `math` and Python that need the number of a traced value.

NumPy dispatches `np.sum(x)` to the traced array, but not if the array is inside of a list (`np.array([a, b])`), an
index of a NumPy array (`table[i]`), a size (`np.zeros(n)`), or is written into a NumPy array. `math` and most of SciPy
never dispatch. A function with such a call is converted (`frontends.python.converter`), and its copy calls the
substitutes. For arguments that are not traced, a substitute calls the original.

    math.sin(x)         ->      the substitute: op.Sin(x) for a traced x, math.sin(x) for a float

In a converted function, calls that create arrays to write to (`np.zeros`, `np.array`, `table.copy()`) return traced
arrays. Their elements are known until a traced value is written to them.
"""
