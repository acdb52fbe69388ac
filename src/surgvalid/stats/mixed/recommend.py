"""What to work on next: properties ranked by the share of failures that goes with them, each held to its evidence.

Every recommendation is one row of `effects.csv`: its coefficient says what harms, its test whether that is established.
The share (effect times frequency) is that of `attributable`. Nothing is recommended that the data do not carry: a
property without a test is refused, one that rests on few videos or is not established is listed below the others and
says so.

How many videos would show an improvement is planned with the models at hand. The new algorithm does not exist yet, so
how its scores will differ from the old one's is not known: two models on the same cases stand in for them, the pair
whose differences vary as those of the middle pair do. With one model only, old and new are treated as independent,
which needs more videos than any pair that fails on the same cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, SurgvalidError, UnknownName
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.shown_tables import p_phrase
from surgvalid.stats.mixed.attributable import Share, Subgroup, attributable, observed_loss, subgroups
from surgvalid.stats.mixed.hidden_harm import hidden_harms
from surgvalid.stats.mixed.inference.over_models import UNEQUALLY
from surgvalid.stats.mixed.inference.term_tests import ALPHA, FEW_VIDEOS
from surgvalid.stats.mixed.property_curves import property_curves
from surgvalid.stats.mixed.report import Addition, FailuresResult
from surgvalid.stats.planning.settings import PlanSettings
from surgvalid.stats.planning.sizes import closed_answer
from surgvalid.stats.planning.sources import of_pilot

MOST_MODELS = 12
"""Beyond, pairs of the first models stand for all."""


class Needed(NamedTuple):
    """Videos that show an improvement."""

    held: int | None
    """Videos with the property."""
    videos: int | None
    """Videos to be collected so that enough of them have it."""
    low: int | None
    high: int | None
    independent: bool
    """Whether there was one model only."""


def needed_videos(scores: pl.DataFrame, improvement: float, *, level: float = 0.95) -> Needed | None:
    """How many videos find an improvement on the cases of a subgroup four times in five; None where nobody knows.

    Args:
        scores: Columns `model`, `case`, `video`, `value` and `subgroup` (whether the case belongs to it).
        improvement: In the unit of `value`.
        level: One minus that of the test.
    """
    means = scores.group_by("model", "case", "video", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("subgroup").first().cast(pl.Int8).cast(pl.String)
    )
    pair = _middle_pair(means.filter(pl.col("subgroup") == "1"))
    table = ScoreTable.of(means.with_columns(metric=pl.lit("loss")), better="smaller")
    wanted = PlanSettings(difference=improvement, models=pair or (), subgroup="subgroup=1", level=level)
    asked = wanted if pair else replace(wanted, difference=None, width=1.0, models=(str(means["model"][0]),))
    try:
        source = of_pilot(table, asked, metric="loss", missing="drop-case", estimand="rows")
    except SurgvalidError:
        return None
    if pair is None:
        doubled = replace(source.spread, between=2 * source.spread.between, within=2 * source.spread.within)
        source = replace(source, spread=doubled, value=improvement)
    return Needed(*closed_answer(source, wanted), independent=pair is None)


def _middle_pair(means: pl.DataFrame) -> tuple[str, str] | None:
    """The two models whose differences vary as the middle ones of all pairs do, on the cases that both have."""
    wide = means.pivot("model", index=["video", "case"], values="value", maintain_order=True)
    models = [name for name in wide.columns if name not in ("video", "case")][:MOST_MODELS]
    spreads: list[tuple[float, tuple[str, str]]] = []
    for a, b in combinations(models, 2):
        by_video = wide.drop_nulls([a, b]).group_by("video").agg((pl.col(a) - pl.col(b)).mean().alias("difference"))
        if by_video.height > 1:
            spreads.append((float(np.var(by_video["difference"].to_numpy(), ddof=1)), (a, b)))
    spreads.sort()
    return spreads[len(spreads) // 2][1] if spreads else None


VERDICTS = ("established", "depends on the model", "few videos", "not established", "refused")
"""From what may be acted upon to what must not."""
FEWEST_VIDEOS = 6
"""Videos that must have the property, and lack it: with fewer no later comparison could show an improvement."""
MOST_CASES = 12
MOST_PER_VIDEO = 3
PICTURES = "picture path image_path file image frame_path".split()
"""Columns that may say where the image of a case is."""


class _Judged(NamedTuple):
    """A subgroup with its row of effects, its share and what it is worth."""

    group: Subgroup
    effect: Mapping[str, Any]
    share: Share | None
    verdict: str
    cases: int
    videos: int
    room: float
    """Mean loss of its rows: no improvement can be larger."""
    needed: Needed | None
    by_model: str = ""
    """How its effect differs between models, where it does."""


def recommended(
    result: FailuresResult, rows: pl.DataFrame, *, improvement: float = 0.1, picture: str | None = None
) -> Addition:
    """The tables `recommendations` and `recommended_cases`, with what to know about them.

    Args:
        result: A failure analysis.
        rows: The rows that it was fitted to, with all columns of the table.
        improvement: By how much the mean outcome of the cases with a property is to get better, in its own unit.
        picture: The column that says where the image of a case is; by default one of `PICTURES`.

    Raises:
        Misuse: No property, an outcome of which no share can be attributed, or tests that take rows of one video as
            independent.
    """
    if not result.fit.design.model.fixed:
        raise Misuse("recommendations are of properties; name their columns (fixed, --fixed)")
    case, video = case_of(result, rows), _video_of(result, rows)
    effects = {row["term"]: row for row in result.table.iter_rows(named=True)}
    judged = [
        _judged(result, group, effects[group.term], case, video, improvement)
        for group in subgroups(result)
        if group.rows.any()
    ]
    judged.sort(key=lambda one: (VERDICTS.index(one.verdict), -(one.share.value if one.share else 0.0), one.group.term))
    listed = [_row(place, one, improvement, result) for place, one in enumerate(judged, start=1)]
    looked_at = [
        row
        for place, one in enumerate(judged, start=1)
        if one.verdict != "refused"
        for row in _cases(place, one, result, rows, case, video, picture)
    ]
    hidden = hidden_harms(result)
    beyond = {"Harm beyond single properties:": "hidden_harms"} if hidden else {}
    return Addition(
        tables={
            "recommendations": tables.RECOMMENDATIONS.frame(listed),
            "recommended_cases": tables.RECOMMENDED_CASES.frame(looked_at),
            "hidden_harms": tables.HIDDEN_HARMS.frame([one._asdict() for one in hidden or ()]),
            "property_curves": tables.PROPERTY_CURVES.frame(list(property_curves(result, models_of(result)))),
        },
        findings=tuple(
            _findings(judged, [*_pairs(result), *(one.sentence for one in hidden or ())], screened=hidden is not None)
        ),
        prose=_prose(improvement),
        screen={"What to work on:": "recommendations", **beyond},
    )


def check_recommendation(improvement: float, picture: str | None, columns: Sequence[str]) -> None:
    """Refuse what cannot be recommended with, before anything is fitted.

    Raises:
        Misuse: An improvement that is none.
        UnknownName: The table has no such column.
    """
    if not improvement > 0 or not math.isfinite(improvement):
        raise Misuse(f"improvement must be a number above 0, in the unit of the outcome, got {improvement!r}")
    if picture is not None and picture not in columns:
        raise UnknownName("column of images", picture, columns)


def case_key(result: FailuresResult, rows: pl.DataFrame) -> str:
    """What tells the cases of a video apart: the column `case`, else the finest unit; empty where it is the row."""
    video = result.tests.video.split(":") if result.tests.video else []
    unit = result.unit.split(":") if all(name in rows.columns for name in result.unit.split(":")) else []
    if "case" not in rows.columns or not unit:
        return "case" if "case" in rows.columns else ":".join(unit)
    by_case, by_unit = (rows.select(list(dict.fromkeys([*names, *video]))).n_unique() for names in (["case"], unit))
    return "case" if by_case >= by_unit else ":".join(unit)


def case_of(result: FailuresResult, rows: pl.DataFrame) -> pl.Series:
    """The name of every row's case."""
    if not (key := case_key(result, rows)):
        return pl.Series("case", np.arange(rows.height).astype(str))
    return rows.select(pl.concat_str(pl.col(key.split(":")).cast(pl.String), separator=":")).to_series().alias("case")


