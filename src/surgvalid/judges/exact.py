"""The judge that compares letters: right if candidate and reference read the same after tidying.

Tidying is Unicode NFKC, case folding, white space reduced to single blanks, and one trailing period
removed. Nothing else: "2 clips" and "two clips" differ. So it never accepts a wrong answer, rejects
every right one in other words, and its share of accepted answers is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from surgvalid.judges._case import JUDGED, JudgeCase, Verdict
from surgvalid.schema.questions.formats import tidied

USAGE = "exact"


class ExactJudge:
    """Accepts a candidate that reads like the reference."""

    name = "exact"
    stored = False

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """True where the tidied texts are equal, else False."""
        return [Verdict(tidied(case.candidate) == tidied(case.reference), JUDGED) for case in cases]


def build(_argument: str) -> ExactJudge:
    """The judge; it takes no argument."""
    return ExactJudge()
