"""Run anyone's program under protocol "1", fairly and with the host's own clock; and rehearse it at home."""

from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.asking.plan import AskingRules, PlanState
from surgvalid.submissions.serve import serve

__all__ = [
    "AskingRules",
    "ExchangeOutcome",
    "PlanState",
    "description",
    "evidence",
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
