"""What a run comes to: outcomes counted, latencies summed up, and the answers in the official form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.asking.journal import Record, final_records, read_events
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.schema.documents import json_text
from surgvalid.schema.questions.questions import Response
from surgvalid.scoring.official import official_row

RESPONSES, RECORDS = "answer.json", "responses.jsonl"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run in numbers; everything is read from its folder."""

    outcomes: Mapping[str, int]
    p50_s: float
    p95_s: float
    max_s: float
    """Latencies of the answers that count; NaN without any."""
    total_s: float
    slowest: str | None
    lost: tuple[Record, ...]
    """The first questions without a counting answer."""
    empty: int
    """Answers that count and have no text."""
    distinct: int
    """Different answers among those that count, up to a few."""
    p95_most_s: float = float("nan")
    """The 95th percentile is below this at 95 % confidence, were latencies drawn one by one; NaN below 59 answers."""
    first_s: tuple[float, ...] = ()
    """Latencies of the first answer of each container, where it counts; they are among the others too."""
    answers_of: str | None = None
    """When the answers were given, where the last call found nothing left to ask."""
    starts_s: tuple[float, ...] = ()
    """From the running container until it reported ready."""
    engine_s: tuple[float, ...] = ()
    """What the engine needed before, until the container ran and was checked."""
    restarts: int = 0
    """Containers started because one was lost."""
    replaced: int = 0
    """Containers that were exchanged after a late answer; no restart is counted for them."""
    peak_memory_mb: float | None = None
    batches: tuple[Mapping[str, Any], ...] = ()
    start_problems: tuple[str, ...] = field(default=())

    @property
    def questions(self) -> int:
        """All questions of the run."""
        return sum(self.outcomes.values())

    @property
    def answered(self) -> int:
        """Questions with an answer that counts."""
        return self.outcomes.get(ExchangeOutcome.OK.value, 0)


def run_facts(folder: Path) -> RunFacts:
    """The numbers of the run in a folder, whether it has ended or not."""
    counts: Counter[str] = Counter()
    latencies: list[float] = []
    slowest: tuple[float, str | None] = (-1.0, None)
    lost: list[Record] = []
    texts: set[str] = set()
    empty = 0
    first: dict[int, float | None] = {}
    for record in final_records(folder):
        first.setdefault(record.session, record.latency_s if record.outcome is ExchangeOutcome.OK else None)
        counts[record.outcome.value] += 1
        if record.outcome is ExchangeOutcome.OK:
            latencies.append(record.latency_s)
            slowest = max(slowest, (record.latency_s, record.case), key=lambda pair: pair[0])
            empty += not (record.content or "").strip()
            if len(texts) < _SHOWN:
                texts.add(record.content or "")
        elif len(lost) < _SHOWN:
            lost.append(record)
    events = list(read_events(folder))
    p50, p95, top = np.quantile(latencies, (0.5, 0.95, 1.0)).tolist() if latencies else (float("nan"),) * 3
    peaks = [event["peak_memory_mb"] for event in events if event.get("peak_memory_mb") is not None]
    starts = [event for event in events if event["event"] in ("started", "start_failed")]
    return RunFacts(
        outcomes={outcome.value: counts[outcome.value] for outcome in ExchangeOutcome if counts[outcome.value]},
        p50_s=p50,
        p95_s=p95,
        max_s=top,
        p95_most_s=p95_bound(latencies),
        total_s=float(sum(latencies)),
        slowest=slowest[1],
        lost=tuple(lost),
        empty=empty,
        distinct=len(texts),
        answers_of=_answers_of(events),
        first_s=tuple(latency for latency in first.values() if latency is not None),
        replaced=sum(event["event"] == "replaced" for event in events),
        starts_s=tuple(event["seconds"] for event in starts if event["event"] == "started"),
        engine_s=tuple(event["engine_s"] for event in starts if event["event"] == "started"),
        restarts=sum(not event["planned"] for event in starts),
        peak_memory_mb=max(peaks, default=None),
        batches=tuple(event for event in events if event["event"] == "batch"),
        start_problems=tuple(event["detail"] for event in starts if event["event"] == "start_failed"),
    )


def write_responses(folder: Path, *, with_late: bool) -> Path:
    """The file of official responses made from the journal, with the host's latencies.

    Questions without an answer have no row. With `with_late`, a late one has a row without text whose
    latency lies above its limit, so that a scorer can tell late from missing.
    """
    path = folder / RESPONSES
    draft = path.with_name(path.name + ".part")
    with open(draft, "w", encoding="utf-8") as handle:
        separator = "[\n"
        for response in responses_of(folder):
            row = official_row(response)
            if row is not None and (with_late or not response.is_excused):
                handle.write(separator + json_text(row))
                separator = ",\n"
        handle.write("[]\n" if separator == "[\n" else "\n]\n")
    draft.replace(path)
    return path


def write_records(folder: Path) -> Path:
    """The file of all responses made from the journal, with what became of each question."""
    path = folder / RECORDS
    draft = path.with_name(path.name + ".part")
    with open(draft, "w", encoding="utf-8") as handle:
        handle.writelines(json_text(response.as_record()) + "\n" for response in responses_of(folder))
    draft.replace(path)
    return path


def responses_of(folder: Path) -> Iterator[Response]:
    """One response per question of the run; those without an answer say why."""
    for record in final_records(folder):
        came = record.outcome is ExchangeOutcome.OK
        yield Response(
            record.case,
            (record.content or "") if came else None,
            record.latency_s,
            status=None if came else record.outcome.status,
            detail=record.detail,
            attempts=record.attempt if record.attempt > 1 else None,
        )


def p95_bound(latencies: Sequence[float], *, quantile: float = 0.95, level: float = 0.95) -> float:
    """The smallest latency that lies above the quantile with this confidence, by order statistics; NaN for too few.

    Of n independent draws the number below the quantile is binomial, so the k-th smallest lies above it with the
    probability that at most k - 1 do. Answers about one video are not independent; then the bound is too small.
    """
    count = len(latencies)
    logs = [
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(quantile)
        + (count - k) * math.log(1 - quantile)
        for k in range(count)
    ]
    chance = 0.0
    for k, term in enumerate(logs):
        chance += math.exp(term)
        if chance >= level:
            return float(sorted(latencies)[k])
    return math.nan


def _answers_of(events: Sequence[Mapping[str, Any]]) -> str | None:
    """When the run before the last call ended, where that call had nothing left to do."""
    calls = [number for number, event in enumerate(events) if event["event"] in ("begun", "resumed")]
    last = events[calls[-1]] if calls else {}
    if not calls or last["event"] == "begun" or last["done"] < last["questions"]:
        return None
    return str(events[calls[-1] - 1]["at"])
