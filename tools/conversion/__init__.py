"""The rows of docs/conversion.md: what converts and what is refused, by construct, each with an example."""

from tools.conversion.apart import KEPT_APART
from tools.conversion.branches import BRANCHES
from tools.conversion.calls import CALLS
from tools.conversion.containers import CONTAINERS
from tools.conversion.effects import EFFECTS
from tools.conversion.loops import LOOPS
from tools.conversion.many import MANY
from tools.conversion.operators import OPERATORS
from tools.conversion.origins import ORIGINS
from tools.conversion.searches import SEARCHES
from tools.conversion.substitutes import SUBSTITUTES

SECTIONS = (CALLS, BRANCHES, LOOPS, MANY, KEPT_APART, OPERATORS, CONTAINERS, EFFECTS, SUBSTITUTES, SEARCHES, ORIGINS)
