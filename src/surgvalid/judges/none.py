"""The judge that judges nothing: every case stays `not_judged`, and is counted as that."""

from __future__ import annotations

from collections.abc import Sequence

from surgvalid.judges._case import NOT_JUDGED, JudgeCase, Verdict

USAGE = "none"


class NoJudge:
    """Leaves every case open."""

    name = "none"
    stored = False
    silent = True  # counts for no quorum

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """One `not_judged` verdict per case."""
        return [Verdict(None, NOT_JUDGED)] * len(cases)


def build(_argument: str) -> NoJudge:
    """The judge; it takes no argument."""
    return NoJudge()
