"""Converts functions: a copy of a function asks operators of ours what a call, an element or a comparison means.

    def f(x):                           def f(x):
        y = math.sin(x)                     y = _ps.called(_ps.owner(math).sin)(x)
        return table[y > 0] * y             return _ps.mult(_ps.indexed(table)[_ps.gt(y, 0)], y)

The copy is a new function object. It has the user's file name, lines and columns, and reads the user's own globals and
cells. Nothing that the user, a library or Python owns is assigned. Which module does what:

* finds the definition of a function in its file: `source`
* rewrites it: `transformer`
* compiles it and makes the function object; one `Conversion` is one run with copies: `copies`
* what `_ps` is in a copy: `operators`; calls in it: `calls`; methods that Python calls, such as `__add__`: `special`
"""
