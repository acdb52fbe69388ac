"""Scoring under the native profile: outcomes, score table, summary, leverage and warnings."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import ResponsesMissing
from surgvalid.judges import Panel, verdict_row
from surgvalid.results.tables import scoring as tables
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.tables.missing import Rule
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.blind_questions import templates_of
from surgvalid.scoring.lint import LintChecked
from surgvalid.scoring.native import OutcomeReason, Outcomes, decide_all
from surgvalid.scoring.ood import SeenSides, derived_ood, ood_gap
from surgvalid.scoring.result import ScoreResult
from surgvalid.scoring.slices import (
    bucket_name,
    bucket_rows,
    bucket_warnings,
    codes_of,
    question_slices,
    question_weights,
    rows_of,
    slice_findings,
    video_influence,
)
from surgvalid.scoring.summary import (
    HEADLINE,
    MissingRules,
    as_counted,
    counted,
    pair_lines,
    stopped,
    summarise,
    without_blocked,
)
from surgvalid.scoring.targeted import MEASURED, TargetedItems, targeted_scores
from surgvalid.stats.intervals.interval_settings import IntervalSettings


@dataclass(frozen=True, slots=True)
class NativeOptions:
    """How a native scoring is done."""

    model: str
    limit_s: float | None
    ood: str
    seen: SeenSides | None
    missing: MissingRules
    method: str
    replicates: int
    seed: int
    definitions: str
    context_s: Sequence[float]
    progress: Callable[[int], None] | None = None


def score_native(read: LintChecked, *, panel: Panel, options: NativeOptions) -> ScoreResult:
    """The result of one model under our own rules.

    Raises:
        ResponsesMissing: Questions have no response, where that was declared an error.
    """
    report, class_names = read.report, read.questions.class_names
    if options.missing.refuses_absent:
        _refuse_absent(read)
    ood = derived_ood(read.questions, options.ood, options.seen)
    outcomes = decide_all(
        read.questions,
        read.answers,
        limit_s=options.limit_s,
        panel=panel,
        definitions=options.definitions,
        progress=options.progress,
    )
    del read  # a million questions need more than all that follows
    settings = IntervalSettings(method=options.method, replicates=options.replicates, seed=options.seed)
    targeted = targeted_scores(_targeted(outcomes), settings=settings)
    frame = _frame(outcomes, ood, class_names)
    warnings, verdicts = _warnings(outcomes, frame, options), _verdicts(outcomes, options.definitions)
    answered = (outcomes.expected, outcomes.given) if "pair" in frame.columns else ()
    del outcomes, ood
    _give_back()
    values, blocked = counted(frame, options.missing)
    paired = pair_lines(frame, values, answered, settings) if answered else []
    names, codes = codes_of(frame["video"])
    slices = question_slices(frame, options.context_s)
    buckets = {name: rows for (level, name), rows in slices.items() if level == "bucket"}
    summary, spoken = summarise(
        values[:, None],
        codes,
        [options.model],
        slices,
        method=options.method,
        replicates=options.replicates,
        seed=options.seed,
    )
    summary = without_blocked(summary, slices, blocked)
    whole = np.where(blocked.any(), np.nan, values)
    gap = ood_gap(whole, codes, buckets)
    findings = (
        *stopped(frame, blocked),
        *warnings,
        *bucket_warnings(buckets, codes, _expected_buckets()),
        *slice_findings(slices, _expected_buckets()),
        *([] if blocked.any() else gap.findings),
        *spoken,
    )
    made = {
        "results": as_counted(frame, values),
        "summary": tables.SUMMARY.frame(
            pl.concat([pl.concat([summary, *_variants(summary, frame, whole, buckets)]).drop("model"), *paired])
        ),
        "ood_gap": gap.table,
        "leverage_questions": question_weights(buckets),
        "leverage_videos": video_influence(whole, codes, names, buckets),
        "targeted": targeted.summary,
        **({} if targeted.counts.is_empty() else {"counts": targeted.counts}),
    }
    del slices, buckets, codes, values, whole, blocked  # the scores of every case are the largest table of all
    return ScoreResult(
        model=options.model,
        profile="native",
        scores=_table(frame, targeted.cases, options.model),
        lint=report,
        records=report.records,
        findings=findings,
        main="summary",
        tables=made,
        verdicts=tuple(verdicts),
    )


def _give_back() -> None:
    """Hand what was freed back to the system where the C library can: rows by the million leave holes in pages."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _refuse_absent(read: LintChecked) -> None:
    known = zip(read.questions.references, read.answers.has_come, strict=True)
    absent = [case for case, has_come in known if not has_come]
    if absent:
        text = f"{len(absent)} of {len(read.questions.references)} questions have no response (first: {absent[0]})"
        raise ResponsesMissing("responses", [text])


