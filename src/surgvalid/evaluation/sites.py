"""One evaluation from what several sites shared: pooled values, intervals and comparisons, without a single case.

Statistics of videos add up wherever they were prepared, so values, intervals over videos and differences of two models
are those that the raw data of all sites would give. The pooled sums are a score table, too, in which every case has the
mean of its video: `rank` and `compare` need no more of a mean. Counts of right and wrong by property are what
`failures` takes. What needs more is not there: values of single cases, trivial predictors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.measure import MeasureSettings, record_columns, uncertain
from surgvalid.evaluation.sharing import SharedFile, agreed_sites, read_shared
from surgvalid.evaluation.small_counts import joined, of_groups, summed
from surgvalid.metrics.metric import CaseMean
from surgvalid.metrics.packing import reopened
from surgvalid.results.request import VerbRequest
from surgvalid.results.result import Result
from surgvalid.results.tables import evaluation as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import PackableMetric
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.schema.tables.statistics_table import StatisticsTable, VideoStatistics
from surgvalid.stats.comparing.comparison import pair_row
from surgvalid.stats.intervals.few_videos import few_videos, gathered
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.pooled import by_case
from surgvalid.stats.intervals.slices import Slice
from surgvalid.stats.intervals.statistic import MetricStatistic

_OF_A_SITE = ("site", "model", "videos", "groups", "left_out", "minimum_cases")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SitesResult(Result):
    """Tables `pooled` (a model and a metric), `comparisons` (two models), `sites`, and `counts` by property."""

    scores: ScoreTable
    """What `rank` and `compare` take: every case with the mean of its video, and the statistics of pooled metrics."""

    @property
    def shown(self) -> pl.DataFrame:
        """The pooled values without the long columns."""
        return self.table.select("model", "metric", "value", "low", "high", "videos", "sites", "note")

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The pooled values, the comparisons and the sites."""
        columns = ("model_a", "model_b", "metric", "difference", "low", "high", "p_value", "favours", "videos")
        compared = {"comparisons": self.tables["comparisons"].select(columns)} if "comparisons" in self.tables else {}
        return {"": self.shown, **compared, "sites": self.tables["sites"]}

    def write(self, folder: Path) -> None:
        """Write the tables and the scores."""
        super().write(folder)
        self.scores.to_dir(folder)


@dataclass(frozen=True)
class _Pool:
    """The statistics of one metric of all models."""

    name: str
    metric: PackableMetric
    table: StatisticsTable
    sites: Mapping[str, set[str]]
    """Of each model, the sites that have it."""
    cases: Mapping[tuple[str, str], str]
    """Of each model and video, a keyed hash of the names of its cases, where they have names."""

    def of(self, model: str) -> tuple[np.ndarray, VideoStatistics]:
        """The statistics of a model, and the names and cases of its videos."""
        stored = self.table.of_model(model, self.name)
        return np.asarray(self.metric.unpack(stored.packed)), stored


def combined_sites(paths: Sequence[str | Path]) -> SitesResult:
    """The pooled evaluation of what sites shared.

    Raises:
        FileUnreadable: A file holds no shared statistics.
        InputInvalid: Files that do not belong together; everything is named.
    """
    files = [read_shared(path) for path in paths]
    agreed_sites(files)
    files = _alike(files)
    level = float(files[0].head["level"])
    pools, findings = _pools(files)
    rows = [row for pool in pools for row in _value_rows(pool, level)]
    compared, spoken = _comparisons(pools, level)
    findings += [*_about_sites(files), *_few(pools), *gathered(spoken)]
    counts = [{"model": one.model, "site": one.site, **row} for one in files for row in one.head.get("counts", ())]
    frames = {
        "pooled": tables.POOLED_SITES.frame(rows),
        "comparisons": tables.SITE_COMPARISONS.frame(compared),
        "sites": tables.SITES.frame([{name: one.head.get(name) for name in _OF_A_SITE} for one in files]),
        "counts": tables.SITE_COUNTS.frame(counts),
    }
    return SitesResult(
        tables={name: frame for name, frame in frames.items() if not frame.is_empty()},
        main="pooled",
        prose=_prose(files, level),
        findings=tuple(findings),
        scores=_scores(pools),
        request=VerbRequest(inputs={"folders": [Path(path) for path in paths]}),
    )


def _alike(files: Sequence[SharedFile]) -> list[SharedFile]:
    """The files with the same groups of videos for all models of a site: the finest that all of them have."""
    made = []
    for one in files:
        beside = [other for other in files if other.site == one.site]
        held = joined([set(members) for other in beside for members in other.head.get("members", {}).values()])
        within = {video: group for group in held for video in group}
        members_of = {name: set(members) for name, members in one.head.get("members", {}).items()}
        groups: dict[str, list[str]] = {}
        for name in one.statistics.frame["video"].unique(maintain_order=True).to_list():
            videos = members_of.get(name, {name})
            group = within.get(min(videos), frozenset(videos))
            groups.setdefault(f"{min(group)}+{len(group) - 1}" if len(group) > 1 else name, []).append(name)
        made.append(_regrouped(one, groups, members_of))
    return made


