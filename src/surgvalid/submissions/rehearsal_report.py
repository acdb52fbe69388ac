"""What a rehearsal says: the numbers, what would be lost, and what looks like a silent zero."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from surgvalid.asking.journal import ANSWERS
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.asking.plan import AskingRules
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.shown_text import visible
from surgvalid.submissions.batch_files import allowance_s, forfeited_count
from surgvalid.submissions.inputs import QuestionFolder
from surgvalid.submissions.results import RunFacts

Findings = tuple[Finding, ...]
_FEW, _NAMED = 5, 3
_NEVER_READY = (
    "no container became ready. A server stays up and answers GET /health: end your program with serve(answer). "
    "One that reads /input/request.json, writes /output/answer.json and ends is rehearsed with --rules protocol=batch"
)


class RehearsalScore(Protocol):
    """What the report needs of a scoring."""

    @property
    def headline(self) -> dict[str, float]:
        """The primary result with its interval."""


def findings_of(
    facts: RunFacts, inputs: QuestionFolder, *, protocol: str = "server", log: Sequence[str] = ()
) -> Findings:
    """Everything that a participant should look at before handing in."""
    findings = [Finding("input-unreadable", Severity.ERROR, why, case=case) for case, why in inputs.problems.items()]
    for record in facts.lost:
        if record.outcome is not ExchangeOutcome.NOT_ASKED:
            what = visible(record.detail) or "no answer"
            findings.append(Finding(f"answer-{record.outcome.value}", Severity.ERROR, what, case=record.case))
    lost = facts.questions - facts.answered - facts.outcomes.get(ExchangeOutcome.NOT_ASKED.value, 0)
    if lost > len(facts.lost):
        more = f"{lost - len(facts.lost)} more questions were lost; {ANSWERS} has the reason of each"
        findings.append(Finding("more-lost", Severity.NOTE, more))
    findings += [Finding("start-failed", Severity.ERROR, visible(problem)) for problem in facts.start_problems]
    if facts.start_problems and not facts.starts_s and protocol == "server":
        findings.append(Finding("never-ready", Severity.NOTE, _NEVER_READY))
    findings += _silent_zero(facts)
    if facts.answered < facts.questions or facts.empty:
        held = {", ".join(batch.get("input", ())) for batch in facts.batches} - {""}
        findings += [Finding("input-held", Severity.NOTE, f"in /input lay: {names}") for names in sorted(held)]
        findings += [Finding("container-said", Severity.NOTE, "\n".join(log))] if log else []
    return tuple(findings)


def _grouped(findings: Findings) -> Iterator[str]:
    """A paragraph for all findings that say the same, the first few questions named."""
    groups: dict[Finding, list[str | None]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, case=None), []).append(finding.case)
    for finding, cases in groups.items():
        named = ", ".join(case for case in cases[:_NAMED] if case)
        if named and len(cases) > _NAMED:
            named += f" and {len(cases) - _NAMED} more"
        times = f" ({len(cases)} times)" if len(cases) > 1 and not named else ""
        grouped = replace(finding, message=finding.message.replace("\n", "\n    ") + times, case=named or None)
        yield str(grouped)


def _silent_zero(facts: RunFacts) -> list[Finding]:
    """Answers that are formally fine and worth nothing: mostly a container that could not read its input."""
    if not facts.answered:
        return []
    if facts.empty:
        severity = Severity.ERROR if facts.empty == facts.answered else Severity.WARNING
        message = (
            f"{facts.empty} of {facts.answered} answers are empty. Mostly this is a container that did not find its "
            "video or frame and answered anyway; it would be scored as wrong without a word"
        )
        return [Finding("empty-answers", severity, message)]
    if facts.distinct == 1 and facts.answered >= _FEW:
        message = f"all {facts.answered} answers are the same text; does the model see its input?"
        return [Finding("same-answer", Severity.WARNING, message)]
    return []


def report_text(
    facts: RunFacts,
    findings: Findings,
    rules: AskingRules,
    *,
    protocol: str,
    pooled: bool,
    setup_s: float,
    engine: str,
    memory_mb: float,
    score: RehearsalScore | None,
) -> str:
    """The report, one fact per line."""
    rows = [
        ("rehearsed", f"{facts.questions} questions, protocol {protocol}, engine {engine}, track {rules.track}"),
        ("outcomes", ", ".join(f"{name} {count}" for name, count in facts.outcomes.items()) or "none"),
    ]
    if facts.answers_of is not None:
        rows.insert(0, ("unchanged", f"nothing was run: answers of {facts.answers_of}; --force asks again"))
    rows += _batch_rows(facts, rules, setup_s, pooled) if protocol == "batch" else _clock_rows(facts, rules, setup_s)
    if facts.peak_memory_mb is not None:
        rows.append(("memory", f"peak {facts.peak_memory_mb:.0f} MB of {memory_mb:g} MB"))
    if score is not None:
        value = score.headline
        interval = "" if math.isnan(value["low"]) else f" [{value['low']:.3f}, {value['high']:.3f}]"
        rows.append(("score", f"{value['accuracy']:.4f}{interval}"))
        if math.isnan(value["accuracy"]):
            rows[-1] = ("score", "none: free text was not judged; name judges with --judge")
    else:
        rows.append(("score", "none: there are no references beside the requests"))
    lines = [f"{name:<10} {text}" for name, text in rows]
    return "\n".join([*lines, *_grouped(findings)])


def _clock_rows(facts: RunFacts, rules: AskingRules, setup_s: float) -> list[tuple[str, str]]:
    """Latency on the host's clock, what is left of the budget, and what the pooled rule would say."""
    rows = []
    if facts.answered:
        most = "" if math.isnan(facts.p95_most_s) else f" (below {facts.p95_most_s:.3f} s at 95 % confidence)"
        rows.append(("latency", f"p50 {facts.p50_s:.3f} s, p95 {facts.p95_s:.3f} s{most}, max {facts.max_s:.3f} s"))
        if facts.first_s:
            text = (
                f"up to {max(facts.first_s):.3f} s for the first answer of a container ({len(facts.first_s)} of them)"
            )
            rows.append(("first", text))
        left = rules.budget_s - facts.max_s
        text = f"{left:.3f} s of {rules.budget_s:g} s at the slowest answer ({facts.slowest})"
        late = facts.outcomes.get(ExchangeOutcome.TIMEOUT.value, 0)
        rows.append(("headroom", f"none: {late} late" if late else text))
    if facts.starts_s:
        exchanged = f", {facts.replaced} exchanged after a late answer" if facts.replaced else ""
        rows.append(
            ("start-up", f"{max(facts.starts_s):.1f} s of {rules.start_up_s:g} s, {facts.restarts} restarts{exchanged}")
        )
    late = facts.outcomes.get(ExchangeOutcome.TIMEOUT.value, 0)
    used_s = facts.total_s + late * rules.budget_s + max(facts.starts_s, default=0.0)
    allowed_s = allowance_s(facts.questions, rules.budget_s, setup_s=setup_s)
    lost = forfeited_count(facts.questions, used_s, allowed_s)
    rows.append(("forfeited", f"{late} late; a pooled budget would use {used_s:.1f} s of {allowed_s:g} s, {lost} lost"))
    return rows


