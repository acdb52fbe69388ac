"""What to do next: sentences that follow from what was found, the most useful first."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.report.inputs import ReportInputs
from surgvalid.report.limits import FEW_VIDEOS
from surgvalid.report.sections.buckets import below_trivial_baseline
from surgvalid.report.verdict.reasons import LOST_FROM
from surgvalid.report.verdict.weaknesses import Examined
from surgvalid.report.words import name_of, names_of, percent, spoken_term
from surgvalid.schema.outcomes import Status

MOST_ADVICE = 3
NOTHING = "Nothing further follows from these results alone; confirm them on videos of another hospital before use."


def advice(inputs: ReportInputs, examined: Examined) -> list[str]:
    """What to do, each a sentence, the most useful first.

    Args:
        inputs: Of the report.
        examined: What is known about why models fail.
    """
    sources = (
        _unfinished(inputs),
        _properties(examined),
        _late(examined),
        _judges(inputs),
        _no_analysis(inputs, examined),
        _floors(inputs),
        _few_videos(inputs),
    )
    return list(dict.fromkeys(sentence for source in sources for sentence in source))


def _unfinished(inputs: ReportInputs) -> Iterator[str]:
    """Runs on tasks that a server or the money did not let finish."""
    runs = [run for run in inputs.of("task") if any(one.code == "run-unfinished" for one in run.findings)]
    if runs:
        names = names_of(dict.fromkeys(str(run.records.get("run", {}).get("model", run.label)) for run in runs))
        yield f"Run {names} again with the same command: what was answered is kept, and only the rest is asked."


def _properties(examined: Examined) -> Iterator[str]:
    known = [(name_of(one.model), spoken_term(one.effects[0].term)) for one in examined.models if one.effects]
    if known:
        cases = names_of([f"{model} on {term}" for model, term in known])
        yield f"Look at the wrong answers of {cases}, and collect more such cases before relying on a model there."


def _late(examined: Examined) -> Iterator[str]:
    late = [
        f"{name_of(one.model)} ({percent(lost.share)} late)"
        for one in examined.models
        for lost in one.lost
        if lost.status is Status.TIMED_OUT and lost.share >= LOST_FROM
    ]
    if late:
        yield f"Give {names_of(late)} a faster machine or more time before judging what it knows."


def _judges(inputs: ReportInputs) -> Iterator[str]:
    judged = [result.records["verdicts"] for result in inputs.of("score") if "verdicts" in result.records]
    judges = {judge for verdicts in judged for judge in verdicts.judges}
    if judges == {"exact"}:
        yield "Have free text judged by people or by a model: it was compared letter by letter, which scores too low."


def _no_analysis(inputs: ReportInputs, examined: Examined) -> Iterator[str]:
    if not examined.effects and inputs.live is not None and inputs.live.strata_columns:
        columns = names_of(inputs.live.strata_columns)
        yield f"Ask why models fail: run surgvalid analyse failures with properties of the cases, such as {columns}."


def _floors(inputs: ReportInputs) -> Iterator[str]:
    if any(not below_trivial_baseline(result.frame("margins")).is_empty() for result in inputs.of("floors")):
        yield "Look at the questions that a system without eyes answers as well as the models: they test little."


def _few_videos(inputs: ReportInputs) -> Iterator[str]:
    if inputs.scores is None or not inputs.scores.has_videos:
        return
    if inputs.rows["video"].n_unique() < FEW_VIDEOS:
        unit = inputs.scores.unit.word
        yield f"Collect more {unit}s, from more than one hospital, before a claim is made for others than these."
