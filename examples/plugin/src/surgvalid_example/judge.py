"""The judge that looks for the reference in the answer; a lower bar than `exact`, and easily fooled by long answers."""

from __future__ import annotations

from collections.abc import Sequence

from surgvalid.judges import JudgeCase, Verdict

USAGE = "contains"


class ContainsJudge:
    """Accepts a candidate that has the words of the reference in it."""

    name = "contains"
    stored = False

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """True where the reference, which may not be empty, stands in the candidate."""
        pairs = [(case.reference.casefold().strip(), case.candidate.casefold()) for case in cases]
        return [Verdict(bool(reference) and reference in candidate, "judged") for reference, candidate in pairs]


def build(_argument: str) -> ContainsJudge:
    """The judge; it takes no argument."""
    return ContainsJudge()
