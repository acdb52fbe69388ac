"""What a report is made from: every part that a verb left in a folder, and the scores of all models together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import polars as pl

from surgeval.errors import FileUnreadable, Misuse, SurgevalError, TableInvalid
from surgeval.report.live import Live
from surgeval.report.words import plain
from surgeval.results.reading import FolderReader, StoredResult, is_file
from surgeval.results.request import SCORES
from surgeval.schema.findings import Finding
from surgeval.schema.metric_facts import Better
from surgeval.schema.missing import Missing, Rule
from surgeval.schema.score_table import ScoreTable, read_score_table
from surgeval.schema.table_facts import Directions, TableFacts, against_names, merged
from surgeval.schema.tabular import first_line
from surgeval.scoring.counted import MissingRules

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
        recorded = [_recorded_rules(result) for result in self.of("score")]
        return recorded[0] if recorded and all(rules == recorded[0] for rules in recorded) else None

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
    parts = without_rehearsed([result for folder in reader.folders() for result in reader.results(folder)])
    scores = _scores(reader, parts)
    scores = scores.directed(better) if scores is not None else None
    if not parts and scores is None:
        reasons = [str(finding.message) for finding in reader.findings[:5]]
        raise FileUnreadable(str(place), [f"nothing to report; {_EXPECTED}", *reasons])
    return Inputs(
        place, parts, scores, tuple(reader.findings), tuple(reader.procedures), tuple(reader.frames), tuple(reader.read)
    )


def _recorded_rules(result: StoredResult) -> dict[str, Rule] | None:
    """What scores that are not there counted as in a scoring, by status; None where its manifest cannot be read so."""
    given = result.options.get("missing")
    try:
        rules = MissingRules.of([str(word) for word in given] if isinstance(given, list) else given)
    except SurgevalError:
        return None
    return {status.value: rule for status, rule in rules.by_status.items()}


def _scores(reader: FolderReader, parts: Sequence[StoredResult]) -> ScoreTable | None:
    """The scores of all models, stacked; one table that cannot be read does not spoil the others."""
    folders = [result.path for result in parts if result.kind in ("score", "evaluate")]
    paths = [folder / SCORES for folder in folders if is_file(folder / SCORES)] or reader.loose_tables()
    tables = [table for path in paths if (table := reader.score_table(path)) is not None]
    try:
        return stacked(tables)
    except (SurgevalError, pl.exceptions.PolarsError) as error:
        reader.complain(reader.root, f"the score tables do not fit together ({plain(first_line(error), limit=300)})")
        return None


def without_rehearsed(parts: Sequence[StoredResult]) -> tuple[StoredResult, ...]:
    """The parts without the scores that a rehearsal gave itself, where others scored the models."""
    rehearsals = {result.path for result in parts if result.kind == "rehearse"}
    rehearsed = {
        result.path for result in parts if result.kind in ("score", "evaluate") and result.path.parent in rehearsals
    }
    others = [result for result in parts if result.kind in ("score", "evaluate") and result.path not in rehearsed]
    return tuple(result for result in parts if result.path not in rehearsed) if others else tuple(parts)


def stacked(tables: Sequence[ScoreTable]) -> ScoreTable | None:
    """Sound tables as one.

    Tables of different models need not be looked at again as a whole, which for a hundred models saves most of the
    time and memory; only whether they agree on the video of each case is checked.

    Raises:
        TableInvalid: They contradict each other.
    """
    if len(tables) < 2:
        return tables[0] if tables else None
    frame = pl.concat([table.frame for table in tables], how="diagonal_relaxed")
    models = [model for table in tables for model in table.models]
    key = [name for name in ("case", "task") if name in frame.columns]
    homes = frame.select(*key, "video").unique()
    whole = merged({", ".join(table.models): TableFacts(table.facts, table.main) for table in tables})
    without = {", ".join(table.models): [m for m in table.metrics if m not in table.facts] for table in tables}
    if problems := against_names(whole, without):
        raise TableInvalid("score tables", problems)
    if homes.select(key).is_duplicated().any() or len(set(models)) < len(models):
        frame = ScoreTable.of(frame, facts=whole.metrics).frame
    return ScoreTable(frame, all(table.has_videos for table in tables), whole.metrics, whole.main)
