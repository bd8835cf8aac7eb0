"""Explore Python branches on traced values: run the function with its branches joined, or once for each path.

The source tells which conditions may depend on traced values (`HOOKS.expected_conditions`). Where there are some, the
function runs once, converted so that both sides of each such branch are recorded as one If (`HOOKS.join_branches`).
That run is all there is, if it answered every condition.

Else a condition that only the run knows is answered first with True, and a function that asks for one runs again with
its branches joined. Where a branch cannot be joined, the function runs once more with the other answer, until every
path has been recorded; then the paths are joined in a tree of Ifs. The operations that two paths record before they
part are the same, and are kept once.

```
def f(x):                     c = Greater(x, 0)
    if x > 0:                 y = If(c)
        return np.sqrt(x)  ->   then: Sqrt(x)
    return 0 * x                else: Mul(0, x)
```
"""

from collections.abc import Hashable, Set
from contextlib import nullcontext
from operator import itemgetter
from typing import Any, NamedTuple

from primsplit import tracing
from primsplit.ir.errors import NumberAsked, Place, PrimsplitError, ShapeError
from primsplit.tracing.array import Array
from primsplit.tracing.branching.following import Exploration, Recorded, Run
from primsplit.tracing.branching.paths import (
    FEW,
    LONGEST,
    LONGEST_OF_LOOP,
    MOST,
    PLACES,
    WAYS_OUT,
    Endless,
    NotJoined,
    Path,
    asks_for_order,
)
from primsplit.tracing.branching.tree import begin_alike
from primsplit.tracing.branching.unread import without_unread
from primsplit.tracing.branching.users_errors import OF_PYTHON, packages_read, packages_through
from primsplit.tracing.branching.whole_numbers import numbers_told
from primsplit.tracing.handles.truths import truths
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.undo_log import end_run, undo_log


def explored(run: Run, *, is_transform: bool = False) -> Recorded:
    """Return what `run` returns, recorded in the current recording, whatever its branches depend on.

    What runs is a converted copy of the function. It is converted anew if it writes to an array of known numbers, which
    is then a traced one, or if substitutes are needed in installed packages. If there are examples, the last run reads
    the integers that they have. A transform of the user's function does the same in each run, so that only the function
    is run once more.

    Raises the error of the last run. What the runs before the last one changed is undone, and all where the function is
    refused.
    """
    with undo_log(only_watches=is_transform) as log:
        try:
            found = _converted(run, expects=not is_transform)
        except BaseException as error:
            if isinstance(error, PrimsplitError) or not isinstance(error, Exception):
                log.undo()  # the user's own errors come after what the function changed, as in Python
            raise
        end_run(_plain)
        return found


def _explain_source(error: PrimsplitError) -> None:
    """Let an error of a function that could not be converted begin with that reason."""
    place = error.place
    if isinstance(error, NumberAsked) and place is not None and not place.source:
        reason = f"the source of {place.function} ({place.filename}) cannot be read, so it is not converted"
        error.because = (error.what, *error.because)
        error.what = reason
        error.cures = ("Define the function in a file or in a notebook.", *error.cures)


