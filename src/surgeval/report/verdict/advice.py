"""What to do next: sentences that follow from what was found, the most useful first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from surgeval.report.inputs import Inputs
from surgeval.report.limits import FEW_VIDEOS
from surgeval.report.sections._wording import name_of, names_of, percent
from surgeval.report.sections.buckets import below_floor
from surgeval.report.verdict.leads import Firmness, Lead
from surgeval.report.verdict.reasons import LOST_FROM, spoken_term
from surgeval.report.verdict.weaknesses import Examined
from surgeval.schema.outcomes import Status
from surgeval.stats.planning.closed_forms import videos_like_these

MOST_ADVICE = 3
_HALF_WIDTH = 1.96
"""Of a 95 % interval, in standard errors."""
_MOST_TIMES = 100
"""As many videos, in multiples of those there are, beyond which no number is named."""
NOTHING = "Nothing further follows from these results alone; confirm them on videos of another hospital before use."


def advice(inputs: Inputs, leads: Sequence[Lead], examined: Examined, power: Sequence[str] = ()) -> list[str]:
    """At most three things to do, each a sentence.

    Args:
        inputs: Of the report.
        leads: Of every board.
        examined: What is known about why models fail.
        power: What `verdict` says on how much data would be needed, where there is no board.
    """
    sources = (_unfinished(inputs), _more_videos(leads), power, _properties(examined), _late(examined), _judges(inputs),
               _no_analysis(inputs, examined), _floors(inputs), _few_videos(inputs, leads))  # fmt: skip
    listed = list(dict.fromkeys(sentence for source in sources for sentence in source))
    return listed[:MOST_ADVICE] or [NOTHING]


def _unfinished(inputs: Inputs) -> Iterator[str]:
    """Runs on tasks that a server or the money did not let finish."""
    runs = [run for run in inputs.of("task") if any(one.code == "run-unfinished" for one in run.findings)]
    if runs:
        names = names_of(dict.fromkeys(str(run.records.get("run", {}).get("model", run.label)) for run in runs))
        yield f"Run {names} again with the same command: what was answered is kept, and only the rest is asked."


def _more_videos(leads: Sequence[Lead]) -> Iterator[str]:
    """How many videos would tell the first from the next, on the board where that takes the fewest."""
    open_leads = [lead for lead in leads if lead.firmness in (Firmness.OPEN, Firmness.NOTHING)]
    known = [(wanted, lead) for lead in open_leads if (wanted := videos_wanted(lead)) is not None]
    if not known:
        return
    wanted, lead = min(known, key=lambda pair: pair[0] / pair[1].videos)
    rivals = f"{names_of(lead.models)} from {name_of(lead.next_best)} on {lead.where}"
    if wanted > _MOST_TIMES * lead.videos:
        yield f"Do not try to tell {rivals}: a hundred times as many videos might not show so small a difference."
        return
    shown = max(round(wanted), lead.videos + 1)
    yield f"To tell {rivals}, test on roughly {shown:,} videos like these {lead.videos:,}, if what was seen is true."


def videos_wanted(lead: Lead) -> float | None:
    """How many videos would show the difference four times in five; None where that is not known."""
    if not lead.videos or not lead.gap or lead.gap < 0 or lead.gap_low is None or lead.gap_high is None:
        return None
    error = (lead.gap_high - lead.gap_low) / 2 / _HALF_WIDTH
    wanted = videos_like_these(lead.gap, error, None, lead.videos, most=_MOST_TIMES)
    return math.inf if wanted is None else float(wanted)


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


def _judges(inputs: Inputs) -> Iterator[str]:
    judged = [result.records["verdicts"] for result in inputs.of("score") if "verdicts" in result.records]
    judges = {judge for verdicts in judged for judge in verdicts.judges}
    if judges == {"exact"}:
        yield "Have free text judged by people or by a model: it was compared letter by letter, which scores too low."


def _no_analysis(inputs: Inputs, examined: Examined) -> Iterator[str]:
    if not examined.effects and inputs.live is not None and inputs.live.strata_columns:
        columns = names_of(inputs.live.strata_columns)
        yield f"Ask why models fail: run surgeval failures with properties of the cases, such as {columns}."


def _floors(inputs: Inputs) -> Iterator[str]:
    if any(not below_floor(result.frame("margins")).is_empty() for result in inputs.of("floors")):
        yield "Look at the questions that a system without eyes answers as well as the models: they test little."


def _few_videos(inputs: Inputs, leads: Sequence[Lead]) -> Iterator[str]:
    if inputs.scores is None or not inputs.scores.has_videos or any(videos_wanted(lead) for lead in leads):
        return
    if inputs.rows["video"].n_unique() < FEW_VIDEOS:
        yield "Collect more videos, from more than one hospital, before a claim is made for others than these."
