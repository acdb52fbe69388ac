"""Pooled metrics: values of all videos together, from the statistics of each, instead of a mean of the videos' values.

`verb_matrix` is the one interface: a verb that asks for the mean over rows of a pooled metric gets a matrix that
carries the statistics, where there are any, and `Sample.of` then combines them. A weighting of the videos is all that a
jackknife, a bootstrap, a slice or a stratum needs, so everything behind that interface works unchanged.

The decision a reader would question: a video that one model has no statistics of stops the analysis. Nothing can be
filled in (there is no worst statistic), and models on different videos cannot be compared; `missing="drop-case"`
takes the videos that all have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.metrics.metric import RatioOfSums
from surgvalid.metrics.packing import reopened
from surgvalid.schema.metric_facts import PackableMetric
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.missing import missing_rules
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix, ScoreTable
from surgvalid.schema.tables.statistics_table import STATISTICS_FILE, StatisticsTable

POOLED = "pooled"
"""What outputs call the statistic."""
_MOST_NAMED = 5


@dataclass(frozen=True)
class PooledStatistic:
    """The value of a pooled metric for every model; the rows it is given are numbers of videos."""

    metric: PackableMetric
    prepared: tuple[np.ndarray, ...]
    """For each model the statistics of the videos, in the order of the matrix."""
    cases: np.ndarray | None = None
    """How many cases each video has, where known."""

    @classmethod
    def of(cls, matrix: ScoreMatrix) -> PooledStatistic:
        """The statistic behind a matrix that carries statistics.

        Raises:
            TableInvalid: The statistics are not those of the metric, or the metric cannot be opened.
        """
        assert matrix.statistics is not None
        name = matrix.metric.name
        try:
            metric = reopened(matrix.statistics.recipe(name))
            videos = [matrix.video_names[code] for code in matrix.videos]
            prepared = [_prepared(matrix.statistics, metric, model, name, videos) for model in matrix.models]
        except Misuse as error:
            raise TableInvalid(f"{STATISTICS_FILE}, metric {name!r}", [str(error)]) from None
        return cls(metric, tuple(prepared), _cases(matrix.statistics, matrix.models, name, videos))

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.facts.name

    @property
    def is_mean(self) -> bool:
        """Never: that is why there are statistics."""
        return False

    def width(self, values: np.ndarray) -> int:  # noqa: ARG002
        """One value per model."""
        return len(self.prepared)

    def prepared_rows(self, values: np.ndarray) -> Sequence[np.ndarray]:
        """The statistics of these videos, for each model."""
        return [one[values] for one in self.prepared]

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The metric of every model under each weighting of the videos."""
        columns = [self.metric.combine(one, counts) for one in self.prepared_rows(values)]
        return np.stack(columns, axis=1) if columns else np.empty((len(counts), 0))


def verb_matrix(
    scores: ScoreTable,
    metric: str | None,
    *,
    missing: Missing,
    statistic: str = "mean",
    estimand: str = "rows",
    models: Sequence[str] = (),
) -> ScoreMatrix:
    """The scores of one metric; with statistics where it is pooled, they are at hand and the mean over rows is asked.

    Args:
        scores: The table.
        metric: As for `ScoreTable.matrix`.
        missing: As for `ScoreTable.matrix`; of videos without statistics, only `drop-case` can be done.
        statistic: What is asked for; another one than the mean is one of the videos' own values.
        estimand: `videos` asks for the mean of the videos' own values.
        models: Those that are looked at; all if left out.

    Raises:
        TableInvalid: Models have statistics of different videos, and nobody said to leave those out.
    """
    name = scores.chosen_metric(metric)
    wanted = [model for model in models or scores.models if model in scores.models]
    known = () if scores.statistics is None else scores.statistics.models(name)
    asked = scores.facts_of(name).pooled and (statistic, estimand) == ("mean", "rows") and "task" not in scores.frame
    if not asked or scores.statistics is None or not set(wanted) <= set(known):
        return scores.matrix(metric, missing=missing)
    return _pooled_matrix(scores, scores.statistics, name, wanted, missing)


def pooled_head(matrix: ScoreMatrix, what: str) -> str:
    """The first sentence on values that come from statistics; empty where they do not."""
    if matrix.statistics is None:
        return ""
    return (
        f"{what.capitalize()} are {matrix.metric.name!r} of all {len(matrix.video_names):,} videos together, combined "
        f"from the statistics of each video ({matrix.metric.estimand})."
    )


def scored_units(matrix: ScoreMatrix) -> str:
    """How many rows of which units the values rest on; a row of a metric of whole videos is a video.

    Where cases are what is independent, what lies within them is called rows.
    """
    is_finer = len(matrix.values) > len(matrix.video_names)
    within = "rows" if is_finer and matrix.unit.is_known and matrix.unit.word == "case" else "cases"
    units, cases = f"{len(matrix.video_names):,} {matrix.unit.word}s", f"{len(matrix.values):,} {within}"
    if scores_videos(matrix) or (not is_finer and matrix.unit.word == "case" and matrix.unit.is_known):
        return units
    return f"{cases} from {units}" if matrix.unit.is_known else cases


