"""Images and pages: declarative charts, and a report of everything a folder of results holds.

A chart is a pure function from a published table to a `Chart`; it reads no file and computes no statistic that
its table does not hold. A section puts charts and tables in order and says what they mean. The page (HTML) and
the print (PDF) are two renderings of the same sections.
"""

__all__ = [
    "audit_sections",
    "chart",
    "charts",
    "drawing",
    "figures",
    "html",
    "inputs",
    "latex",
    "pdf",
    "report",
    "review",
    "section",
    "sections",
    "serving",
    "templates",
    "verdict_page",
    "wording",
    "words",
]
