"""Converts functions: in a copy of a function, calls, elements and comparisons go through operators of this package.

    def f(x):                           def f(x):
        y = math.sin(x)                     y = _ps.called(_ps.owner(math).sin)(x)
        return table[y > 0] * y             return _ps.mult(_ps.indexed(table)[_ps.gt(y, 0)], y)

The copy is a new function object. It has the user's file name, lines and columns, and reads the user's own globals and
cells. Nothing that the user, a library or Python owns is assigned. Each module has one task:

* `source` finds the definition of a function in its file, and `transformer` rewrites it;
* `copies` compiles it and creates the function object; one `Conversion` is one run with copies;
* `operators` defines what `_ps` is in a copy, `calls` the calls in it, and `special` the methods that Python itself
  calls, such as `__add__`.
"""
