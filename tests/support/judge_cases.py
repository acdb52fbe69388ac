"""Cases and judges for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surgeval.judges import JudgeCase, Verdict


def a_case(
    candidate: str = "cystic duct", *, case: str = "q1", reference: str = "cystic duct", **other: str
) -> JudgeCase:
    question = other.pop("question", "Which structure is clipped?")
    return JudgeCase(case, "Cholecystectomy", 10.0, 20.5, question, reference, candidate, **other)


def some_cases(count: int) -> list[JudgeCase]:
    """Cases of which every second is right."""
    return [
        a_case("cystic duct" if i % 2 else f"liver {i}", case=f"q{i}", question=f"Question {i}?") for i in range(count)
    ]


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
