"""What a report is made from: every part that a verb left in a folder, and the scores of all models together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import polars as pl

from surgeval.errors import FileUnreadable, Misuse
from surgeval.report.live import Live
from surgeval.results.reading import FolderReader, StoredResult
from surgeval.results.request import SCORES
from surgeval.schema.findings import Finding
from surgeval.schema.metric_facts import Better
from surgeval.schema.missing import Missing
from surgeval.schema.score_table import ScoreTable, read_score_table
from surgeval.schema.table_facts import Directions
from surgeval.scoring.stored_scores import recorded_missing, stacked, stored_results, stored_scores, without_rehearsed

__all__ = ["SCORES", "Inputs", "StoredResult", "read_inputs", "stacked", "without_rehearsed"]

_EXPECTED = (
    "expected a folder that holds what surgeval score, rank, failures, floors, evaluate, questions, rehearse, simulate"
    " or a verb of statistics such as compare wrote, or a score table (CSV or Parquet with model, case and value)"
)


@dataclass(frozen=True)
class Inputs:
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
    """Pictures that questions are about."""
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


def read_inputs(source: str | Path, *, columns: Mapping[str, str] | None = None, better: Directions = None) -> Inputs:
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
        return Inputs(place, scores=read_score_table(place, columns=columns, better=better), files=(place,))
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
    return Inputs(
        place, parts, scores, tuple(reader.findings), tuple(reader.procedures), tuple(reader.frames), tuple(reader.read)
    )
