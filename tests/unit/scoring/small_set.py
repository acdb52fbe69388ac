"""A question set small enough to check by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

from surgvalid.judges import Panel, PanelDecision, open_judge
from surgvalid.schema.finding_log import FindingLog
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.question_files import Batch, QuestionSet, load_questions
from surgvalid.schema.questions.questions import Reference, Request, Response, columns_of
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.scoring.lint import LintCheck
from surgvalid.scoring.native import OutcomeReason, decide_all


class Decided(NamedTuple):
    """What became of one question."""

    reason: OutcomeReason
    latency_s: float
    expected: Any
    given: Any
    flags: tuple[str, ...]
    decision: PanelDecision | None

    @property
    def correct(self) -> bool | None:
        return self.reason.correct

    @property
    def status(self) -> Status:
        return self.reason.status


def asked(case: str, *, video: str = "v1", procedure: str = "cholecystectomy", question: str = "What?") -> Request:
    return Request(case, video, 0, 60, procedure, question)


def known(case: str, answer_format: str, answer: str, *, code: str = "1a", **more: Any) -> Reference:
    return Reference(case, Capability.read(code), answer_format, answer, **more)


def small_set(*pairs: tuple[str, str], **more: Any) -> QuestionSet:
    """Questions q1, q2, ... with these (format, answer) pairs."""
    references = [known(f"q{i}", name, answer, **more) for i, (name, answer) in enumerate(pairs, start=1)]
    return load_questions([asked(r.case) for r in references], references)


def decided(
    questions: QuestionSet,
    *contents: str | None,
    limit_s: float | None = None,
    latency_s: float = 1.0,
    judge: str = "exact",
) -> list[Decided]:
    """Outcomes when q1, q2, ... are answered so; an ellipsis of answers leaves the rest missing."""
    responses = [Response(f"q{i}", text, latency_s) for i, text in enumerate(contents, start=1)]
    check = LintCheck(questions, FindingLog(), has_references=True, keep=True)
    check.batch(Batch(range(len(responses)), columns_of(Response, responses)))
    outcomes = decide_all(questions, check.answers, limit_s=limit_s, panel=Panel([open_judge(judge)]))
    columns = (outcomes.reasons, outcomes.latencies.tolist(), outcomes.expected, outcomes.given)
    rows = enumerate(zip(*columns, strict=True))
    return [Decided(*row, outcomes.flags.get(at, ()), outcomes.decisions.get(at)) for at, row in rows]
