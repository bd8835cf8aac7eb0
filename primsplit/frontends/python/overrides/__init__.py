"""Serves functions of NumPy, SciPy and `math` that ask a traced value for a number.

NumPy asks an array for its own form of `np.sum(x)`, but not where the array is inside of a list (`np.array([a, b])`,
`np.mean([a, b])`), an index of a NumPy array (`table[i]`), a size (`np.zeros(n)`), or is written into a NumPy array.
`math` and most of SciPy never ask. A function that does such a thing is run again (`exploring.explored`), and while it
runs, the names of these modules and functions in the user's modules, and in the cells of the function, mean what stands
in for them. A substitute is the original, but for traced arguments in the thread that runs a function again; so other
threads do not notice, and a function that can be recorded as it is never meets one.

In a function that is run again, the makers of arrays that people write into (`np.zeros`, `np.array`, `table.copy()`)
give traced arrays. Their elements are known until something traced is written to them.

The copies read their modules through views, so that no other thread sees a name change. A class holds a method itself:
a dispatcher stands there while the run lasts, which calls the copy in that thread alone. Where copies do not reach all
that is read (a table in an object that traced numbers index, a function of the user's in a container, one behind
`functools.lru_cache`, code that deletes globals, installed packages), the names themselves hold substitutes for one
more run (`names`), and are put back afterwards, whatever happens. The names of installed packages mean substitutes as
well, with `float`, which the user's own code is refused, and `int`.
"""

from primsplit.frontends.python.overrides import arrays, complex_numbers, iterating, numbers, running, vectorized

families = (arrays, complex_numbers, iterating, numbers, running, vectorized)
