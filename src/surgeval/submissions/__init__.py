"""Run anyone's program under protocol "1", fairly and with the host's own clock; and rehearse it at home."""

from surgeval.asking.messages import Outcome as Outcome
from surgeval.asking.plan import Rules as Rules
from surgeval.asking.plan import State as State
from surgeval.submissions.serve import serve as serve

__all__ = [
    "Outcome",
    "Rules",
    "State",
    "compliance",
    "decisions",
    "description",
    "handing_in",
    "intake",
    "phase",
    "phase_run",
    "phase_scores",
    "phase_status",
    "rehearsal",
    "results",
    "serve",
    "stages",
    "starter",
    "uploads",
]
