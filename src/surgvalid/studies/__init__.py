"""What answers a person's question on a table: study, plan, monitor, preregistration, sharing, supplement."""

__all__ = [
    "failure_change",
    "monitor",
    "plan",
    "preregistration",
    "sharing",
    "study",
    "study_audit",
    "supplement",
]
