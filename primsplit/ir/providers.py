"""Where a file runs: the execution providers of onnxruntime, and how its weights are given there."""

from typing import Literal, get_args

from primsplit.ir.errors import SpecError

Provider = Literal["cpu", "cuda"]
"""A file for "cpu" runs wherever onnxruntime does, and in float32 as a rule on CUDA too; one for "cuda" runs on both.

What CUDA's kernels refuse, or compute in fewer bits than they are given, is spelt otherwise for "cuda": see
`targets/cuda.py`. That may be slower on the CPU.
"""

GivenAs = Literal["inputs", "defaults"]
"""How a file takes weights that it differentiates: as plain inputs, or as inputs that keep the model's numbers.

A run may leave out an input with a default. onnxruntime for JavaScript cannot be given one: in node it goes on with the
default, without a word, and in browsers it refuses the name.
"""


def check_provider(provider: str) -> None:
    """Raises SpecError for a provider that files are not written for."""
    if not isinstance(provider, str) or provider not in get_args(Provider):
        raise SpecError(f"provider={provider!r} is none of {', '.join(get_args(Provider))}")


def check_given_as(weights: str) -> None:
    """Raises SpecError for another way to take weights."""
    if not isinstance(weights, str) or weights not in get_args(GivenAs):
        raise SpecError(f"weights={weights!r} is none of {', '.join(get_args(GivenAs))}")
