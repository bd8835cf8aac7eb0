"""scipy.fft for traced arrays: the Fourier transforms of np.fft, and cosine and sine transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.cosines import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from primsplit.tracing.array import FUNCTIONS

__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftn", "hfft", "idct", "idctn", "idst", "idstn", "ifft",
    "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
]  # fmt: skip


def _as_numpys(original: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's transform with SciPy's arguments; those about the way of computing are ignored."""
    last = original.__name__[-1]
    usual = (-2, -1) if last == "2" else None if last == "n" else -1

    def transform(
        x: Any,
        size: Any = None,
        axes: Any = usual,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
        **named: Any,
    ) -> Any:
        size, axes = named.pop("n", named.pop("s", size)), named.pop("axis", axes)
        if named:
            raise TypeError(f"{original.__name__} takes no argument {next(iter(named))!r}")
        if usual != -1:
            size, axes = ((v,) if isinstance(v, int | np.integer) else v for v in (size, axes))
        return FUNCTIONS[original](x, size, axes, norm)

    return transform


fft, ifft = _as_numpys(np.fft.fft), _as_numpys(np.fft.ifft)
rfft, irfft = _as_numpys(np.fft.rfft), _as_numpys(np.fft.irfft)
hfft, ihfft = _as_numpys(np.fft.hfft), _as_numpys(np.fft.ihfft)
fft2, ifft2 = _as_numpys(np.fft.fft2), _as_numpys(np.fft.ifft2)
rfft2, irfft2 = _as_numpys(np.fft.rfft2), _as_numpys(np.fft.irfft2)
fftn, ifftn = _as_numpys(np.fft.fftn), _as_numpys(np.fft.ifftn)
rfftn, irfftn = _as_numpys(np.fft.rfftn), _as_numpys(np.fft.irfftn)
