"""Read the call stack. No other module of the package asks Python for frames.

```
def operator(x):                     # called by the user's function
    frame = frame_out(1)             # the frame of the user's function
```
"""

import sys
from collections.abc import Callable
from types import FrameType


def frame_out(depth: int) -> FrameType:
    """Return the frame that is `depth` calls out from the function that asks: 1 for its caller."""
    return sys._getframe(depth + 1)


def innermost_frame(is_skipped: Callable[[str], bool]) -> FrameType | None:
    """Return the innermost frame whose file is not skipped; None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_skipped(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
