"""Pictures and pages: declarative charts, and a report of everything a folder of results holds.

A chart is a pure function from a published table to a `Chart`; it reads no file and computes no statistic that
its table does not hold. A section puts charts and tables in order and says what they mean. The page (HTML) and
the print (PDF) are two renderings of the same sections.
"""

__all__ = [
    "chart", "charts", "failure_change", "monitor", "plan", "preregistration", "report", "review", "serving", "sharing",
    "study", "study_audit", "supplement", "templates",
]  # fmt: skip