def _batch_rows(facts: RunFacts, rules: AskingRules, setup_s: float, pooled: bool) -> list[tuple[str, str]]:
    rows = []
    lost = 0
    for batch in facts.batches:
        left = batch["allowed_s"] - batch["used_s"]
        lost += forfeited_count(batch["questions"], batch["used_s"], batch["allowed_s"])
        detail = f"; {visible(batch['detail'])}" if batch["detail"] else ""
        rows.append(
            (
                "batch",
                f"{batch['number']}: {batch['questions']} questions in {batch['used_s']:.2f} s of "
                f"{batch['allowed_s']:g} s, headroom {left:.2f} s{detail}",
            )
        )
    if pooled:
        rows.append(("forfeited", f"{lost} of {facts.questions} (pooled: {setup_s:g} s + {rules.budget_s:g} s each)"))
    else:
        late = facts.outcomes.get(ExchangeOutcome.TIMEOUT.value, 0)
        if facts.answered:
            rows.append(("latency", f"p50 {facts.p50_s:.3f} s, p95 {facts.p95_s:.3f} s, max {facts.max_s:.3f} s"))
            rows.append(("", "as reported by the container itself: not verified"))
        rows.append(("forfeited", f"{late} late by their own report; a pooled budget would lose {lost}"))
    return rows
