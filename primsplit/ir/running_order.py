"""Sort positions so that each comes behind those that it needs, and otherwise stays where it is.

```
needs = [{2}, {}, {}]                                ->   1, 2, 0
needs = [{}, {}, {}], groups = ["a", "b", "a"]       ->   0, 2, 1
```
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from heapq import heappop, heappush


def in_order(needs: Sequence[Collection[int]], groups: Sequence[Hashable] | None = None) -> list[int]:
    """Return all positions, each behind those in its `needs`, the lowest first; fewer if there is a cycle.

    With `groups`, those of the group of the last position come before others. The first group is None, if there is one.
    """
    group_of = [None] * len(needs) if groups is None else groups
    readers: list[list[int]] = [[] for _ in needs]
    for place, each in enumerate(needs):
        for need in each:
            readers[need].append(place)
    lacks = [len(each) for each in needs]
    free = [place for place, count in enumerate(lacks) if not count]
    ready: list[int] = []
    ready_of: defaultdict[Hashable, list[int]] = defaultdict(list)
    order: dict[int, None] = {}
    group: Hashable = None
    while free or ready:
        for place in free:
            heappush(ready, place)
            heappush(ready_of[group_of[place]], place)
        free = []
        place = heappop(ready_of[group] or ready)
        if place in order:
            continue
        order[place] = None
        group = group_of[place]
        for reader in readers[place]:
            lacks[reader] -= 1
            if not lacks[reader]:
                free.append(reader)
    return [*order]