def models_of(result: FailuresResult) -> pl.Series:
    """The model of every row of the fit; one and the same where models are no part of it."""
    frame = result.fit.design.frame
    if result.model_column in frame.columns:
        return frame[result.model_column].cast(pl.String)
    return pl.Series(["model"] * frame.height)


def check_videos(result: FailuresResult, what: str) -> str:
    """The grouping that stands for videos, where rows of one video do not count as independent.

    Raises:
        Misuse: No random effect is a grouping of rows, or the table has videos that are none.
    """
    video = result.tests.video
    if not video or any(one.code == "video-not-modelled" for one in result.more_findings):
        raise Misuse(
            f"{what} over videos, and here rows of one video count as independent; name the videos among the random "
            "effects (random, --random model,video)"
        )
    return video


def _video_of(result: FailuresResult, rows: pl.DataFrame) -> pl.Series:
    names = check_videos(result, "recommendations rest on tests").split(":")
    return rows.select(pl.concat_str(pl.col(names).cast(pl.String), separator=":")).to_series().alias("video")


def _judged(
    result: FailuresResult,
    group: Subgroup,
    effect: Mapping[str, Any],
    case: pl.Series,
    video: pl.Series,
    improvement: float,
) -> _Judged:
    kept = pl.Series(group.rows)
    cases = pl.DataFrame([case, video]).filter(kept).n_unique()
    having, lacking = video.filter(kept).n_unique(), video.filter(~kept).n_unique()
    share = attributable(result, group)
    depends = (one for one in result.tests.findings if (one.code, one.case) == ("depends-on-model", group.column))
    by_model = next((one.message for one in depends), "")
    verdict = _verdict(effect, share, min(having, lacking), depends=bool(by_model) and UNEQUALLY not in by_model)
    room, needed = float(observed_loss(result)[group.rows].mean()), None
    if verdict != "refused" and improvement <= room:
        scores = pl.DataFrame(
            {
                "model": models_of(result),
                "case": video + "\0" + case,
                "video": video,
                "value": observed_loss(result),
                "subgroup": kept,
            }
        )
        needed = needed_videos(scores, improvement, level=result.level)
    return _Judged(group, effect, share, verdict, cases, having, room, needed, by_model)


