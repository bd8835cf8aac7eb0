"""Substitutes for functions of NumPy, SciPy, `math` and Python that ask a traced value for a number.

NumPy asks an array for its own form of `np.sum(x)`, but not where the array is inside of a list (`np.array([a, b])`,
`np.mean([a, b])`), an index of a NumPy array (`table[i]`), a size (`np.zeros(n)`), or is written into a NumPy array.
`math` and most of SciPy never ask. A function that does such a thing is converted (`frontends.python.converter`), and
its copy calls the substitutes of these functions. A substitute is the original for arguments that are not traced.

In a converted function, the makers of arrays that people write into (`np.zeros`, `np.array`, `table.copy()`) give
traced arrays. Their elements are known until something traced is written to them.
"""
