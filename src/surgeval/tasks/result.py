"""The result of one task with one model: scores, policies, readings, and every answer as it came."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgeval.datasets import STRATA
from surgeval.errors import FileUnreadable
from surgeval.models import Outcome, RunCounts, Trouble
from surgeval.results.tables.tasks import ANSWERS, COSTS, READINGS
from surgeval.schema.outcomes import Status
from surgeval.scoring.evaluate.result import EvaluationResult
from surgeval.tasks.parsing.reading import Read, Reading

RAW_FILE = "responses.jsonl"
RUN_FILE = "run.json"
_ORDER = (Read.OK, Read.REPAIRED, Read.FAILED, Read.REFUSED, Read.NO_ANSWER)


@dataclass(frozen=True, slots=True)
class Response:
    """What a model said to one prompt, as it said it."""

    id: str
    outcome: Outcome
    again: bool = False
    """Whether it is the answer to the one further question."""

    def as_row(self) -> dict[str, Any]:
        """As plain data."""
        one = self.outcome
        row = {
            "id": self.id, "again": self.again, "status": one.status.value, "text": one.text, "scores": one.scores,
            "seconds": round(one.seconds, 4), "tokens_in": one.tokens_in, "tokens_out": one.tokens_out,
            "trouble": None if one.trouble is None else one.trouble.value, "reason": one.reason,
            "finish": one.finish, "shown_px": one.shown_px, "reused": one.reused,
        }  # fmt: skip
        return {name: value for name, value in row.items() if value not in (None, "", False)}


def read_responses(folder: Path) -> list[Response]:
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
        except (ValueError, KeyError, TypeError, AttributeError):
            problems.append(f"line {number} is no response")
    if problems:
        raise FileUnreadable(str(path), problems)
    return responses


def _response(row: Mapping[str, Any]) -> Response:
    shown = row.get("shown_px")
    outcome = Outcome(
        Status(row["status"]), str(row.get("text", "")), row.get("scores"), float(row.get("seconds", 0.0)),
        int(row.get("tokens_in", 0)), int(row.get("tokens_out", 0)),
        Trouble(row["trouble"]) if "trouble" in row else None, str(row.get("reason", "")), str(row.get("finish", "")),
        None if shown is None else (int(shown[0]), int(shown[1])), bool(row.get("reused", False)),
    )  # fmt: skip
    return Response(str(row["id"]), outcome, bool(row.get("again", False)))


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TaskResult(EvaluationResult):
    """One model on one task: tables `metrics`, `policies`, `readings`, `answers`, `costs`, and those of `evaluate`."""

    task: str
    headline: str
    responses: tuple[Response, ...] = ()
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
    def title(self) -> str:
        """Task and model."""
        return f"TaskResult({self.task!r}, {self.model!r})"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The metrics, the headline under every policy, and how answers were read."""
        headline = self.policies.filter(pl.col("metric") == self.headline)
        whole = self.readings.filter(pl.col("stratum") == "all").drop("stratum", "stratum_value")
        return {"": self.shown, f"{self.headline} under every policy": headline, "answers": whole}

    def facts(self) -> dict[str, Any]:
        """Task, model, headline."""
        return {"kind": self.kind, "task": self.task, "model": self.model, "headline": self.headline}

    def write(self, folder: Path) -> None:
        """Write the tables, the scores, and every response as it came."""
        super().write(folder)
        lines = "".join(json.dumps(one.as_row(), ensure_ascii=False) + "\n" for one in self.responses)
        (folder / RAW_FILE).write_text(lines, encoding="utf-8")


def answers_table(
    cases: pl.DataFrame, readings: Mapping[str, Reading], outcomes: Mapping[str, Sequence[Outcome]]
) -> pl.DataFrame:
    """Every case, what became of its requests and how its answer was read."""
    rows = []
    for case, video in cases.select("case", "video").rows():
        reading, asked = readings[case], outcomes.get(case, ())
        rows.append({
            "case": case, "video": video, "outcome": _outcome_word(asked), "reading": str(reading.status),
            "answer": None if reading.value is None else json.dumps(reading.value, default=list),
            "problem": reading.problem or None, "notes": "; ".join(reading.notes) or None,
            "seconds": sum(one.seconds for one in asked), "tokens_in": sum(one.tokens_in for one in asked),
            "tokens_out": sum(one.tokens_out for one in asked),
            "reused": bool(asked) and all(one.reused for one in asked),
        })  # fmt: skip
    return ANSWERS.frame(rows)


def _outcome_word(asked: Sequence[Outcome]) -> str:
    words = [one.status.value for one in asked if not one.answered] or [one.status.value for one in asked]
    return words[0] if words else Status.MISSING.value


def readings_table(cases: pl.DataFrame, readings: Mapping[str, Reading]) -> pl.DataFrame:
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
    return {"stratum": stratum, "stratum_value": value, "cases": table.height, **counts,
            "share_lost": lost / table.height}  # fmt: skip


def costs_table(model: str, counts: RunCounts, responses: Sequence[Response]) -> pl.DataFrame:
    """What a run took."""
    seconds = np.array([one.outcome.seconds for one in responses if one.outcome.seconds > 0])
    timed = (float(np.median(seconds)), float(np.quantile(seconds, 0.95))) if len(seconds) else (None, None)
    row = {
        "model": model, "requests": counts.asked, "reused": counts.reused, "failed": counts.failed,
        "refused": counts.refused, "not_asked": counts.not_asked, "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out, "cost": counts.cost, "median_s": timed[0], "slowest_s": timed[1],
    }  # fmt: skip
    return COSTS.frame([row])