def _frame(outcomes: Outcomes, ood: Sequence[bool | None], class_names: tuple[str, ...]) -> pl.DataFrame:
    """One row per question: the official columns, then ours."""
    known = outcomes.questions.references.columns
    reason, capability = _Repeated(outcomes.reasons), _Repeated(known["capability"])
    strata = dict.fromkeys(name for one in known["strata"] if one for name in one)
    starts, ends = (np.array(outcomes.requested(name), dtype=np.float64) for name in ("start_s", "end_s"))
    flags = [""] * len(outcomes)
    for place, names in outcomes.flags.items():
        flags[place] = ";".join(names)
    return tables.RESULTS.frame(
        {
            "qID": known["case"],
            "video": _Repeated(outcomes.requested("video")).column(),
            "ood": [bool(one) for one in ood],
            "clinical": known["clinical"],
            "primary": capability.column(lambda one: one.value),
            "answer_format": _Repeated(known["format"]).column(),
            "latency": outcomes.latencies,
            "timed_out": reason.column(lambda one: one is OutcomeReason.LATE),
            "correctness": reason.column(lambda one: one.correct),
            "reason": reason.column(lambda one: one.value),
            "status": reason.column(lambda one: one.status.value),
            "flags": _Repeated(flags).column(),
            "group": capability.column(lambda one: one.group.value),
            "ood_stated": known["ood"],
            "procedure": _Repeated(outcomes.requested("procedure")).column(),
            "window_s": ends - starts,
            "secondaries": _Repeated(known["secondaries"]).column(lambda one: ";".join(c.value for c in one)),
            "template": _Repeated(templates_of(outcomes.requested("question"), class_names=class_names)).column(),
            **{name: _Repeated([one.get(name) for one in known["strata"]]).column() for name in strata},
        }
    )


class _Repeated:
    """Values of which many are equal: each is spelt once, and a long text stands in memory once."""

    def __init__(self, values: Sequence[Hashable]) -> None:
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        self.values = list(places)
        self.codes = pl.Series(list(map(places.__getitem__, values)), dtype=pl.UInt32)

    def column(self, spell: Callable[[Any], Any] = lambda one: one) -> pl.Series:
        """The values, spelt."""
        return pl.Series(list(map(spell, self.values))).gather(self.codes)


def _expected_buckets() -> list[str]:
    return [bucket_name(group, ood) for group in Capability.groups() for ood in (False, True)]


def _variants(
    summary: pl.DataFrame, frame: pl.DataFrame, values: np.ndarray, buckets: Mapping[str, np.ndarray]
) -> list[pl.DataFrame]:
    """The primary result under other choices: questions without verdict wrong or right, `ood` as the file states it."""
    verdicts = frame["correctness"].cast(pl.Float64).to_numpy()
    unscored = np.isnan(verdicts)
    variants: list[tuple[str, str, np.ndarray, Mapping[str, np.ndarray]]] = []
    if unscored.any():
        variants.append(("bound", "no verdict = wrong", np.where(unscored, 0.0, verdicts), buckets))
        variants.append(("bound", "no verdict = right", np.where(unscored, 1.0, verdicts), buckets))
    stated = frame["ood_stated"].fill_null(False)
    if not stated.equals(frame["ood"]):
        as_stated = bucket_rows(frame.with_columns(ood=stated))
        variants.append(("headline", "mean over buckets, ood as stated", values, as_stated))
    template = summary.filter((pl.col("level") == "headline") & (pl.col("name") == HEADLINE[1]))
    return [
        template.with_columns(
            level=pl.lit(level),
            name=pl.lit(name),
            accuracy=pl.lit(_mean_of_buckets(column, members)),
            low=pl.lit(math.nan),
            high=pl.lit(math.nan),
            df=pl.lit(math.nan),
            method=pl.lit("none"),
        )
        for level, name, column, members in variants
    ]


