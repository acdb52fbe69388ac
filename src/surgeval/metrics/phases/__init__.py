"""Phases and other labels over time: frames, segments, transitions and stability."""

from surgeval.metrics.phases.forgiveness import CHOLEC80_PHASES as CHOLEC80_PHASES
from surgeval.metrics.phases.forgiveness import CHOLEC80_TRANSITIONS as CHOLEC80_TRANSITIONS
from surgeval.metrics.phases.forgiveness import AllowedTransitions as AllowedTransitions
from surgeval.metrics.phases.frames import PhaseAccuracy as PhaseAccuracy
from surgeval.metrics.phases.frames import PhaseMeasure as PhaseMeasure
from surgeval.metrics.phases.segmental import EditScore as EditScore
from surgeval.metrics.phases.segmental import SegmentF1 as SegmentF1
from surgeval.metrics.phases.segmental import edit_score as edit_score
from surgeval.metrics.phases.segmental import segment_counts as segment_counts
from surgeval.metrics.phases.stability import Flicker as Flicker
from surgeval.metrics.phases.stability import ShortSegments as ShortSegments
from surgeval.metrics.phases.stability import SpuriousSwitches as SpuriousSwitches
from surgeval.metrics.phases.stability import label_changes as label_changes
from surgeval.metrics.phases.stability import spurious_switches as spurious_switches
from surgeval.metrics.phases.transitions import TransitionDelay as TransitionDelay
from surgeval.metrics.phases.transitions import TransitionDetection as TransitionDetection
from surgeval.metrics.phases.transitions import match_transitions as match_transitions
from surgeval.metrics.phases.videos import PhaseVideo as PhaseVideo
from surgeval.metrics.phases.videos import segments as segments

__all__ = ["CHOLEC80_PHASES", "PhaseVideo"]
