"""List the providers that files are written for, how a file takes its weights, and what it tells of its source."""

from typing import Literal, get_args

from primsplit.ir.errors import SpecError

Provider = Literal["cpu", "cuda"]
"""A file for "cpu" runs wherever onnxruntime does, and in float32 as a rule on CUDA too; one for "cuda" runs on both.

What CUDA's kernels refuse, or compute in fewer bits than their inputs have, is written in other operators for "cuda":
see `targets/cuda.py`. They may be slower on the CPU.
"""

GivenAs = Literal["inputs", "defaults"]
"""The form in which a file takes weights that it differentiates: inputs without or with defaults.

The defaults are the model's numbers. A run may leave out an input with a default. onnxruntime for JavaScript cannot set
one: in node it silently uses the default, and in browsers it refuses the name.
"""

Provenance = Literal["full", "lines", "none"]
"""The amount of provenance in a file: of the program that it was written from.

"full": the user's lines with their text; "lines": files, line numbers and names of functions and variables; "none":
none of that, and no text of an error that the user raises. Inputs, outputs, states and weights keep their names.
"""


def check_provenance(provenance: str) -> None:
    """Raise SpecError for another provenance."""
    if not isinstance(provenance, str) or provenance not in get_args(Provenance):
        raise SpecError(f"provenance={provenance!r} is none of {', '.join(get_args(Provenance))}")


def check_provider(provider: str) -> None:
    """Raise SpecError for a provider that files are not written for."""
    if not isinstance(provider, str) or provider not in get_args(Provider):
        raise SpecError(f"provider={provider!r} is none of {', '.join(get_args(Provider))}")


def check_given_as(weights: str) -> None:
    """Raise SpecError for another way to take weights."""
    if not isinstance(weights, str) or weights not in get_args(GivenAs):
        raise SpecError(f"weights={weights!r} is none of {', '.join(get_args(GivenAs))}")
