"""What verbs left in a folder, and the scores of all models in it as one table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from surgvalid.errors import SurgvalidError, TableInvalid
from surgvalid.results.reading import FolderReader, StoredResult, is_file
from surgvalid.results.request import SCORES
from surgvalid.schema.shown_text import plain
from surgvalid.schema.tables.missing import DEFAULTS, Missing, Rule
from surgvalid.schema.tables.read_rows import ReadAs
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_facts import TableFacts, against_names, merged, of_other_releases, read_alike
from surgvalid.schema.tables.tabular import first_line
from surgvalid.scoring.summary import MissingRules


def stored_results(reader: FolderReader) -> tuple[StoredResult, ...]:
    """Everything that verbs wrote into the folder and those below it."""
    return without_rehearsed([result for folder in reader.folders() for result in reader.results(folder)])


def stored_scores(reader: FolderReader, parts: Sequence[StoredResult]) -> ScoreTable | None:
    """The scores of all models, stacked; one table that cannot be read does not spoil the others."""
    by_kind = [
        [one.path / SCORES for one in parts if one.kind in kinds] for kinds in (("score", "evaluate"), ("study",))
    ]
    held = ([path for path in paths if is_file(path)] for paths in by_kind)
    paths = next(filter(None, held), None) or reader.loose_tables()
    tables = {path: table for path in paths if (table := reader.score_table(path)) is not None}
    try:
        if problems := of_other_releases({path: table.models for path, table in tables.items()}):
            raise TableInvalid("scores", problems)
        return stacked([*tables.values()])
    except (SurgvalidError, pl.exceptions.PolarsError) as error:
        reader.complain(reader.root, f"the score tables do not fit together ({plain(first_line(error), limit=300)})")
        return None


def recorded_missing(parts: Sequence[StoredResult]) -> Missing:
    """The rule for scores that are not there, as every scoring among the parts was given it; None where they differ."""
    recorded = [_recorded_rules(result) for result in parts if result.kind == "score"]
    return recorded[0] if recorded and all(rules == recorded[0] for rules in recorded) else None


def _recorded_rules(result: StoredResult) -> dict[str, Rule] | None:
    """Where a scoring departed from the usual rules for scores that are not there; None where its manifest cannot tell.

    A usual rule is not repeated: it would read as asked for, and refuse models that took part in some tracks only.
    """
    given = result.options.get("missing")
    try:
        rules = MissingRules.of([str(word) for word in given] if isinstance(given, list) else given)
    except SurgvalidError:
        return None
    return {status.value: rule for status, rule in rules.by_status.items() if rule != DEFAULTS[status]}


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
    has_videos = all(table.has_videos for table in tables)
    read_as = read_alike([table.read_as for table in tables]) or ReadAs()
    marks = (mark for table in tables for mark in table.read_as.marks)
    return ScoreTable(frame, has_videos, whole.metrics, whole.main, read_as=read_as.marked(*marks))
