"""Records branches as one If each, where there are too many for each of their paths to be recorded.

The user's file is rewritten, with both sides of such an `if` as functions (`rewritten`). Copies of the user's functions
have the converted code (`frontends.python.converter`). Both sides run in one go, and an If chooses what the names are
afterwards. That is right only where the sides change nothing
else. Which module sees to what:

* what the statements do: `statements`; what they call, and what the objects hold that they read: `harmless`; what
  names lead to, through functions, classes and modules: `holders`; arrays that other names show: `one_if`
* other spellings: what follows an early `return` or `continue` goes into the `else`, the name that a test gives before
  the test, the test of `sum(a for k in b if c)` into its terms: `plainer`; an error raised and caught in one `try`:
  `caught`; `match`: `patterns`; generators: `yielding`
* what a side sets in lists, dictionaries, objects, arrays and shared names: noted and undone after the side, by
  `journal`, and what differs comes out of the If: `places`. An array that other names show is lent to the side, with
  all views of it and all that may be it, and taken back
* a name that may be one of several arrays: a view of them all, with a number from the If: `pointers`
* a name that may be None, a text or a number: `either`, `kinds`; read where it may still be several, it is refused:
  `missing`; returned to callers that ask which it is: `handing`
* what Python tells apart by object or class has one answer for both sides or is refused: `identity`, `classes`,
  `telling`. `any` and `all` end at the first that decides, where that would be noticed: `lazily`
* lists of numbers that grow on one side: `lists`, `growing`; lists indexed by a number of the run: `lookups`; stores at
  one: `storing`; frozen dataclasses are values like tuples: `records`; `min`, `max`, `sorted`: `ordering`
* loops that end where the numbers say so are cut behind what may leave them: `exits`; each part is an If that keeps the
  values where the loop has ended: `stepping`. A loop in which what Python knows stays the same has no end, and is
  refused; so is one over a number that only the run knows, with the lines of a `ps.fori_loop`
"""
