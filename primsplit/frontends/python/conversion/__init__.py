"""Records branches on traced values as one If each, where recording each path would take too many paths.

The user's file is rewritten: both sides of such an `if` become functions (`rewriting`, `rewritten`). Copies of the
user's functions get the converted code (`frontends.python.converter`). Both sides run one after the other, and an If
selects the values that the names hold afterwards. That is right only if the sides have no other effects. Each module
has one task:

* Effects: `statements` finds what the statements do; `harmless` checks what they call and read; `holders` follows names
  through functions, classes and modules; `one_if` handles arrays that other names show too; `side_values` finds which
  values an If can output.
* Other spellings: `plainer` moves what follows an early `return` or `continue` into the `else`, an assignment in a test
  before the test, and the test of `sum(a for k in b if c)` into its terms. `caught` handles an error that one `try`
  raises and catches, `patterns` handles `match`, `yielding` handles generators.
* Writes to lists, dictionaries, objects, arrays and shared names: `journal` notes them and undoes them after the side,
  and `places` makes an output of the If from each that differs. An array that other names show is lent to the side with
  its views and all arrays that may be the same, and is taken back after the side.
* A name that may be one of several arrays: `pointers` makes a view of them all, and the If returns the array's number.
* A name that may be None, a string or a number: `either` and `kinds`. `missing` refuses a read where several are
  possible; `handing` returns such a value to a caller that tests which one it is.
* Questions about class or identity: `identity`, `classes` and `telling` give one answer for both sides, or refuse.
  `any` and `all` stop at the first element that decides, where the difference would be seen: `lazily`.
* Lists of numbers that grow on one side: `lists`, `growing`; lists read at a traced index: `lookups`; lists written at
  one: `storing`; frozen dataclasses, which are values like tuples: `records`; `min`, `max`, `sorted`: `ordering`.
* Loops that end by a traced condition: `exits` cuts the body behind each exit, and `stepping` records each part as an
  If that keeps the values once the loop has ended. A loop in which no value that Python knows changes would not end,
  and is refused; so is a loop over a traced count, with the lines of a `ps.fori_loop` as the cure.
"""