def _mean_of_buckets(values: np.ndarray, buckets: Mapping[str, np.ndarray]) -> float:
    scored = [values[rows][~np.isnan(values[rows])] for rows in buckets.values()]
    return float(np.mean([column.mean() for column in scored if len(column)] or [math.nan]))


def _table(frame: pl.DataFrame, targeted: pl.DataFrame, model: str) -> ScoreTable:
    cases = frame.select(
        pl.lit(model).alias("model"),
        pl.col("qID").alias("case"),
        "video",
        pl.lit("correct").alias("metric"),
        pl.col("correctness").cast(pl.Float64).alias("value"),
        "status",
        pl.col("primary").alias("capability"),
        pl.col("answer_format").alias("format"),
        pl.exclude("qID", "video", "correctness", "status", "primary", "answer_format", "timed_out", "flags"),
    )
    table = ScoreTable.of(cases, where="scores")
    # What holds of the questions holds of these rows, which are often more; so they are not checked again.
    wide = table.frame.drop("metric", "value").join(targeted.fill_nan(None), on="case", how="inner")
    return replace(table, frame=pl.concat([table.frame, wide.select(table.frame.columns)]))


def _targeted(outcomes: Outcomes) -> Iterator[TargetedItems]:
    starts, ends = outcomes.requested("start_s"), outcomes.requested("end_s")
    columns = (outcomes.cases, outcomes.requested("video"), outcomes.expected, outcomes.given)
    for name, places in rows_of(outcomes.questions.references.columns["format"]).items():
        if name in MEASURED:
            rows = places.tolist()
            windows = [(starts[row], ends[row]) for row in rows]
            chosen = [[column[row] for row in rows] for column in columns]
            yield TargetedItems._make([name, *chosen, windows])


def _warnings(outcomes: Outcomes, frame: pl.DataFrame, options: NativeOptions) -> list[Finding]:
    counts = Counter(outcomes.reasons)
    total = len(outcomes)
    rule = {status: _consequence(rule) for status, rule in options.missing.by_status.items()}
    texts = {
        OutcomeReason.MISSING: "questions have no response; they count as wrong (--missing error refuses instead)",
        OutcomeReason.UNANSWERED: "responses have no text; they count as wrong",
        OutcomeReason.UNREADABLE: "responses break their answer format; they count as wrong",
        OutcomeReason.LATE: "responses are late or report no usable time; they count as wrong",
        OutcomeReason.REFUSED: "questions were refused by the model; they count as wrong",
        OutcomeReason.FAILED: "questions ended in a failure of the model; they count as wrong",
        OutcomeReason.NOT_ASKED: "questions were never put to the model; they count as wrong",
        OutcomeReason.INFRASTRUCTURE: "questions were lost on the asking side" + rule[Status.INFRASTRUCTURE],
        OutcomeReason.NOT_JUDGED: "free-text answers were not judged" + rule[Status.NOT_JUDGED],
        OutcomeReason.JUDGE_TIE: "free-text answers split the judges" + rule[Status.JUDGE_ABSTAINED],
        OutcomeReason.JUDGE_ABSTAINED: "free-text answers got no verdict" + rule[Status.JUDGE_ABSTAINED],
        OutcomeReason.NO_REFERENCE: "references break their own format" + rule[Status.INFRASTRUCTURE],
    }
    findings = [
        Finding(reason.value.replace("_", "-"), Severity.WARNING, f"{counts[reason]} of {total} {text}")
        for reason, text in texts.items()
        if counts[reason]
    ]
    flagged = frame.filter(pl.col("flags") != "").height
    if flagged:
        text = f"{flagged} responses look like attempts to steer a judge; see the column 'flags'"
        findings.append(Finding("flagged", Severity.WARNING, text))
    unstated = frame["ood_stated"].null_count()
    if unstated and options.ood == "stated":
        text = f"{unstated} of {total} references do not state 'ood'; they count as in distribution"
        findings.append(Finding("ood-not-stated", Severity.WARNING, text))
    return findings


def _consequence(rule: Rule) -> str:
    words = {"worst": "; they count as wrong", "error": "; no mean that holds them is given"}
    return words.get(rule, "; they are left out") if isinstance(rule, str) else f"; they count as {rule:g}"


def _verdicts(outcomes: Outcomes, definitions: str) -> list[dict[str, Any]]:
    return [
        verdict_row(vote.judge, outcomes.judge_case(place, definitions), vote.verdict)
        for place, decision in outcomes.decisions.items()
        for vote in decision.votes
    ]
