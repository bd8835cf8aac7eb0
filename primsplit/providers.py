"""The execution providers of onnxruntime that a file may be written for."""

from typing import Literal, get_args

from primsplit.errors import SpecError

Provider = Literal["cpu", "cuda"]
"""A file for "cpu" runs wherever onnxruntime does, and in float32 as a rule on CUDA too; one for "cuda" runs on both.

What CUDA's kernels refuse, or compute in fewer bits than they are given, is spelt otherwise for "cuda": see
`passes/compositions/cuda.py`. That may be slower on the CPU.
"""


def check_provider(provider: str) -> None:
    """Raises SpecError for a provider that files are not written for."""
    if not isinstance(provider, str) or provider not in get_args(Provider):
        raise SpecError(f"provider={provider!r} is none of {', '.join(get_args(Provider))}")
