"""Follow the paths of a function: run it once for each way through its branches, and join what the runs recorded.

```
def f(x):                     c = Greater(x, 0)       first run, which answers True:   Greater, Sqrt
    if x > 0:                 y = If(c)               second run, which answers False: Greater, Mul
        return np.sqrt(x)  ->   then: Sqrt(x)
    return 0 * x                else: Mul(0, x)
```
"""

from collections.abc import Callable, Sequence

from primsplit import tracing
from primsplit.ir.errors import Place, PrimsplitError, TraceError, quietly
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.paths import COSTLY, LONGEST, SHALLOW, Path, check_number
from primsplit.tracing.branching.repeating import check_repeats
from primsplit.tracing.branching.tree import PathTree
from primsplit.tracing.branching.users_errors import (
    asked_by_library,
    errors_not_caught,
    errors_of_elements,
    is_the_functions,
    place_of,
)
from primsplit.tracing.undo_log import has_repeated, keep_error, undo_run

Run = Callable[[], tuple[Sequence[Array], trees.TreeSpec]]
Recorded = tuple[list[Array], trees.TreeSpec]
"""The leaves of a function's result, and their structure."""


class Exploration:
    """The paths of a function that have been recorded, and those that are pending."""

    def __init__(self, run: Run, before: tracing.Snapshot) -> None:
        self.run, self.before = run, before
        self.paths: list[Path] = []
        self.pending: list[tuple[bool, ...]] = [()]

    def follow(self, most: int, *, gives_up: bool = False, longest: int = LONGEST) -> None:
        """Record the pending paths, until there are more than `most`. Raises Endless.

        Paths that part early come first: what follows them is counted soonest, so that too many paths are noticed
        early. With `gives_up`, stop also when it takes long: when a path is deep, or all together have many ops.
        """
        into = tracing.current()
        while self.pending and len(self.paths) + len(self.pending) <= most and not (gives_up and self._takes_long()):
            path = Path(self.pending.pop(0), __file__)
            into.restore(self.before)
            self.paths.append(path)
            _follow(path, self.run)
            answers = [d.outcome for d in path.taken]
            unknown = [i for i, d in enumerate(path.taken) if i >= len(path.answers) and not d.settled]
            # Paths that part first are followed first, so that too many are counted after few.
            self.pending += [(*answers[:i], False) for i in unknown]
            check_number(self.paths, len(self.pending), longest)

    def check_end(self) -> None:
        """Raise Endless if the path on which no condition holds has no end; leaving its loop takes too many paths."""
        tracing.current().restore(self.before)
        _follow(Path((), __file__, default=False), self.run)

    def _takes_long(self) -> bool:
        count, ops = COSTLY
        many = len(self.paths) + len(self.pending) > count
        return self.is_deep() or (many and sum(len(p.ops) for p in self.paths) > ops)

    def is_deep(self) -> bool:
        """Whether the last path tests more conditions than should nest."""
        return bool(self.paths) and sum(not d.settled for d in self.paths[-1].taken) > SHALLOW

    def recorded(self) -> Recorded:
        """Record the paths as one program. Raises TraceError where the function does something else in each run."""
        if has_repeated():
            self._check_repeats()
        paths = self.paths
        if len(paths) == 1 and (not paths[0].taken or paths[0].failure is not None):
            return _only(paths[0])
        tree = PathTree(paths, len(self.before[0]))  # where they do not fit, what the last one recorded tells how far
        tracing.current().restore(self.before)
        return tree.record()

    def _check_repeats(self) -> None:
        """Run the first path once more. That run stands for it, since what it recorded is in the recording."""
        first = self.paths[0]
        again = Path(tuple(d.outcome for d in first.taken), __file__)
        tracing.current().restore(self.before)
        with quietly():
            _follow(again, self.run)
        check_repeats(first, again, len(self.before[0]))
        self.paths[0] = again

    def asked(self) -> set[Place]:
        """Return the places where the paths tested conditions."""
        return {d.place for path in self.paths for d in path.taken if d.place is not None}


def _only(path: Path) -> Recorded:
    if path.failure is not None:
        raise path.failure
    if path.spec is None:
        raise TraceError("the function was not run")
    return path.results, path.spec


def _follow(path: Path, run: Run) -> None:
    """Run the function along a path. An error that the function itself raises belongs to the path.

    What an earlier run changed is undone first.
    """
    undo_run()
    into = tracing.current()
    into.path = path if into.explores else None
    active = () if into.examples is None else into.examples.active
    try:
        with errors_of_elements(), errors_not_caught():
            results, path.spec = run()
        path.results = [as_array(r) for r in results]
        path.values = [a.value for a in path.results]
    except PrimsplitError as error:
        if not path.taken or error.numpys is None:
            raise
        path.failure, path.failed_at = error, error.place
    except (Exception, SystemExit) as error:
        if not path.taken or not is_the_functions(error):
            if (asked := asked_by_library(error)) is not None:
                raise asked from error
            raise
        keep_error(error)
        path.failure = error
        path.failed_at = place_of(error)
    finally:
        into.path = None
        if into.examples is not None:
            into.examples.active = active
    path.ops = into.ops
