"""H1.1: a test set from a single operator, whom no other package asks about."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, failed, passed
from surgvalid.audit.pitfall import Category, Pitfall
from surgvalid.audit.study import AuditedStudy

ABOUT = Pitfall(
    "H1.1",
    "One operator",
    Category.DATA,
    "All test cases are from one operator. Habits of that person are mistaken for properties of the operation.",
    ("bias",),
    (),
    "How many operators the table of cases names. Fails where it is one.",
    "Add videos of other operators, or say that the results hold for one.",
)


def operators(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The operators of the test cases."""
    count = study.table("cases", "operator")["operator"].n_unique()
    number = AuditNumber("operators", count)
    yield (failed if count == 1 else passed)(f"The test cases are from {count} operator(s).", number)


LOOKS = (Look("operators of the test cases", operators),)