def _verdict(effect: Mapping[str, Any], share: Share | None, videos: int, *, depends: bool) -> str:
    if share is None:
        return "refused"
    if depends and videos >= max(FEWEST_VIDEOS, FEW_VIDEOS):
        return "depends on the model"
    if effect["p_holm"] is None or effect["p_holm"] > ALPHA or share.low <= 0:
        return "not established"
    return "few videos" if videos < max(FEWEST_VIDEOS, FEW_VIDEOS) else "established"


def _row(place: int, one: _Judged, improvement: float, result: FailuresResult) -> dict[str, Any]:
    share, needed = one.share, one.needed
    return {
        "place": place,
        "term": one.group.term,
        "subgroup": one.group.words,
        "verdict": one.verdict,
        "share": share and share.value,
        "low": share and share.low,
        "high": share and share.high,
        "points": share and share.points,
        "frequency": float(one.group.rows.mean()),
        **{name: one.effect[name] for name in ("estimate", "odds_ratio", "p_holm", "df")},
        "cases": one.cases,
        "videos": one.videos,
        "videos_needed": needed and needed.held,
        "videos_total": needed and needed.videos,
        "total_low": needed and needed.low,
        "total_high": needed and needed.high,
        "advice": " ".join(_sentences(one, improvement, result.level)),
    }


def _sentences(one: _Judged, improvement: float, level: float) -> Iterator[str]:
    """The recommendation in words."""
    size = _size(one)
    if one.share is None:
        yield (
            f"{one.group.words}: refused. Its effect cannot be told from that of the few videos which carry it; "
            f"{one.cases:,} cases in {one.videos:,} videos have it."
        )
        return
    p_holm = "no p value" if one.effect["p_holm"] is None else f"{p_phrase(one.effect['p_holm'])} after Holm"
    yield (
        f"{one.group.words}: {one.share.value:.0%} of all that is lost goes with it ({level:.0%} interval "
        f"{one.share.low:.0%} to {one.share.high:.0%}; {one.group.rows.mean():.0%} of rows{size}, "
        f"{p_holm})."
    )
    if one.by_model:
        name_one = "" if UNEQUALLY in one.by_model else ": name the one that you build on (--models)"
        yield f"{one.by_model[0].upper()}{one.by_model[1:]}{name_one}."
    if one.verdict == "not established":
        yield "Not established: no reason yet to build anything against it."
    if one.verdict == "few videos":
        yield "Established on few videos only: look at the cases before anything is built on it."
    yield f"Annotated: {one.cases:,} cases in {one.videos:,} videos."
    if improvement > one.room:
        yield (
            f"Its cases lose {one.room:.2g} on average, so an improvement of {improvement:g} there is out of reach; "
            "plan with a smaller one (--recommend)."
        )
        return
    if one.needed is None or one.needed.held is None:
        yield f"How many videos would show an improvement of {improvement:g} there cannot be said from these data."
        return
    ends = ""
    if one.needed.low is not None:
        up_to = f"{one.needed.low:,} to {one.needed.high:,}" if one.needed.high is not None else "no upper limit known"
        ends = f" ({up_to})"
    yield (
        f"An improvement of {improvement:g} there would be found four times in five with {one.needed.held:,} videos "
        f"that have it, {one.needed.videos:,} collected in all{ends}."
    )


