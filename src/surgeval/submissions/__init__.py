"""Run anyone's program under protocol "1", fairly and with the host's own clock; and rehearse it at home."""

from surgeval.submissions.messages import Outcome as Outcome
from surgeval.submissions.plan import Rules as Rules
from surgeval.submissions.plan import State as State
from surgeval.submissions.serve import serve as serve

__all__ = ["Outcome", "Rules", "State", "serve"]
