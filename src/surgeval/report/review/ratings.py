"""What raters said so far: each by themselves, what they disagree on, and how well they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from surgeval.errors import SurgevalError
from surgeval.questions.stages.history import Action, Entry, History, ReviewState
from surgeval.stats.agreement.report import agreement

VERDICTS = (Action.APPROVED, Action.OBJECTED)
_REPLICATES = 500


def latest(history: History, people: Sequence[str]) -> dict[str, dict[str, Entry]]:
    """By item and person, their last verdict."""
    votes: dict[str, dict[str, Entry]] = {}
    for entry in history.entries:
        if entry.action in VERDICTS and entry.who in people:
            votes.setdefault(entry.item, {})[entry.who] = entry
    return votes


def queue(history: History, people: Sequence[str]) -> list[str]:
    """Items on which somebody decides: objected to, and not decided since, once every rater has had their say."""
    votes = latest(history, people)
    states = history.states()
    return [i for i, state in states.items() if state is ReviewState.DISPUTED and len(votes.get(i, {})) >= len(people)]


def progress(history: History, people: Sequence[str], items: Sequence[str]) -> dict[str, Any]:
    """How many items each has rated, and where all stand."""
    votes = latest(history, people)
    rated = {who: sum(who in votes.get(item, {}) for item in items) for who in people}
    states = Counter(str(state) for item, state in history.states().items() if item in set(items))
    return {"items": len(items), "rated": rated, "states": dict(states)}


def agreement_of(
    history: History, people: Sequence[str], videos: Mapping[str, str]
) -> tuple[list[dict[str, Any]], str]:
    """Coefficients of agreement with intervals (whole videos resampled), or why there are none."""
    rows = [
        (item, videos[item], who, _label(entry))
        for item, by in latest(history, people).items()
        if item in videos and len(by) > 1
        for who, entry in by.items()
    ]
    if not rows:
        return [], "no item has the verdicts of two raters yet"
    table = pl.DataFrame(rows, schema=("item", "video", "rater", "verdict"), orient="row")
    try:
        result = agreement(table, rater="rater", label="verdict", unit="item", video="video", replicates=_REPLICATES)
    except SurgevalError as error:
        return [], str(error)
    return result.table.to_dicts(), " ".join(finding.text for finding in result.findings)


def _label(entry: Entry) -> str:
    """What counts as the same verdict: right, wrong, or wrong with the same correction."""
    return str(entry.action) if not entry.after else f"{entry.action}: {entry.after}"
