"""Name the module that adds the special functions to the tables of functions, imported when a table lacks a name."""

from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX
from primsplit.numpy.complex.arithmetic import ELEMENTWISE as COMPLEX
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.tracing.array import FUNCTIONS

for _table in (FUNCTIONS, ELEMENTWISE, COMPLEX, ALWAYS_COMPLEX):
    _table.import_later("primsplit.special.families")
