"""Build the error for a traced value that is used where its function is not being traced."""

import threading

from primsplit.ir.errors import TraceError
from primsplit.tracing.places import user_place
from primsplit.tracing.stack import Recording


def not_open(recording: Recording) -> TraceError:
    """Return the error for a value of a recording that is not open here: another thread traces it, or it has ended."""
    if recording.thread != threading.get_ident():
        return TraceError(
            "a traced value is used in another thread than the one that traces its function",
            place=user_place(),
            cure="Compute in that thread: map(f, items) in place of pool.map(f, items).",
        )
    return TraceError(
        "a traced value is used outside the function that it belongs to",
        place=user_place(),
        cure="Return it from the traced function instead of storing it.",
    )
