"""Hooks: functions of later rooms that earlier rooms call. The module that defines one sets it.

`HOOKS.checked = checked` in a module registers it. The package's root names the module of each hook that is imported
only when the hook is first asked for, which keeps `import primsplit` small.
"""

from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from primsplit.ir import Block, Value
from primsplit.ir.errors import Place
from primsplit.ir.names import NamedBlock

if TYPE_CHECKING:
    from primsplit.tracing.array import Array
    from primsplit.tracing.branching.exploring import Joining
    from primsplit.tracing.trees import Parts

Run = Callable[..., Any]
Rerun = AbstractContextManager[Run] | None
"""A context that gives what to run in place of a function; None where there is nothing to change."""


class WholeNumber(Protocol):
    """See `Hooks.whole_number`."""

    def __call__(self, asked: "Array", /, *, is_cut: bool = False) -> npt.NDArray[Any] | None: ...


class Hooks:
    """Functions by what they are asked for. One that is not set is imported, or is an AttributeError."""

    # What NumPy's protocols dispatch to.
    apply_ufunc: Callable[..., Any]
    """`(ufunc, method, *inputs, **options)`: the traced form of `ufunc.method(...)`."""
    apply_ufunc_of_objects: Callable[..., Any]
    """`(ufunc, *inputs)`: the traced form of a ufunc that `np.frompyfunc` made."""
    complex_parts: Callable[[Any], "Parts"]
    """The real and the imaginary part of a traced complex array."""
    complex_whole: Callable[[Any, Any], "Array"]
    """The complex array of two parts, at least one of them traced."""

    # What only a run knows.
    scalar_condition: Callable[[Any], Value]
    """A predicate as a bool without axes."""
    whole_number: WholeNumber
    """The integer that the example inputs of a guard give a traced number; None where there are none."""
    rounded_integer: Callable[["Array", Callable[..., Any]], Any]
    """A number rounded by `np.trunc`, `np.rint`, `np.floor` or `np.ceil`, as a Python integer."""
    checked: Callable[..., "Array"]
    """An array; a run in which an element of the second one is True fails with the error."""

    # Loops.
    parallel_scan: Callable[[Block, Sequence["Array"], Sequence["Array"], float], list[Value]]
    """A Scan of this body, these first carries and sequences, whose steps are all computed at once."""

    # The conversion of Python.
    converted: Callable[..., Rerun]
    """Give a converted copy, in which NumPy's, SciPy's and Python's functions have substitutes."""
    converted_source: Callable[[Callable[..., Any]], str]
    """The text of a function's converted copy."""
    join_branches: Callable[["Joining"], Rerun]
    """Let a function record both sides of the statements at the places asked for."""
    expected_conditions: Callable[[Run], Set[Place]]
    """The places of the conditions in the user's functions that a run is expected to ask traced values for."""
    show_truths: Callable[[Run], Rerun]
    """Let a function compare traced truth values by `is`."""
    may_exhaust: Callable[[Any, bool], bool]
    """Whether all elements of an iterable may be taken without a change that the user sees."""
    note_choice: Callable[[Any, Sequence[Any], Callable[[], "Array"]], None]
    """Remember that a value is the one of several at a traced place, for comparisons by `is`."""

    # Rewrites and runs.
    with_live_arrays: Callable[..., Any]
    """Run a function so that names of arrays mean traced arrays."""
    without_invariants: Callable[[Block], Block]
    """Move what does not vary out of a loop's body, as it is recorded."""
    with_straight_through: Callable[[Block], Block]
    """Give integers that stand for quantized numbers their derivative; the block itself if it has none."""
    make_session: Callable[[NamedBlock], Callable[[], Any]]
    """Make a block one that onnxruntime runs."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}

    def import_later(self, module: str, *names: str) -> None:
        """Import a module when one of these hooks is first asked for. The module sets them."""
        self._modules.update(dict.fromkeys(names, module))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._modules:
            raise AttributeError(f"no module sets the hook {name!r}")
        import_module(self._modules[name])
        return vars(self)[name]


HOOKS = Hooks()
