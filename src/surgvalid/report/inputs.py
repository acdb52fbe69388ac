"""What a report is made from: every part that a verb left in a folder, and the scores of all models together.

Several rankings in one folder are competitions, told apart by name: a challenge with three tracks has `rank/frame`,
`rank/segment` and `rank/procedure`, and what lies in folders of the same name (`scores/frame/...`, `floors/frame`)
belongs to the same competition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import polars as pl

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.report.live import Live
from surgvalid.results.reading import FolderReader, StoredResult
from surgvalid.results.request import SCORES
from surgvalid.results.tables import RESULT_FILES
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import Better
from surgvalid.schema.questions.questions import TRACK_LIMITS_S
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.table_reading import read_scores
from surgvalid.scoring.stored_scores import recorded_missing, stacked, stored_results, stored_scores, without_rehearsed

__all__ = ["SCORES", "ReportInputs", "StoredResult", "read_inputs", "stacked", "without_rehearsed"]

_EXPECTED = (
    "expected a folder that holds what surgvalid score, rank, failures, baselines, evaluate, questions, rehearse, "
    "simulate or a verb of statistics such as compare wrote, or a score table (CSV or Parquet with model, case "
    "and value)"
)


@dataclass(frozen=True)
class ReportInputs:
    """Everything a report is made from."""

    source: Path
    parts: tuple[StoredResult, ...] = ()
    scores: ScoreTable | None = None
    """The scores of all models together."""
    findings: tuple[Finding, ...] = ()
    """What could not be read, and why."""
    procedures: tuple[Path, ...] = ()
    """Files of annotated procedures."""
    frames: tuple[Path, ...] = ()
    """Images that questions are about."""
    files: tuple[Path, ...] = ()
    """Every file whose content was read for tables and words."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How the report was asked for."""

    @cached_property
    def live(self) -> Live | None:
        """Statistics of the main metric, computed when first asked for; None without scores."""
        return None if self.scores is None else Live(self.scores, self.metric, self.missing)

    @property
    def missing(self) -> Missing:
        """The rule for scores that are not there: as asked for, else as every scoring in the folder was given it.

        Where they differ, or nothing was said, the rule of every verb holds: no number before somebody decides.
        """
        if (given := self.options.get("missing")) is not None:
            return cast(Missing, given)
        return recorded_missing(self.parts)

    @property
    def metric(self) -> str:
        """The metric that the report is about: the one that was asked for, `correct`, or the first."""
        metrics = self.scores.metrics if self.scores is not None else []
        main = self.scores.main if self.scores is not None else None
        return main if main in metrics else "correct" if "correct" in metrics or not metrics else metrics[0]

    @property
    def better(self) -> Better | None:
        """Which values of that metric are better; None where nobody said."""
        return "larger" if self.scores is None else self.scores.facts_of(self.metric).better

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The scores of the main metric; no rows without scores."""
        if self.scores is None or len(self.scores.metrics) == 1:
            return pl.DataFrame() if self.scores is None else self.scores.frame
        return self.scores.frame.filter(pl.col("metric") == self.metric)

    def of(self, *verbs: str) -> list[StoredResult]:
        """The parts that one of the verbs wrote."""
        return [result for result in self.parts if result.kind in verbs]

    def first(self, *verbs: str) -> StoredResult | None:
        """The first such part, or None."""
        return next(iter(self.of(*verbs)), None)

    @property
    def models(self) -> list[str]:
        """All models, in the order in which they appear."""
        names = list(self.scores.models) if self.scores is not None else []
        for result in self.of("rank"):
            frame = result.frame("places")
            names += frame["model"].to_list() if "model" in frame.columns else []
        for result in self.of("rank-tasks"):
            frame = result.frame("consensus")
            names += frame["model"].to_list() if "model" in frame.columns else []
        return list(dict.fromkeys(names))


def read_inputs(
    source: str | Path, *, columns: Mapping[str, str] | None = None, better: Directions = None
) -> ReportInputs:
    """Everything that can be reported of a folder, or of a score table.

    Args:
        source: A folder, or a CSV or Parquet file with one row per model and case.
        columns: Our column names to theirs, where `source` is a table.
        better: Which values of a metric are better, where nothing says it.

    Raises:
        FileUnreadable: There is no such place, or nothing in it that could be reported.
        TableInvalid: A score table given by itself that breaks its own rules.
    """
    place = Path(source)
    if place.is_file():
        table = read_scores(place, columns=columns, better=better).table
        return ReportInputs(place, scores=table, files=(place,))
    if not place.is_dir():
        raise FileUnreadable(str(place), [f"no such folder or file; {_EXPECTED}"])
    if columns:
        raise Misuse("columns can be renamed only where a single table is reported, not a folder")
    reader = FolderReader(place)
    parts = stored_results(reader)
    scores = stored_scores(reader, parts)
    scores = scores.directed(better) if scores is not None else None
    if not parts and scores is None:
        reasons = [str(finding.message) for finding in reader.findings[:5]]
        raise FileUnreadable(str(place), [f"nothing to report; {_EXPECTED}", *reasons])
    return ReportInputs(
        place, parts, scores, tuple(reader.findings), tuple(reader.procedures), tuple(reader.frames), tuple(reader.read)
    )


def ceiling_of(inputs: ReportInputs) -> pl.DataFrame:
    """How well people do on the questions, as the scorings in the folder know it; once where they agree."""
    known = [frame for result in inputs.of("score") if not (frame := result.frame("ceiling")).is_empty()]
    return pl.concat(known).unique(maintain_order=True) if known else pl.DataFrame()


_OF_ONE = ("score", "floors")
"""Kinds of parts that can belong to one competition."""


class Competition(NamedTuple):
    """One ranking with what belongs to it."""

    label: str
    """Empty where there is only one."""
    inputs: ReportInputs


def competitions(inputs: ReportInputs) -> list[Competition]:
    """One per ranking; a single one without a name where there are fewer than two."""
    rankings = inputs.of("rank")
    if len(rankings) < 2:
        return [Competition("", inputs)]
    labels = distinct_parts([result.label for result in rankings])
    several = [
        Competition(label, _narrowed(inputs, result, label)) for result, label in zip(rankings, labels, strict=True)
    ]
    known = list(TRACK_LIMITS_S)
    several = sorted(several, key=lambda one: known.index(one.label) if one.label in known else len(known))
    return [several[0], *(Competition(label, _without_files(competing)) for label, competing in several[1:])]


def distinct_parts(paths: Sequence[str]) -> list[str]:
    """What tells the paths apart: without the folders that all begin and all end with.

    Example:
        >>> distinct_parts(["rank/frame", "rank/segment"])
        ['frame', 'segment']
        >>> distinct_parts(["a", "a/b"])
        ['a', 'a/b']
    """
    split = [path.split("/") for path in paths]
    shortest = min(len(words) for words in split)
    start = next((at for at in range(shortest) if len({words[at] for words in split}) > 1), shortest)
    end = next((at for at in range(shortest - start) if len({words[-1 - at] for words in split}) > 1), 0)
    labels = ["/".join(words[start : len(words) - end]) for words in split]
    return labels if all(labels) else list(paths)


def _narrowed(inputs: ReportInputs, ranking: StoredResult, label: str) -> ReportInputs:
    words = set(label.split("/"))
    mine = [result for result in inputs.of(*_OF_ONE) if words <= set(result.label.split("/"))]
    claimed = {result.kind for result in mine}
    kept = [
        result
        for result in inputs.parts
        if result is ranking or result in mine or (result.kind != "rank" and result.kind not in claimed)
    ]
    return replace(inputs, parts=tuple(kept), scores=_own_scores(inputs.scores, mine))


def _without_files(inputs: ReportInputs) -> ReportInputs:
    """Without single result files, which belong to no ranking and are shown once."""
    return replace(inputs, parts=tuple(result for result in inputs.parts if result.kind not in RESULT_FILES))


def _own_scores(scores: ScoreTable | None, mine: Sequence[StoredResult]) -> ScoreTable | None:
    """The scores of the cases that the competition asked: who did not take part in it is not missing there."""
    files = [result.path / SCORES for result in mine if result.kind == "score" and (result.path / SCORES).is_file()]
    if scores is None or not files:
        return scores
    cases = pl.concat([pl.read_parquet(path, columns=["case"]).cast(pl.String) for path in files]).unique()
    return replace(scores, frame=scores.frame.join(cases, on="case", how="semi"))