def _plain(value: Any) -> Any:
    """Return what a function leaves in the user's objects: a traced array of known numbers as NumPy's."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        parts = tuple(map(_plain, value))
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    if type(value) is not Array or not tracing.is_open(value.recording):
        return value
    known = value.known()
    if known is None:
        return value
    return known.item() if value.weak and not known.shape else known[()].copy() if value.scalar else known.copy()


def _converted(run: Run, *, expects: bool) -> Recorded:
    """Return what a converted copy of `run` returns, as `explored` does."""
    into = tracing.current()
    before = into.snapshot()
    needs, uses_examples = Needs(frozenset(), frozenset(), is_second=False), False
    first: PrimsplitError | None = None
    asked = HOOKS.expected_conditions(run) if expects and into.explores and into.examples is None else frozenset()
    while True:
        into.restore(before)
        try:
            with (
                HOOKS.converted(run, *needs, is_certain=bool(asked)) or nullcontext(run) as copied,
                numbers_told(into.examples) if uses_examples else nullcontext(),
            ):
                return _explored(copied, before, asked)
        except PrimsplitError as error:
            first = error
            more = needs.more(error, run)
            if more == needs:
                if uses_examples or not error.again or into.examples is None:
                    _explain_source(error)
                    raise
                uses_examples = True
            needs = more
        except Exception:
            if first is None or first.__cause__ is None:
                raise
            raise first from first.__cause__  # it tells what a library's function raised


class Needs(NamedTuple):
    """The arrays that a conversion lets be traced, by the places that create them, and functions that it copies."""

    written: frozenset[Hashable]
    packages: frozenset[str]
    """Functions of these packages have substitutes."""
    is_second: bool
    """Arrays that are written to are traced ones, and functions without source have substitutes."""

    def more(self, error: PrimsplitError, run: Run) -> "Needs":
        """Return the needs with those of the error; if it has no new ones, substitutes in packages that `run` reads.

        The objects of these packages may hold the array that is written to.
        """
        is_served = error.again or error.made_at is not None or isinstance(error, ShapeError)
        written, packages = self.written | {error.made_at} - {None}, self.packages | packages_through(error)
        grown = Needs(written, packages, self.is_second or is_served)
        if grown != self:
            return grown
        return grown._replace(packages=self.packages | packages_read(run)) if error.again else grown


def _explored(run: Run, before: tracing.Snapshot, asked: Set[Place]) -> Recorded:
    """Return what `run` returns, recorded in the current recording after what it held `before`.

    If it created truth values of Python's that one of its functions may compare by `is`, a second run handles these.
    Raises as `_in_paths` does.
    """
    made = truths.made
    try:
        result = _in_paths(run, before, asked)
    except Exception:
        with_truths = _truths_told(run, made)
        if with_truths is None:
            raise
    else:
        with_truths = _truths_told(run, made)
        if with_truths is None:
            return result
    tracing.current().restore(before)
    with with_truths as anew:
        return _in_paths(anew, before, frozenset())


def _truths_told(run: Run, made: int) -> Any:
    """Return what lets functions compare traced truth values by `is`.

    None if no new ones were created or none compares.
    """
    return None if truths.made == made else HOOKS.show_truths(run)


def _in_paths(run: Run, before: tracing.Snapshot, asked: Set[Place]) -> Recorded:
    """Return what `run` returns, recorded in the current recording after what it held `before`.

    `run` creates its own handles of the arguments, calls the function, and returns the leaves of the result and their
    structure. It is called with the branches joined that are expected to be `asked` for. If it branches elsewhere, it
    is called again with these joined; where they cannot be, once for each path.

    Raises ConcretizationError if the paths do not end or `branches` is "error", TraceError if paths return results of
    different structures.
    """
    expected = Joining(run, before, asked, of_one_type=True) if asked else None
    if expected is not None and (found := expected.recorded()) is not None:
        return found
    exploration = Exploration(run, before)
    failure: Endless | NumberAsked | None = None
    try:
        exploration.follow(1)
    except (Endless, NumberAsked) as error:
        failure = error
    if failure is None and not exploration.pending:
        return exploration.recorded()
    if failure is None:
        joining = Joining(run, before, exploration.asked(), first=exploration.paths[0], of_one_type=True)
        if (found := joining.knowing(expected).recorded()) is not None:
            return found
    try:
        if failure is None:
            exploration.follow(FEW, gives_up=True)
    except (Endless, NumberAsked) as error:
        failure = error
    if failure is None and not exploration.pending:
        return exploration.recorded()
    joining = Joining(run, before, exploration.asked(), first=exploration.paths[0]).knowing_endless(expected)
    if isinstance(failure, NumberAsked) and not joining.asks_for(failure):
        raise failure
    return joining.recorded() or _without_joins(exploration, joining, failure)


def _without_joins(exploration: "Exploration", joining: "Joining", failure: Endless | NumberAsked | None) -> Recorded:
    """Return what the function returns, path by path. Raises the failure of its first path, if there is one."""
    if isinstance(failure, NumberAsked):
        raise joining.explained(failure)
    try:
        if failure is not None:
            raise failure
        if joining.endless:
            exploration.check_end()
        exploration.follow(MOST, longest=LONGEST_OF_LOOP if joining.endless else LONGEST)
    except Endless as error:
        if joining.asked_for_number is not None:
            raise joining.asked_for_number from error
        error.again = error.again or any(map(asks_for_order, joining.asked))
        joining.explain(error)
        raise
    return exploration.recorded()


class Joining:
    """A function, run with both sides of some branches joined in one If.

    With `of_one_type` only branches are joined whose sides give each name values of one type, as lists that may grow do
    not: such a function does what it does on one path. `first` is the path that was recorded without joins; without
    one, the function has not run before, and what it does is right only in one run, or where its runs are alike.
    """

    def __init__(
        self,
        run: Run,
        before: tracing.Snapshot,
        asked: Set[Place],
        *,
        first: Path | None = None,
        of_one_type: bool = False,
    ) -> None:
        self.run, self.before, self.of_one_type = run, before, of_one_type
        self.first = first
        self.asked = {*asked}
        self.left_out: dict[tuple[str, int], str] = {}
        self.refused: dict[tuple[str, int], str] = {}
        """Why some statements with conditions are never joined."""
        self.noting: set[str] = set()
        """The files whose functions note what they set, also where nothing was tested."""
        self.growing: set[tuple[str, int]] = set()
        """The places of branches after which a list has another length on one side."""
        self.endless: dict[tuple[str, int], str] = {}
        """Why some loops may have no end."""
        self.asked_for_number: PrimsplitError | None = None
        """The error of a run with joins that substitutes may do without."""
        self.failure: PrimsplitError | None = None
        """The error of the last run with joins."""

    def recorded(self) -> Recorded | None:
        """Return what the function returns; None if it still has too many paths.

        A function that has not run before is run again only with more branches joined: others are better followed.
        """
        into = tracing.current()
        if not into.explores or into.examples is not None:
            return None
        while (joined := self._joins()) is not None:
            into.restore(self.before)
            exploration = Exploration(self.run, self.before)
            known = len(self.asked)
            try:
                with joined as exploration.run:
                    exploration.follow(1 if self.first is None else FEW, gives_up=self.of_one_type)
                    is_deep = exploration.is_deep() and (self.of_one_type or not exploration.asked() <= self.asked)
                    if not exploration.pending and not is_deep:
                        is_same = self.first is None or begin_alike(
                            self.first, exploration.paths[0], len(self.before[0])
                        )
                        return _without_unread(exploration.recorded(), self.before) if is_same else None
            except NotJoined as error:
                if not self._learns(error) or (self.first is None and error.at in self.left_out):
                    return None
                continue
            except Endless:
                pass
            except (PrimsplitError, TypeError, AttributeError, *OF_PYTHON) as error:
                if not self.asks_for(error):
                    return None
                continue
            self.asked |= exploration.asked()
            if len(self.asked) == known:
                return None
        return None

    def knowing(self, other: "Joining | None") -> "Joining":
        """Return this with what runs of another one learned: branches that are not joined, and files that note."""
        if other is not None:
            self.left_out |= other.left_out
            self.noting |= other.noting
        return self

    def knowing_endless(self, other: "Joining | None") -> "Joining":
        """Return this without the loops of which runs of another one learned that they may have no end."""
        if other is not None:
            self.endless |= other.endless
            self.left_out |= other.endless
        return self

    def asks_for(self, error: Exception) -> bool:
        """Let lists and dictionaries be read at traced indices at the place of an error; return False if they were."""
        if isinstance(error, NumberAsked) and error.what.startswith(PLACES) and not self.of_one_type:
            is_new = error.place is not None and error.place not in self.asked
            self.asked |= {p for p in (error.place,) if p is not None}
            if is_new:
                return True
        if isinstance(error, PrimsplitError):
            self.failure = error
            if error.again:
                self.asked_for_number = error
        return False

    def _joins(self) -> Any:
        """Return a context manager that joins the branches; None if none may be joined."""
        return HOOKS.join_branches(self)

    def _learns(self, error: NotJoined) -> bool:
        """Let functions of other files note what they set, or lists grow, or else leave the branch out.

        Return False if it was left out before.
        """
        self.endless |= {error.at: error.what} if error.goes_on else {}
        if error.index_at is not None and error.index_at not in self.asked and not self.of_one_type:
            self.asked.add(error.index_at)
        elif not self.noting.issuperset(error.to_note):
            self.noting |= error.to_note
        elif error.grows and error.at not in self.growing and not self.of_one_type:
            self.growing.add(error.at)
        elif error.at in self.left_out:
            return False
        else:
            self.left_out[error.at] = error.what
        return True

    def explained(self, error: NumberAsked) -> PrimsplitError:
        """Return the error, beginning with the first branch that is not joined: else joins would serve what was asked.

        If a run with joins failed at the same place, return its error, which knows more.
        """
        if self.failure is not None and self.failure.place == error.place:
            return self.failure
        if self.failure is not None or not self.left_out or error.place is None:
            return error
        (at, why), *_ = self.left_out.items()
        error.because = (f"so line {error.place.line} fails: {error.what}",)
        error.what = f"the branch at line {at[1]} cannot become one If: {why}"
        error.place = next((p for p in self.asked if (p.filename, p.line) == at), error.place)
        error.cures = WAYS_OUT
        return error

    def explain(self, error: Endless) -> None:
        """Let an error begin with the first reason why branches are not joined, if there is one.

        A reason without a line, 0, is about the whole file.
        """
        by_line = sorted(((line, why) for (_, line), why in (self.refused | self.left_out).items()), key=itemgetter(0))
        told = [why if line == 0 else f"the branch at line {line} cannot become one If: {why}" for line, why in by_line]
        if self.failure is not None and self.failure.place is not None:
            told.append(f"with its branches in Ifs, line {self.failure.place.line} fails: {self.failure.what}")
        if told:
            first, *others = told[:3]
            error.because = (error.what, *error.because, *others)
            error.what = first


def _without_unread(recorded: Recorded, before: tracing.Snapshot) -> Recorded:
    """Drop from the current recording the results of branches that nothing reads; return what was `recorded`."""
    into, count = tracing.current(), len(before[0])
    sizes = (*into.known.values(), *(var for var, _ in into.sources.values()))
    results = (array.value for array in recorded[0])
    into.ops[count:] = without_unread(into.ops[count:], [*results, *sizes])
    return recorded
