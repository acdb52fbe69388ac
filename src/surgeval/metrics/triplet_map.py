"""Which instrument, verb and target each action triplet is made of.

The classes of CholecT45 and CholecT50 (Nwoye et al., Medical Image Analysis 78, 2022): 100 triplets of 6
instruments, 10 verbs and 15 targets, the last six with the null verb and the null target of one instrument each.
A component is the set of triplets that share an instrument, a verb, a target or a pair of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse, UnknownName

COMPONENTS = ("ivt", "i", "v", "t", "iv", "it")
"""Triplet, instrument, verb, target, and the two pairs with the instrument."""


@dataclass(frozen=True, slots=True)
class TripletMap:
    """Instrument, verb and target of every triplet, in the order of the triplet classes."""

    name: str
    triplets: tuple[tuple[int, int, int], ...]
    null: frozenset[int]
    """Triplets that mean no action."""

    def members(self, component: str, *, null: bool = True) -> list[npt.NDArray[np.intp]]:
        """For each class of a component, in rising order of its id, the triplets that belong to it.

        Args:
            component: One of `COMPONENTS`.
            null: Whether the null triplets take part; without them the null verb and target are no classes.
        """
        if component not in COMPONENTS:
            raise UnknownName("component of triplets", component, COMPONENTS)
        positions = {"ivt": (0, 1, 2), "i": (0,), "v": (1,), "t": (2,), "iv": (0, 1), "it": (0, 2)}[component]
        kept = [index for index in range(len(self.triplets)) if null or index not in self.null]
        key = {
            index: (index,) if component == "ivt" else tuple(self.triplets[index][place] for place in positions)
            for index in kept
        }
        return [np.array([i for i in kept if key[i] == one], np.intp) for one in sorted(set(key.values()))]

    def component(self, table: npt.ArrayLike, component: str, *, null: bool = True) -> npt.NDArray[Any]:
        """A table `[frame, triplet]` as `[frame, class of the component]`: the largest of each class's triplets.

        Example:
            >>> tiny = TripletMap("tiny", ((0, 0, 0), (0, 1, 0), (1, 0, 1)), frozenset())
            >>> tiny.component([[0.2, 0.7, 0.1]], "i").tolist()
            [[0.7, 0.1]]
        """
        whole = np.asarray(table)
        if whole.ndim != 2 or whole.shape[1] != len(self.triplets):
            raise Misuse(f"{self.name} has {len(self.triplets)} triplets, got a table of shape {whole.shape}")
        return np.stack([whole[:, classes].max(axis=1) for classes in self.members(component, null=null)], axis=1)


_BY_INSTRUMENT_AND_VERB = (
    (0, 2, (1, 0, 10)),
    (0, 0, (3, 2, 4, 1, 0, 12, 8, 10, 11, 13)),
    (0, 8, (0,)),
    (0, 1, (2, 4, 1, 0, 12, 8, 10, 11)),
    (1, 3, (7, 5, 3, 2, 4, 1, 0, 8, 10, 11)),
    (1, 2, (9, 3, 2, 1, 0, 10)),
    (1, 0, (1, 8, 13)),
    (1, 1, (2, 4, 0, 8, 10)),
    (2, 3, (5, 3, 2, 4, 1, 0, 8, 10)),
    (2, 5, (5, 11)),
    (2, 2, (5, 3, 2, 1, 0, 10, 11)),
    (2, 1, (0, 8)),
    (3, 3, (10,)),
    (3, 5, (9, 5, 3, 2, 1, 8, 10, 11)),
    (3, 2, (1, 0, 10)),
    (4, 4, (5, 3, 2, 4, 1)),
    (5, 6, (6,)),
    (5, 2, (2, 4, 1, 0, 10)),
    (5, 7, (7, 4, 8)),
    (5, 1, (0, 8, 10)),
)
"""(instrument, verb, targets): the triplets with an action, in the order of their class ids."""

CHOLECT50_TRIPLETS = TripletMap(
    "CholecT50",
    (
        *((i, v, t) for i, v, targets in _BY_INSTRUMENT_AND_VERB for t in targets),
        *((instrument, 9, 14) for instrument in range(6)),
    ),
    frozenset(range(94, 100)),
)
"""The 100 classes of CholecT45 and CholecT50."""
