"""What answers a person's question on a table: study with its local page, plan, monitor, preregistration, sharing,
supplement."""

__all__ = [
    "failure_change",
    "local_page",
    "monitor",
    "plan",
    "preregistration",
    "r_analysis",
    "sharing",
    "study",
    "study_audit",
    "supplement",
]