def _size(one: _Judged) -> str:
    """The odds ratio of the cases that suffer; that of effects.csv may be of the others."""
    if one.effect["odds_ratio"] is None:
        return ""
    suffering = 1 / one.effect["odds_ratio"] if one.group.turned else one.effect["odds_ratio"]
    return f", odds ratio {suffering:.2f}"


def _cases(
    place: int,
    one: _Judged,
    result: FailuresResult,
    rows: pl.DataFrame,
    case: pl.Series,
    video: pl.Series,
    picture: str | None,
) -> list[dict[str, Any]]:
    """The cases of a subgroup that lost most, over all models, few of each video."""
    column = picture or next((name for name in PICTURES if name in rows.columns and rows.schema[name] == pl.String), "")
    empty = pl.Series([None] * len(case), dtype=pl.String)
    frame = pl.DataFrame(
        {
            "case": case,
            "video": video,
            "loss": observed_loss(result),
            "picture": rows[column].cast(pl.String) if column else empty,
        }
    ).filter(pl.Series(one.group.rows))
    worst = (
        frame.group_by("video", "case", maintain_order=True)
        .agg(pl.col("loss").mean(), pl.len().alias("rows"), pl.col("picture").first())
        .sort("loss", "video", "case", descending=[True, False, False])
    )
    spread = worst.filter((pl.int_range(pl.len()).over("video") < MOST_PER_VIDEO) & (pl.col("loss") > 0))
    return [{"place": place, "term": one.group.term, **row} for row in spread.head(MOST_CASES).iter_rows(named=True)]


def _pairs(result: FailuresResult) -> list[str]:
    """Named interactions of properties that are established and harm, in words; no share shows them."""
    sign = 1.0 if result.better == "larger" else -1.0
    tested = result.table.filter(pl.col("term").str.contains(":", literal=True) & (pl.col("p_holm") <= ALPHA))
    return [
        f"{row['term']}: harm beyond what each property by itself says ({p_phrase(row['p_holm'])} after Holm); look at "
        "the cases that have both"
        for row in tested.iter_rows(named=True)
        if sign * row["estimate"] < 0
        and result.model_column not in [name.partition("[")[0] for name in row["term"].split(":")]
    ]


def _findings(judged: list[_Judged], together: list[str], *, screened: bool) -> Iterator[Finding]:
    def named(verdict: str) -> str:
        return ", ".join(one.group.words for one in judged if one.verdict == verdict)

    for harm in together:
        yield remark("harm-together", harm)
    if not together and not any(one.verdict in ("established", "depends on the model") for one in judged):
        yield remark(
            "nothing-to-recommend",
            "no property is established as a weakness on enough videos, "
            + ("nor any two together or a number at its ends, " if screened else "")
            + "so nothing is recommended to be built against; the list says what looks worst"
            + ("" if screened else "; two properties together, and numbers at their ends, could not be tested here"),
        )
    if few := named("few videos"):
        yield remark("recommended-on-few-videos", f"{few}: established, but on few videos; the effect may be theirs")
    if refused := named("refused"):
        yield remark(
            "recommendation-refused",
            f"{refused}: nothing is recommended, because the effect could not be tested on these videos",
        )
    alone = [one.group.words for one in judged if one.needed is not None and one.needed.independent]
    if alone:
        yield remark(
            "planned-for-independent-models",
            "there is one model only, so the videos needed to see an "
            "improvement are counted as if the old and the new one failed independently: an upper limit",
        )


def _prose(improvement: float) -> str:
    return (
        "Recommendations: the share of what is lost that goes with a property (effect times frequency) compares the "
        "expected loss of the rows as they are with that after the property is taken away (g-computation over random "
        "effects); intervals add the uncertainty of the coefficients, in the fit in which they may differ between "
        "videos, to that of leaving out one video at a time. Shares are associations and overlap, so they do not add "
        f"up. Videos needed: to find an improvement of {improvement:g} in the mean outcome of the cases with the "
        "property by the exact sign-flip test, paired, with 80 % power, if old and new algorithm differ as two of the "
        "models here do. Two properties together, and numbers that harm at both ends or in their middle, are tested by "
        "one score per video beyond the properties themselves, all of them jointly (sign flips, min-p)."
    )
