"""Record what a function does: the stack of recordings, `emit`, sizes as values, and the user's line.

A Recording collects ops. Recordings nest: an op recorded inside may read a Var of a recording around it, which makes
that Var a capture of the inner block. Each thread has a stack of its own.
"""

from primsplit.tracing.closed import not_open
from primsplit.tracing.emission import append, close, constant, emit, emit_call, inline
from primsplit.tracing.places import (
    Instruction,
    asking_frame,
    called_function,
    defined_at,
    is_asked_by_user,
    is_in_call_of,
    is_library,
    is_operator,
    is_users_own,
    line_with_type,
    user_instruction,
    user_place,
    users_frames,
)
from primsplit.tracing.rewritten_loops import as_fori_loop
from primsplit.tracing.sizes import check_size, is_readable, size_of, size_of_number, size_vector
from primsplit.tracing.source_nodes import nodes_around
from primsplit.tracing.stack import (
    Examples,
    Path,
    Recording,
    Snapshot,
    current,
    fresh_stack,
    is_open,
    is_recording,
    number_for_examples,
    ops_backwards,
    outcomes_for_examples,
    readable_sizes,
    recorded_ops,
    recording,
    remarked,
    resumed,
)
from primsplit.tracing.use_sites import (
    is_attribute_asked,
    is_caught,
    is_computed_with,
    is_decided_by,
    is_shown_alone,
    is_told,
)
from primsplit.tracing.variables import name_after

__all__ = [
    "Examples",
    "Instruction",
    "Path",
    "Recording",
    "Snapshot",
    "append",
    "as_fori_loop",
    "asking_frame",
    "called_function",
    "check_size",
    "close",
    "constant",
    "current",
    "defined_at",
    "emit",
    "emit_call",
    "fresh_stack",
    "inline",
    "is_asked_by_user",
    "is_attribute_asked",
    "is_caught",
    "is_computed_with",
    "is_decided_by",
    "is_in_call_of",
    "is_library",
    "is_open",
    "is_operator",
    "is_readable",
    "is_recording",
    "is_shown_alone",
    "is_told",
    "is_users_own",
    "line_with_type",
    "name_after",
    "nodes_around",
    "not_open",
    "number_for_examples",
    "ops_backwards",
    "outcomes_for_examples",
    "readable_sizes",
    "recorded_ops",
    "recording",
    "remarked",
    "resumed",
    "size_of",
    "size_of_number",
    "size_vector",
    "user_instruction",
    "user_place",
    "users_frames",
]
