"""Tables of tracking metrics per sequence and combined, for one or for several meanings of identity.

CholecTrack20 (Nwoye et al., CVPR 2025) gives every box three identities: `visibility` (until the tool leaves the
view), `intracorporeal` (until it leaves the body) and `intraoperative` (for the whole procedure). A tracker that is
perfect in one is not in another, so a value without its perspective is not a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from surgvalid.errors import UnknownName
from surgvalid.metrics.metric import Metric
from surgvalid.metrics.tracking.measures import Hota, IdentityF1, IdentitySwitches, Mota
from surgvalid.metrics.tracking.sequences import Labels, TrackSequence, overlaps

PERSPECTIVES = ("visibility", "intracorporeal", "intraoperative")
"""The meanings of identity in CholecTrack20, from the shortest-lived to the longest."""

COMBINED = "combined"
"""The name of the row over all sequences."""


@dataclass(frozen=True, slots=True)
class PerspectiveSequence:
    """Boxes of one video with one identity per perspective."""

    reference_frame: npt.ArrayLike
    reference_id: Mapping[str, Labels]
    reference_box: npt.ArrayLike
    prediction_frame: npt.ArrayLike
    prediction_id: Mapping[str, Labels] | Labels
    """By perspective, or one list where the tracker knows only one kind of identity."""
    prediction_box: npt.ArrayLike
    reference_class: Labels | None = None
    prediction_class: Labels | None = None
    name: str = ""

    def seen_as(self, perspective: str) -> TrackSequence:
        """The sequence with the identities of one perspective.

        Raises:
            UnknownName: One side has no such perspective.
        """
        if perspective not in self.reference_id:
            raise UnknownName("perspective", perspective, self.reference_id)
        theirs = self.prediction_id
        if isinstance(theirs, Mapping):
            if perspective not in theirs:
                raise UnknownName("perspective", perspective, theirs)
            theirs = theirs[perspective]
        return TrackSequence(
            self.reference_frame,
            self.reference_id[perspective],
            self.reference_box,
            self.prediction_frame,
            theirs,
            self.prediction_box,
            self.reference_class,
            self.prediction_class,
            self.name,
        )


def tracking_table(sequences: Sequence[TrackSequence]) -> pl.DataFrame:
    """Every tracking metric of every sequence, and of all of them together in the last row."""
    metrics: tuple[Metric, ...] = (
        Hota(),
        Hota(component="deta"),
        Hota(component="assa"),
        Mota(),
        IdentityF1(),
        IdentitySwitches(),
    )
    overlapping, count = [overlaps(sequence) for sequence in sequences], len(sequences)
    weights = np.vstack([np.eye(count), np.ones((1, count))])
    columns = {m.facts.name: m.combine(m.prepare(overlapping), weights) for m in metrics}
    columns["id_switches"][-1] *= count
    names = [sequence.name or str(index) for index, sequence in enumerate(sequences)]
    return pl.DataFrame({"sequence": [*names, COMBINED], **columns})


def perspective_table(
    sequences: Sequence[PerspectiveSequence], *, perspectives: Sequence[str] = PERSPECTIVES
) -> pl.DataFrame:
    """`tracking_table` for each perspective, one below the other."""
    parts = []
    for perspective in perspectives:
        table = tracking_table([sequence.seen_as(perspective) for sequence in sequences])
        parts.append(table.select(pl.lit(perspective).alias("perspective"), pl.all()))
    return pl.concat(parts)
