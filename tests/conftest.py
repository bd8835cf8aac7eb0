"""Every test runs with the result of every transform checked."""

from collections.abc import Iterator

import numpy as np
import pytest

from primsplit.verify import checking


@pytest.fixture(autouse=True)
def _check_every_transform() -> Iterator[None]:
    with checking():
        yield


_first_states: dict[str, object] = {}


@pytest.fixture(autouse=True)
def _draw_the_same_alone(request: pytest.FixtureRequest) -> None:
    """A module's `rng` starts each test at its seed: what a test draws does not depend on which tests ran before."""
    rng = getattr(request.module, "rng", None)
    if isinstance(rng, np.random.Generator):
        bits = rng.bit_generator
        bits.state = _first_states.setdefault(request.module.__name__, bits.state)