def _regrouped(
    one: SharedFile,
    groups: Mapping[str, Sequence[str]],
    members_of: Mapping[str, set[str]],
) -> SharedFile:
    """A file with its units in groups, and the names of the cases of each group as one text."""
    if all([name] == members for name, members in groups.items()) and not members_of:
        return one
    table = one.statistics
    metrics = table.frame["metric"].unique(maintain_order=True).to_list()
    sums = {name: (table.recipe(name), summed(table.of_model(one.model, name), groups)) for name in metrics}
    if counts := one.head.get("counts") or []:
        counts = of_groups(pl.DataFrame(counts, infer_schema_length=None), groups).to_dicts()
    texts, cases = one.head.get("cases", {}), {}
    for name, members in groups.items():
        videos = sorted(video for member in members for video in members_of.get(member, {member}))
        if text := " ".join(texts.get(video, "") for video in videos).strip():
            cases[name] = text
    head = {**one.head, "counts": counts, "cases": cases}
    return replace(one, head=head, statistics=StatisticsTable.of(one.model, sums))


def _pools(files: Sequence[SharedFile]) -> tuple[list[_Pool], list[Finding]]:
    rows = pl.concat([one.statistics.frame for one in files])
    pools, problems = [], []
    cases = {(one.model, video): text for one in files for video, text in one.head.get("cases", {}).items()}
    for name in rows["metric"].unique(maintain_order=True).to_list():
        table = StatisticsTable(rows.filter(pl.col("metric") == name))
        sites: dict[str, set[str]] = {}
        for one in files:
            if name in set(one.statistics.frame["metric"]):
                sites.setdefault(one.model, set()).add(one.site)
        pool = _Pool(name, reopened(table.recipe(name)), table, sites, cases)
        try:
            for model in pool.sites:
                pool.of(model)
        except Misuse as error:
            problems.append(f"{name!r}: {error}; state the same classes and options at every site")
        pools.append(pool)
    if problems:
        raise InputInvalid("shared statistics", problems)
    lacking = {name: why for one in files for name, why in one.head.get("unshared", {}).items()}
    return pools, [remark("metric-not-shared", f"{name!r} is not here: {why}.") for name, why in lacking.items()]


def _value_rows(pool: _Pool, level: float) -> list[dict[str, Any]]:
    facts, rows = pool.metric.facts, []
    for model, sites in pool.sites.items():
        statistics, stored = pool.of(model)
        cases = np.array(stored.cases) if stored.cases and (facts.pooled or facts.row == "case") else None
        made = MetricStatistic(pool.metric), statistics, stored.videos, MeasureSettings(level), facts, cases
        row = uncertain(*made)[0]
        rows.append({"model": model, "metric": pool.name, **row, "sites": len(sites), **record_columns(facts)})
    return rows


def _comparisons(pools: Sequence[_Pool], level: float) -> tuple[list[dict[str, Any]], list[Finding]]:
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for pool in pools:
        for first, second in combinations(pool.sites, 2):
            subject = f"{pool.name}: {first} and {second}"
            common, unlike = _common_videos(pool, first, second)
            matrix = _matrix(pool, [first, second], common) if common else None
            if matrix is None:
                text = "the two models share no video with the same scored cases, so they are not compared"
                spoken.append(remark("sites-not-compared", text, subject=subject))
                continue
            unlike += sorted({*pool.of(first)[1].videos} ^ {*pool.of(second)[1].videos})
            if unlike:
                text = (
                    f"{len(unlike)} of {len(common) + len(unlike)} videos are left out of the comparison: the models "
                    f"were not scored on the same cases there, or one has nothing there ({', '.join(unlike[:3])})"
                )
                spoken.append(remark("sites-not-compared", text, subject=subject))
            row, findings = pair_row(Slice({}, by_case(matrix)), IntervalSettings(level=level))
            rows.append({**row, "metric": pool.name})
            spoken += [one for one in findings if one.code != "few-videos"]
    return rows, spoken


def _common_videos(pool: _Pool, first: str, second: str) -> tuple[list[str], list[str]]:
    """The videos of both models: those with the same scored cases of each, and the others.

    Where cases have names, the keyed hashes of these must be equal; else equal numbers are all that can be asked for.
    """
    counts = []
    for statistics, stored in (pool.of(first), pool.of(second)):
        by_case = pool.metric.facts.row == "case" and isinstance(pool.metric, CaseMean)
        numbers = statistics[:, 1].astype(int).tolist() if by_case else stored.cases
        counts.append(dict(zip(stored.videos, numbers or [0] * len(stored.videos), strict=True)))
    common = sorted(counts[0].keys() & counts[1].keys())
    cases = pool.cases
    alike = [
        video
        for video in common
        if counts[0][video] == counts[1][video] and cases.get((first, video)) == cases.get((second, video))
    ]
    return alike, sorted({*common} - {*alike})


