"""The result of one task with one model: scores, policies, readings, and every answer as it came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.asking.reading import ReplyRead, ReplyReading
from surgvalid.asking.reading.measured import measured
from surgvalid.datasets import STRATA
from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.result import EvaluationResult
from surgvalid.models import Outcome, RunCounts
from surgvalid.results.tables.tasks import ANSWERS, COSTS, READING_PATHS, READINGS
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.read_rows import UNFINISHED
from surgvalid.stats.intervals.proportions import share

RAW_FILE = "responses.jsonl"
RUN_FILE = "run.json"
_ORDER = tuple(ReplyRead)


@dataclass(frozen=True, slots=True)
class TaskResponse:
    """What a model said to one prompt, as it said it."""

    id: str
    outcome: Outcome
    again: bool = False
    """Whether it is the answer to the one further question."""

    def as_row(self) -> dict[str, Any]:
        """As plain data."""
        row = {"id": self.id, "again": self.again, **self.outcome.as_row(), "reused": self.outcome.reused}
        return {name: value for name, value in row.items() if value not in (None, "", False)}


def read_responses(folder: Path) -> list[TaskResponse]:
    """The responses of a run, as they were stored.

    Raises:
        FileUnreadable: There are none, or lines that are none; all are named.
    """
    path = folder / RAW_FILE
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError:
        raise FileUnreadable(str(path), ["no such file; name the folder of one task and one model"]) from None
    responses, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            responses.append(_response(json.loads(line)))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            problems.append(f"line {number} is no response")
    if problems:
        raise FileUnreadable(str(path), problems)
    return responses


def _response(row: Mapping[str, Any]) -> TaskResponse:
    return TaskResponse(str(row["id"]), Outcome.of_row(row), bool(row.get("again", False)))


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TaskResult(EvaluationResult):
    """One model on one task: tables `metrics`, `policies`, `readings`, `answers`, `costs`, and those of `evaluate`."""

    task: str
    headline: str
    responses: tuple[TaskResponse, ...] = ()
    """What the model said, as it said it."""
    counts: RunCounts | None = None

    @property
    def policies(self) -> pl.DataFrame:
        """Every metric under every rule for answers that could not be read."""
        return self.tables["policies"]

    @property
    def readings(self) -> pl.DataFrame:
        """How answers could be read, by stratum."""
        return self.tables["readings"]

    @property
    def answers(self) -> pl.DataFrame:
        """Every case and what became of it."""
        return self.tables["answers"]

    @property
    def share_lost(self) -> float:
        """The share of cases without an answer."""
        return float(self.readings.filter(pl.col("stratum") == "all")["share_lost"].item())

    @property
    def nothing_came(self) -> bool:
        """Whether no case at all has an answer that could be read."""
        return self.share_lost == 1.0

    @property
    def is_finished(self) -> bool:
        """Whether every case was answered, refused or failed at, and none is still to be asked."""
        return all(mark.code != UNFINISHED for mark in self.scores.read_as.marks)

    @property
    def title(self) -> str:
        """Task and model."""
        return f"TaskResult({self.task!r}, {self.model!r})"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The metrics, the primary metric under every policy, and how answers were read."""
        headline = self.policies.filter(pl.col("metric") == self.headline)
        whole = self.readings.filter(pl.col("stratum") == "all").drop("stratum", "stratum_value")
        read = self.tables["reading_policies"]
        shown = {"": self.shown, f"{self.headline} under every policy": headline, "answers": whole}
        return {
            **shown,
            f"{self.headline} by policy of reading": read,
            "how replies were read": self.tables["reading_paths"],
        }

    def facts(self) -> dict[str, Any]:
        """Task, model, primary metric."""
        return {"kind": self.kind, "task": self.task, "model": self.model, "headline": self.headline}

    def write(self, folder: Path) -> None:
        """Write the tables, the scores, and every response as it came."""
        super().write(folder)
        lines = "".join(json.dumps(one.as_row(), ensure_ascii=False) + "\n" for one in self.responses)
        (folder / RAW_FILE).write_text(lines, encoding="utf-8")


def answers_table(
    cases: pl.DataFrame, readings: Mapping[str, ReplyReading], outcomes: Mapping[str, Sequence[Outcome]]
) -> pl.DataFrame:
    """Every case, what became of its requests and how its answer was read."""
    rows = []
    for case, video in cases.select("case", "video").rows():
        reading, asked = readings[case], outcomes.get(case, ())
        rows.append(
            {
                "case": case,
                "video": video,
                "outcome": _outcome_word(asked),
                "reading": str(reading.status),
                "answer": None if reading.value is None else json.dumps(reading.value, default=list),
                "path": reading.path or None,
                "problem": reading.problem or None,
                "notes": "; ".join(reading.notes) or None,
                "seconds": sum(one.seconds for one in asked),
                "tokens_in": sum(one.tokens_in for one in asked),
                "tokens_out": sum(one.tokens_out for one in asked),
                "reused": bool(asked) and all(one.reused for one in asked),
            }
        )
    return ANSWERS.frame(rows)


def _outcome_word(asked: Sequence[Outcome]) -> str:
    words = [one.status.value for one in asked if not one.answered] or [one.status.value for one in asked]
    return words[0] if words else Status.MISSING.value


def readings_table(cases: pl.DataFrame, readings: Mapping[str, ReplyReading]) -> pl.DataFrame:
    """How answers could be read: of all cases, and of every stratum."""
    words = pl.Series("reading", [str(readings[case].status) for case in cases["case"]], dtype=pl.String)
    table = cases.with_columns(words)
    strata = [name for name in (*STRATA, "reference", "video") if name in cases.columns and name != "fps"]
    rows = [_counted("all", "", table)]
    for name in strata:
        for (value,), here in table.group_by(name, maintain_order=True):
            rows.append(_counted(name, "" if value is None else str(value), here))
    return READINGS.frame(rows)


def _counted(stratum: str, value: str, table: pl.DataFrame) -> dict[str, Any]:
    counts = {str(one).replace(" ", "_"): int((table["reading"] == str(one)).sum()) for one in _ORDER}
    lost = table.height - counts["ok"] - counts["repaired"]
    return {
        "stratum": stratum,
        "stratum_value": value,
        "cases": table.height,
        **counts,
        "share_lost": lost / table.height,
    }


def paths_table(readings: Mapping[str, ReplyReading]) -> pl.DataFrame:
    """By which rules replies were read, and how often each errs on labelled replies."""
    counted = Counter(one.path if one.usable else str(one.status) for one in readings.values())
    rows = []
    for path, cases in counted.most_common():
        known = measured()["paths"].get(path, {"replies": 0, "wrongly_read": 0})
        most = share(known["wrongly_read"], known["replies"]).high if known["replies"] else None
        counts = {"labelled": known["replies"], "misread": known["wrongly_read"]}
        rows.append({"path": path, "cases": cases, **counts, "misread_at_most": most})
    return READING_PATHS.frame(rows)


def costs_table(model: str, counts: RunCounts, responses: Sequence[TaskResponse]) -> pl.DataFrame:
    """What a run took."""
    seconds = np.array([one.outcome.seconds for one in responses if one.outcome.seconds > 0])
    timed = (float(np.median(seconds)), float(np.quantile(seconds, 0.95))) if len(seconds) else (None, None)
    row = {
        "model": model,
        "requests": counts.asked,
        "reused": counts.reused,
        "failed": counts.failed,
        "refused": counts.refused,
        "not_asked": counts.not_asked,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
        "cost": counts.cost,
        "median_s": timed[0],
        "slowest_s": timed[1],
    }
    return COSTS.frame([row])
