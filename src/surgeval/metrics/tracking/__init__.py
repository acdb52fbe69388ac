"""Tracking: HOTA, DetA, AssA, MOTA, IDF1 and identity switches, per sequence and combined."""

from surgeval.metrics.tracking.clear import IdentitySwitches as IdentitySwitches
from surgeval.metrics.tracking.clear import Mota as Mota
from surgeval.metrics.tracking.hota import Hota as Hota
from surgeval.metrics.tracking.identity import IdentityF1 as IdentityF1
from surgeval.metrics.tracking.perspectives import PERSPECTIVES as PERSPECTIVES
from surgeval.metrics.tracking.perspectives import PerspectiveSequence as PerspectiveSequence
from surgeval.metrics.tracking.perspectives import perspective_table as perspective_table
from surgeval.metrics.tracking.perspectives import tracking_table as tracking_table
from surgeval.metrics.tracking.sequences import TrackSequence as TrackSequence
from surgeval.metrics.tracking.sequences import overlaps as overlaps

__all__ = ["TrackSequence", "overlaps", "sequences"]