def _matrix(pool: _Pool, models: Sequence[str], videos: Sequence[str]) -> ScoreMatrix | None:
    """Models on videos that all have; a row per video, or per case where the value is a mean over cases.

    Tests and intervals of means rest on the sum and the number of scores of each video alone, so every case may stand
    there with the mean of its video.
    """
    chosen = []
    for statistics, stored in map(pool.of, models):
        place = {video: at for at, video in enumerate(stored.videos)}
        chosen.append(statistics[[place[video] for video in videos]])
    alone = np.stack([np.asarray(pool.metric.combine(one, np.eye(len(videos)))) for one in chosen], axis=1)
    facts = replace(pool.metric.facts, name=pool.name)
    by_case = not facts.pooled and facts.row == "case" and isinstance(pool.metric, CaseMean)
    numbers = chosen[0][:, 1].astype(np.int64) if by_case else np.ones(len(videos), dtype=np.int64)
    held = np.flatnonzero((numbers > 0) & (facts.pooled | np.isfinite(alone).all(axis=1))).tolist()
    owners = np.repeat(np.arange(len(held)), numbers[held])
    names = [videos[place] for place in held]
    named = [f"{names[owner]}/{at}" for owner, count in enumerate(numbers[held]) for at in range(count)]
    cases = pl.DataFrame({"case": named, "video": [names[owner] for owner in owners]})
    table = StatisticsTable(pool.table.frame.filter(pl.col("video").is_in(videos))) if facts.pooled else None
    matrix = ScoreMatrix(alone[held][owners], list(models), owners, names, cases, facts, statistics=table)
    return matrix if len(held) else None


def _scores(pools: Sequence[_Pool]) -> ScoreTable:
    """The pooled sums as a score table; videos on which two models were scored on other cases are left out."""
    rows, statistics, facts = [], [], {}
    for pool in pools:
        unlike = {video for pair in combinations(pool.sites, 2) for video in _common_videos(pool, *pair)[1]}
        for model in pool.sites:
            videos = [video for video in pool.of(model)[1].videos if video not in unlike]
            matrix = _matrix(pool, [model], videos) if videos else None
            if matrix is None:
                continue
            listed = matrix.cases.with_columns(
                model=pl.lit(model), metric=pl.lit(pool.name), value=pl.Series(matrix.values[:, 0])
            )
            rows.append(listed.filter(pl.col("value").is_not_nan()))
            facts[pool.name] = matrix.metric
        if pool.metric.facts.pooled:
            statistics.append(pool.table.frame.filter(~pl.col("video").is_in(list(unlike))))
    held = StatisticsTable(pl.concat(statistics)) if statistics else None
    return ScoreTable.of(pl.concat(rows), facts=facts, statistics=held)


def _about_sites(files: Sequence[SharedFile]) -> list[Finding]:
    """Which videos and metrics stayed at their sites, and which videos were put together."""
    few = [f"{one.model} in {one.site}: {one.head['left_out']}" for one in files if one.head.get("left_out")]
    stayed = [
        f"{metric} of {one.model} in {one.site} ({why})"
        for one in files
        for metric, why in one.head.get("withheld", {}).items()
    ]
    together = [
        f"{one.model} in {one.site}: {one.head['videos']} videos as {one.head['groups']}"
        for one in files
        if one.head.get("members")
    ]
    findings = []
    if few:
        text = f"Videos stayed at their sites for too few cases ({_shortened(few)}), so values are not of all videos."
        findings.append(remark("videos-not-shared", text))
    if stayed:
        findings.append(remark("metric-not-shared", f"Stayed at their sites: {_shortened(stayed)}."))
    if together:
        text = (
            "Videos whose counts were small left as sums of several, which are one unit here "
            f"({_shortened(together)}): values are those of all videos, intervals rest on fewer units."
        )
        findings.append(remark("videos-together", text))
    return findings


def _shortened(texts: Sequence[str]) -> str:
    return "; ".join(texts[:5]) + " ..." * (len(texts) > 5)


def _few(pools: Sequence[_Pool]) -> list[Finding]:
    least = min(len(pool.of(model)[1].videos) for pool in pools for model in pool.sites)
    few = few_videos(least, least - 1.0)
    return [few] if few else []


def _prose(files: Sequence[SharedFile], level: float) -> str:
    sites, models = ({getattr(one, name) for one in files} for name in ("site", "model"))
    return (
        f"{len(models)} models were evaluated for {files[0].head['kind']} on the videos of {len(sites)} sites, from "
        f"statistics per video that the sites shared; no case left a site. {level:.0%} intervals come from leaving out "
        "one video at a time (jackknife), differences from the exact sign-flip test over videos where the metric is a "
        "mean, and from the jackknife where it is not."
    )
