"""A question set small enough to check by hand."""

from __future__ import annotations

from typing import Any

from surgvalid.judges import Panel, open_judge
from surgvalid.schema.questions.question_files import QuestionSet, load_questions
from surgvalid.schema.questions.questions import Reference, Request, Response
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.scoring.native import Outcomes, decide_all


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
) -> Outcomes:
    """Outcomes when q1, q2, ... are answered so; an ellipsis of answers leaves the rest missing."""
    responses: dict[str, Response | None] = {
        f"q{i}": Response(f"q{i}", text, latency_s) for i, text in enumerate(contents, start=1)
    }
    panel = Panel([open_judge(judge)])
    return decide_all(questions, responses, limit_s=limit_s, panel=panel)
