"""scipy.fftpack for traced arrays: the predecessor of scipy.fft, with unscaled inverse cosine and sine transforms."""

from collections.abc import Callable
from typing import Any

from primsplit.frontends.scipy import cosines
from primsplit.frontends.scipy import fft as newer

__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftn", "idct", "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn",
]  # fmt: skip

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type of the transform that, but for its scale, turns one of a type back."""


def _of_parts(transform: Callable[..., Any], *, inverse: bool) -> Callable[..., Any]:
    """A cosine or sine transform; `n` or `shape` is how many numbers are transformed."""

    def call(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: Any = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        *,
        shape: Any = None,
        axes: Any = None,
    ) -> Any:
        several = transform in {cosines.dctn, cosines.dstn}
        along = axes if axis is None else axis
        along = -1 if along is None and not several else along
        return transform(x, _INVERSE[type] if inverse else type, shape if n is None else n, along, norm)

    return call


def _of_fourier(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A Fourier transform, whose sizes are called `shape` where there are several."""

    def call(x: Any, *args: Any, overwrite_x: bool = False, **named: Any) -> Any:
        if "shape" in named:
            named["s"] = named.pop("shape")
        return transform(x, *args[:2], **named)

    return call


dct, idct = _of_parts(cosines.dct, inverse=False), _of_parts(cosines.dct, inverse=True)
dst, idst = _of_parts(cosines.dst, inverse=False), _of_parts(cosines.dst, inverse=True)
dctn, idctn = _of_parts(cosines.dctn, inverse=False), _of_parts(cosines.dctn, inverse=True)
dstn, idstn = _of_parts(cosines.dstn, inverse=False), _of_parts(cosines.dstn, inverse=True)
fft, ifft = _of_fourier(newer.fft), _of_fourier(newer.ifft)
fft2, ifft2 = _of_fourier(newer.fft2), _of_fourier(newer.ifft2)
fftn, ifftn = _of_fourier(newer.fftn), _of_fourier(newer.ifftn)
