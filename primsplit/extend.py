"""Teach primsplit your own operators, rules, functions, rewrites and stages: the one door to every table.

A name that is no operator's, a rule of other arguments, and a second registration by another module are refused where
they are registered. `docs/extending.md` walks through it.
"""

from primsplit.frontends.python.converter.copies import converted
from primsplit.frontends.python.overrides.standing import stands_in_for
from primsplit.ir.runtimes import fault
from primsplit.numpy.implementing import implements
from primsplit.onnx.definitions.families import defines
from primsplit.onnx.definitions.operators import operator
from primsplit.ops import op
from primsplit.rewrites.decompositions.own import decompose
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.rewrites.rewrites.patterns import rewrite
from primsplit.rules.table import partials
from primsplit.targets.own_stages import stage
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to, reshape_to, sum_to
from primsplit.transforms.batching.rules import batch
from primsplit.transforms.batching.table import Shared, Site
from primsplit.transforms.tangents.frules import frule
from primsplit.transforms.tangents.rrules import rrule

__all__ = [
    "Shared",
    "Site",
    "array_like",
    "batch",
    "converted",
    "decompose",
    "defines",
    "expand_to",
    "fault",
    "frule",
    "implements",
    "op",
    "operator",
    "partials",
    "pattern",
    "reshape_to",
    "rewrite",
    "rrule",
    "stage",
    "stands_in_for",
    "sum_to",
]
