"""Cases and judges for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surgvalid.judges import JudgeCase, Verdict
from surgvalid.testing._judges import sample_cases as some_cases

__all__ = ["Saying", "a_case", "always", "some_cases"]


def a_case(
    candidate: str = "cystic duct", *, case: str = "q1", reference: str = "cystic duct", **other: str
) -> JudgeCase:
    question = other.pop("question", "Which structure is clipped?")
    return JudgeCase(case, "Cholecystectomy", 10.0, 20.5, question, reference, candidate, **other)


class Saying:
    """A judge that says what a function says, and remembers what it was asked."""

    def __init__(self, name: str, says: Callable[[JudgeCase], Verdict]) -> None:
        self.name, self._says = name, says
        self.asked: list[str] = []

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        self.asked += [case.case for case in cases]
        return [self._says(case) for case in cases]


def always(name: str, correct: bool | None, state: str = "") -> Saying:
    """A judge with one verdict for everything."""
    verdict = Verdict(correct, state or ("abstained" if correct is None else "judged"))
    return Saying(name, lambda case: verdict)