def scores_videos(matrix: ScoreMatrix) -> bool:
    """Whether what is scored is a whole video, not a case in one."""
    return matrix.statistics is not None or matrix.metric.row == "video"


def _pooled_matrix(
    scores: ScoreTable, statistics: StatisticsTable, name: str, models: list[str], missing: Missing
) -> ScoreMatrix:
    videos = _common_videos(statistics, name, models, missing)
    rows = scores.frame.filter((pl.col("metric") == name) & pl.col("model").is_in(models))
    if strange := sorted(set(rows["video"]) - {one for model in models for one in statistics.of_model(model, name)[0]}):
        raise TableInvalid(
            STATISTICS_FILE,
            [f"video {video!r} has scores under {name!r} but no statistics" for video in strange[:_MOST_NAMED]],
        )
    order = pl.DataFrame({"video": sorted(videos)}, schema={"video": pl.String})
    strata = [column for column in scores.strata if _of_videos(rows, column)]
    described = rows.select("video", *strata).unique("video", keep="first", maintain_order=True)
    cases = order.join(described, on="video", how="left", maintain_order="left").with_columns(case=pl.col("video"))
    values = np.full((order.height, len(models)), np.nan)
    place = {video: row for row, video in enumerate(order["video"])}
    for model, video, value in rows.select("model", "video", "value").iter_rows():
        if video in place and value is not None:
            values[place[video], models.index(model)] = value
    facts, names = scores.facts_of(name), order["video"].to_list()
    return by_case(ScoreMatrix(values, models, np.arange(len(names)), names, cases, facts, statistics=statistics))


def by_case(matrix: ScoreMatrix) -> ScoreMatrix:
    """A pooled metric that is a mean over the same cases for all models, every case with the mean of its video.

    Tests of means then apply to it, which rest on the sum and the number of scores of each video alone. Any other
    metric is left as it is.
    """
    pooled = PooledStatistic.of(matrix) if matrix.statistics is not None else None
    if pooled is None or pooled.cases is None or not isinstance(pooled.metric, RatioOfSums):
        return matrix
    sums = np.stack(pooled.prepared, axis=1).astype(np.float64)
    if (sums[:, :, 1] != pooled.cases[:, None]).any():
        return matrix
    rows = np.repeat(np.arange(len(sums)), pooled.cases.astype(np.int64))
    held = replace(matrix, values=sums[:, :, 0] / np.maximum(sums[:, :, 1], 1.0), statistics=None).where(rows)
    numbered = pl.col("video") + "/" + pl.int_range(pl.len()).cast(pl.String)
    return replace(
        held, cases=held.cases.with_columns(case=numbered), metric=replace(matrix.metric, pooled=False, row="case")
    )


def _common_videos(statistics: StatisticsTable, name: str, models: list[str], missing: Missing) -> set[str]:
    by_model = {model: set(statistics.of_model(model, name).videos) for model in models}
    every, common = set.union(*by_model.values()), set.intersection(*by_model.values())
    if every == common or missing_rules(missing)[Status.MISSING] == "drop-case":
        return common
    problems = [
        f"model {model!r} has no statistics of {len(every - videos)} videos that others have "
        f"({', '.join(sorted(every - videos)[:_MOST_NAMED])})"
        for model, videos in by_model.items()
        if every - videos
    ]
    hint = "missing='drop-case' takes the videos that all of them have; nothing can be filled in for a pooled metric"
    raise TableInvalid(f"{STATISTICS_FILE}, metric {name!r}", [*problems, hint])


def _of_videos(rows: pl.DataFrame, column: str) -> bool:
    """Whether a column says the same in all rows of each video."""
    return bool((rows.group_by("video").agg(pl.col(column).n_unique())[column] <= 1).all())


def _prepared(
    statistics: StatisticsTable, metric: PackableMetric, model: str, name: str, videos: Sequence[str]
) -> np.ndarray:
    stored = statistics.of_model(model, name)
    place = {video: row for row, video in enumerate(stored.videos)}
    return metric.unpack(stored.packed)[[place[video] for video in videos]]


def _cases(statistics: StatisticsTable, models: Sequence[str], name: str, videos: Sequence[str]) -> np.ndarray | None:
    """The cases of each video, as the first model has them; models share their references."""
    stored = statistics.of_model(models[0], name) if models else None
    if stored is None or not stored.cases:
        return None
    number = dict(zip(stored.videos, stored.cases, strict=True))
    return np.array([number[video] for video in videos], dtype=np.float64)
