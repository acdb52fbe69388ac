"""The judge that looks verdicts up in a file: people's, another program's, or an earlier run's.

A case is found by question, reference and candidate, letter for letter; a verdict on a differently
worded answer says nothing about this one. Where the file holds several judges, the majority of their
opinions is this judge's verdict, and a split is an abstention.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from surgvalid.judges._case import ABSTAINED, JUDGED, NOT_JUDGED, JudgeCase, Verdict, cut
from surgvalid.judges._verdict_file import FileVerdict, read_verdicts

USAGE = "cached:FILE"


class CachedJudge:
    """Repeats the verdicts of a file."""

    stored = False  # the file is the store

    def __init__(self, name: str, verdicts: Iterable[FileVerdict], *, problems: Sequence[str] = ()) -> None:
        self.name, self.problems = name, tuple(problems)
        """Lines of the file that an interruption cut; what they held is not judged."""
        self._by_pair: dict[tuple[str, str, str], list[FileVerdict]] = {}
        for verdict in verdicts:
            self._by_pair.setdefault(verdict.pair, []).append(verdict)

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """What the file says about each case; `not_judged` where it says nothing."""
        return [self._verdict(case) for case in cases]

    def _verdict(self, case: JudgeCase) -> Verdict:
        verdicts = self._by_pair.get((case.case, case.reference, case.candidate))
        if not verdicts:
            return Verdict(None, NOT_JUDGED)
        right, wrong = (sum(v.verdict is opinion for v in verdicts) for opinion in (True, False))
        text = cut("; ".join(f"{v.judge}: {'abstained' if v.verdict is None else v.verdict}" for v in verdicts))
        return Verdict(None, ABSTAINED, text) if right == wrong else Verdict(right > wrong, JUDGED, text)


def build(argument: str) -> CachedJudge:
    """The judge that repeats the verdicts of the file at `argument`."""
    damaged: list[str] = []
    verdicts = read_verdicts(argument, damaged)
    return CachedJudge(f"cached:{Path(argument).name}", verdicts, problems=damaged)
